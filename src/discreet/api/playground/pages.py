"""The page of the playground, and what is posted from it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Final

from fastapi import Response
from fastapi.responses import StreamingResponse

from discreet.access.loopback import made_here
from discreet.api.pages import Site, Visit
from discreet.api.pages.errors import PageError
from discreet.api.pages.rendering import SECURITY_HEADERS
from discreet.api.playground.playing import Playground
from discreet.api.playground.shown import Shown
from discreet.api.playground.stored import OPENED, TITLES, StoredTable
from discreet.api.playground.turn import Turn
from discreet.api.playground.visitors import Visitor, Visitors
from discreet.api.playground.words import LANGUAGES, people, translate
from discreet.api.services import Services
from discreet.errors import DiscreetError
from discreet.redaction.configured import default_redactor

POLICY: Final = SECURITY_HEADERS["Content-Security-Policy"] + "; script-src 'self'; connect-src 'self'"
"""Of the page: its own script runs, and asks this server alone."""

LOOK_SECONDS: Final = 0.05
"""Between two looks at a running turn: a browser is told 20 times a second, however fast a model is."""

IDENTITY: Final = "playground"
"""Who all visitors are to the audit trail."""

Page = Callable[[Any, Visit], Awaitable[Response]]


def only_here(page: Page) -> Page:
    """Answer `page` to browsers on this machine alone, that came to it by a name of this machine's."""

    @wraps(page)
    async def checked(pages: Any, visit: Visit) -> Response:
        client = visit.request.client
        if not made_here(visit.request.headers, None if client is None else client.host):
            text = "The playground answers browsers on the machine that it runs on, at an address such as 127.0.0.1."
            raise PageError(403, "Only from this machine", text)
        return await page(pages, visit)

    return checked


class PlaygroundPages:
    """Shows the conversation of a visitor, and takes what they say."""

    def __init__(self, site: Site, playground: Playground, services: Services) -> None:
        self._site = site
        self._playground = playground
        self._redactor = default_redactor()
        self._memories = services.memories
        self._identity = services.authenticator.identity(IDENTITY)
        self._visitors = Visitors()

    @only_here
    async def show(self, visit: Visit) -> Response:
        """Show the page. Who comes for the first time gets a session."""
        if visit.session.identity is not None:
            return await self._page(visit)
        session = self._site.sessions.begin(self._identity)
        visit = replace(visit, session=session)
        response = await self._page(visit)
        self._site.set_cookie(visit, response, session)
        return response

    @only_here
    async def say(self, visit: Visit) -> Response:
        """Begin a turn, in a new conversation if that is asked for."""
        visitor = self._visitor(visit)
        text = visit.form.get("text", "").strip()
        if not text:
            return await self._page(visit, status=422, notice="Write something first.")
        if visit.form.get("fresh"):
            visitor.begin_anew()
        if not self._playground.say(visitor, text):
            return await self._page(visit, status=409, notice="Wait for the answer, or begin a new conversation.")
        return self._site.redirect(visit, "")

    @only_here
    async def follow(self, visit: Visit) -> Response:
        """Tell how the turn goes on that runs, as server-sent events, until it is over."""
        turn = None if visit.session.identity is None else self._visitor(visit).conversation.last
        headers = {**SECURITY_HEADERS, "X-Accel-Buffering": "no"}
        return StreamingResponse(_events(turn), headers=headers, media_type="text/event-stream")

    @only_here
    async def be(self, visit: Visit) -> Response:
        """Be somebody else."""
        chosen = [person for person in people() if person.key == visit.form.get("person")]
        if chosen:
            self._visitor(visit).person = chosen[0]
        return self._site.redirect(visit, "")

    @only_here
    async def speak(self, visit: Visit) -> Response:
        """Read the page in another language."""
        if (language := visit.form.get("language")) in LANGUAGES:
            self._visitor(visit).language = language
        return self._site.redirect(visit, "")

    @only_here
    async def begin(self, visit: Visit) -> Response:
        """Begin a new conversation. A turn that runs ends."""
        self._visitor(visit).begin_anew()
        return self._site.redirect(visit, "")

    def _visitor(self, visit: Visit) -> Visitor:
        return self._visitors.of(visit.session.id)

    async def _page(self, visit: Visit, *, status: int = 200, notice: str = "") -> Response:
        visitor = self._visitor(visit)
        tables, unreadable = await self._stored(visitor)
        shown = await asyncio.to_thread(
            Shown.of, visitor.conversation.turns, tables, redactor=self._redactor, semantic=self._memories.semantic
        )
        language = visitor.language or visit.language
        response = self._site.render(
            visit,
            "playground.html",
            status=status,
            lang=language,
            _=lambda text: translate(text, language),
            languages=LANGUAGES,
            people=people(),
            titles=TITLES,
            opened=OPENED,
            visitor=visitor,
            shown=shown,
            unreadable=unreadable,
            notice=notice,
            model=self._playground.model,
        )
        response.headers["Content-Security-Policy"] = POLICY
        return response

    async def _stored(self, visitor: Visitor) -> tuple[list[StoredTable], str]:
        """Return the rows of who speaks, or why they can't be read."""
        try:
            return await self._playground.stored(visitor), ""
        except DiscreetError as error:
            return [], str(error)


async def _events(turn: Turn | None) -> AsyncIterator[str]:
    """Yield `answer` with what is answered so far, `step` after each step, and `over`."""
    told: tuple[str, int] = ("", -1)
    while turn is not None:
        now, is_running = (turn.answer, turn.steps), turn.is_running
        if now[0] != told[0]:
            yield _event("answer", now[0])
        if now[1] != told[1]:
            yield _event("step", now[1])
        told = now
        if not is_running:
            break
        await asyncio.sleep(LOOK_SECONDS)
    yield _event("over", None)


def _event(kind: str, data: object) -> str:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"
