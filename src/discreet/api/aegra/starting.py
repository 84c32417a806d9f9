"""Let a server that can't start say why in one sentence; it would be the last line of some hundred of a traceback."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import DiscreetError

FAILED = "lifespan.startup.failed"


def sentence(error: DiscreetError) -> str:
    """Return what to tell whoever starts the server."""
    return f"Discreet can't start: {error}"


class PlainStart:
    """Middleware that puts an error of ours in the place of its traceback. Any other error is told as it is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or hold the server open until it ends."""
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        failed: list[Message] = []

        async def held(message: Message) -> None:
            if message["type"] == FAILED:
                failed.append(message)
            else:
                await send(message)

        try:
            await self._app(scope, receive, held)
        except DiscreetError as error:
            if not failed:
                raise
            failed = [{"type": FAILED, "message": sentence(error)}]
        finally:
            for message in failed:
                await send(message)
