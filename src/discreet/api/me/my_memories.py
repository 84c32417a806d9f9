"""See what is remembered of oneself, search it, and correct it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Final, get_args

from fastapi import Response
from pydantic import BaseModel, ConfigDict

from discreet.api.pages import Site, Visit
from discreet.api.pages.errors import PageError, no_such_page
from discreet.api.pages.ids import id_in
from discreet.api.services import Services
from discreet.errors import InvalidRecordError, MemoryRefusedError
from discreet.state.records import MAX_MEMORY_CHARS, MemoryFilters, MemoryRecord, MemoryType
from discreet.state.text import storable

MEMORIES_A_PAGE = 20
MAX_QUERY_CHARS = 500
"""Sealed it is a part of an address, and proxies take some 8,000 characters of one."""
SOURCE: Final = "user"
"""The door that a corrected memory came through."""

SHOWN: Final[list[MemoryType]] = [kind for kind in get_args(MemoryType) if kind not in ("turn", "reasoning")]
"""Types that are shown. The turns of conversations are in the export."""

DONE: Final = {"saved": "It is corrected.", "same": "Nothing was changed.", "forgotten": "It is forgotten."}
"""What a page says of the one before; the address has the key."""


class Search(BaseModel):
    """What is looked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: str = ""
    """Already redacted."""


class MyMemories:
    """The list, and the form that corrects one. Whose they are is said by the session alone."""

    def __init__(self, site: Site, services: Services) -> None:
        self._site = site
        self._services = services
        self._memories = services.memories

    async def show(self, visit: Visit) -> Response:
        """Show the newest memories, or the best for what is searched for."""
        asked = visit.request.query_params
        search = self._site.views.open(Search, asked.get("search", ""), visit.session)
        older_than = id_in(asked["older_than"]) if "older_than" in asked else None
        kinds = MemoryFilters(types=SHOWN)
        if search.query:
            threshold = self._services.memory_settings.live.memory_retrieve_threshold
            hits = await self._memories.search(
                visit.identity, search.query, limit=MEMORIES_A_PAGE, threshold=threshold, filters=kinds
            )
            records = [hit.record for hit in hits]
        else:
            records = await self._memories.latest(
                visit.identity, limit=MEMORIES_A_PAGE + 1, filters=kinds, older_than=older_than
            )
        return self._site.render(
            visit,
            "memories.html",
            records=records[:MEMORIES_A_PAGE],
            more=len(records) > MEMORIES_A_PAGE,
            first=older_than is None,
            query=search.query,
            max_query=MAX_QUERY_CHARS,
            done=DONE.get(asked.get("done", ""), ""),
        )

    async def find(self, visit: Visit) -> Response:
        """Search; the address that shows the result holds what was typed sealed."""
        typed = storable(visit.form.get("query", "")).strip()[:MAX_QUERY_CHARS]
        if not typed:
            return self._site.redirect(visit, "/memories")
        query = await asyncio.to_thread(self._services.redactor.redact, typed)
        sealed = self._site.views.seal(Search(query=query), visit.session)
        return self._site.redirect(visit, f"/memories?search={sealed}")

    async def edit(self, visit: Visit) -> Response:
        """Show the form that corrects one memory."""
        record = await self.one(visit)
        return self._form(visit, record, text=record.text)

    async def save(self, visit: Visit) -> Response:
        """Let a memory end now, and what was typed take its place."""
        record = await self.one(visit)
        text = visit.form.get("text", "").strip()
        if text == record.text:
            return self._site.redirect(visit, "/memories?done=same")
        if not text:
            return self._form(visit, record, text=text, error="Write what is right, or forget the memory.")
        if len(text) > MAX_MEMORY_CHARS:
            return self._form(visit, record, text=text, error="That is too long to be one memory.")
        try:
            await self._memories.save(visit.identity, corrected(record, text, datetime.now(UTC)))
        except (InvalidRecordError, MemoryRefusedError):
            return self._form(visit, record, text=text, error="This can't be kept: it is a secret, or says nothing.")
        return self._site.redirect(visit, "/memories?done=saved")

    async def one(self, visit: Visit) -> MemoryRecord:
        """Return the memory that the address names, if it is one's own and holds.

        Raises:
            PageError: It is not.
        """
        record = await self._memories.get(visit.identity, id_in(visit.request.path_params["entry_id"]))
        if record is None or record.type not in SHOWN:
            raise no_such_page()
        if record.valid_to is not None and record.valid_to <= datetime.now(UTC):
            raise PageError(409, "Something newer has taken its place", "Look at the list: it has what holds now.")
        return record

    def _form(self, visit: Visit, record: MemoryRecord, *, text: str, error: str = "") -> Response:
        values = {"record": record, "text": text, "error": error}
        return self._site.render(visit, "correct.html", status=422 if error else 200, **values)


def corrected(record: MemoryRecord, text: str, now: datetime) -> list[MemoryRecord]:
    """Return what is saved where `text` takes the place of `record`: the old one ended, and the new one.

    The old one is found by what held before, and goes with the new one if that is forgotten.
    """
    kept = {name: getattr(record, name) for name in ("type", "app_name", "agent_id", "thread_id", "importance", "tags")}
    provenance = record.provenance.model_copy(update={"source": SOURCE, "model": None, "model_version": None})
    new = MemoryRecord(text=text, created_at=now, valid_from=now, provenance=provenance, **kept)
    return [record.model_copy(update={"valid_to": now}), new]
