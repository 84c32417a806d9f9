"""Take out of requests what Aegra would believe of a client. It stands behind the ingress, whose bodies are redacted."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.api.aegra.auth import is_thread_id
from discreet.api.ingress.bodies import SERVER_KEYS
from discreet.api.ingress.routes import Kind, kind_of, path_of
from discreet.api.receiving import instead, loads, read_body, with_length
from discreet.errors import InvalidRequestError, NotFoundError, ThreadBusyError

IsBusy: TypeAlias = Callable[[str], Awaitable[bool]]
"""Whether a thread has a run that is not over."""

RUN_KINDS: Final = frozenset({Kind.RUN, Kind.COMMAND, Kind.CRON, Kind.CRON_CHANGE})

CONFIG: Final = frozenset({"configurable", "tags", "metadata", "recursion_limit", "max_concurrency"})
"""Of a run's config; Aegra would pass on all of it, callbacks and the id of the trace too."""

CHECKPOINT: Final = frozenset({"checkpoint_id", "checkpoint_ns", "checkpoint_map"})
"""Of a checkpoint. Aegra lays it over `configurable`: whoever named a user there would be that user."""

WITHHELD: Final = ("__", "langgraph_")
"""How keys of `configurable` begin that LangGraph, or a server of it, keeps for itself: permissions are among them."""

STRATEGY: Final = ("multitask_strategy", "multitaskStrategy")
STRATEGIES: Final = (None, "enqueue", "reject")

_THREAD: Final = re.compile(r"/threads/(?!search$|prune$)([^/]+)(?:/.*)?")
_STATE: Final = re.compile(r"/threads/([^/]+)/state")


class Narrowed:
    """Middleware that lets through what a client may decide."""

    def __init__(self, app: ASGIApp, *, is_busy: IsBusy) -> None:
        self._app = app
        self._is_busy = is_busy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request.

        Raises:
            NotFoundError: The path has a thread whose id is no UUID.
            InvalidRequestError: The body asks for what this server can't do.
            ThreadBusyError: The thread has a run, and the request was not to wait for it.
        """
        if scope["type"] == "http":
            receive, scope = await self._narrowed(scope, receive)
        await self._app(scope, receive, send)

    async def _narrowed(self, scope: Scope, receive: Receive) -> tuple[Receive, Scope]:
        path, method = path_of(scope), scope["method"]
        named = _THREAD.fullmatch(path)
        if named is not None and not is_thread_id(named[1]):
            raise NotFoundError
        kind = kind_of(method, path)
        state = _STATE.fullmatch(path) if method == "POST" else None
        if state is None and kind not in RUN_KINDS | {Kind.ASSISTANT}:
            return receive, scope
        body = loads(await read_body(receive, scope["headers"]) or b"null")
        if isinstance(body, dict):
            body = narrowed(body, kind)
            if (state is not None and body.get("values") is not None) or _refuses_to_wait(body, kind):
                await self._check_idle(named[1] if named else None)
        written = b"" if body is None else json.dumps(body).encode()
        return instead(written, receive), {**scope, "headers": with_length(scope["headers"], len(written))}

    async def _check_idle(self, thread_id: str | None) -> None:
        if thread_id is not None and await self._is_busy(thread_id):
            raise ThreadBusyError


def narrowed(body: dict[str, Any], kind: Kind) -> dict[str, Any]:
    """Return a body without what its client may not decide.

    Raises:
        InvalidRequestError: It gives both a context and `configurable`, or wants a strategy that Aegra has not.
    """
    if kind is Kind.COMMAND:
        params = body.get("params")
        return {**body, "params": narrowed(params, Kind.RUN)} if isinstance(params, dict) else body
    given = dict(body)
    config = given.get("config")
    if isinstance(config, dict):
        given["config"] = {name: _decidable(part) for name, part in config.items() if name in CONFIG}
    if isinstance(given.get("context"), dict):
        given["context"] = _decidable(given["context"])
    if isinstance(given.get("checkpoint"), dict):
        given["checkpoint"] = {name: part for name, part in given["checkpoint"].items() if name in CHECKPOINT}
    if kind in RUN_KINDS:
        given.pop("webhook", None)  # Aegra calls none, and fails to show a cron in whose host there is a placeholder
        _check_one_context(given)
        _check_strategy(given)
    return given


def _decidable(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    return {name: item for name, item in part.items() if name in SERVER_KEYS or not name.startswith(WITHHELD)}


def _check_one_context(run: Mapping[str, Any]) -> None:
    """Refuse a run with both: the ingress could not say under which of them its request is held."""
    config = run.get("config")
    configurable = config.get("configurable") if isinstance(config, dict) else None
    if run.get("context") and configurable:
        raise InvalidRequestError([("context", "can't be given together with config.configurable")])


def _check_strategy(run: Mapping[str, Any]) -> None:
    for name in STRATEGY:
        if run.get(name) not in STRATEGIES:  # a tuple: lists can be looked for in it
            raise InvalidRequestError([(name, "must be enqueue or reject")])


def _refuses_to_wait(body: Mapping[str, Any], kind: Kind) -> bool:
    run = body.get("params") if kind is Kind.COMMAND else body
    return isinstance(run, dict) and any(run.get(name) == "reject" for name in STRATEGY)
