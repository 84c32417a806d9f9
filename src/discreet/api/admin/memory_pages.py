"""One user's memories: find, look at, edit and delete them."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Response

from discreet.api.admin.browsing import MAX_QUERY_CHARS, Browser, filters_of, read_filters
from discreet.api.admin.memory_form import MemoryForm, form_of, posted_form
from discreet.api.admin.views import View
from discreet.api.exporting import export_answer
from discreet.api.pages import Site, Visit
from discreet.api.pages.errors import no_such_page
from discreet.api.pages.ids import id_in
from discreet.api.pages.rendering import SECURITY_HEADERS
from discreet.api.services import Services
from discreet.errors import MemoryRefusedError
from discreet.state.records import MemoryRecord
from discreet.storage.people.people import Chain

MEMORIES_A_PAGE = 20

NO_CHAIN = Chain(former=(), later=())
"""Of memories that are in no database."""

DONE = {
    "saved": "The memory is saved.",
    "redacted": "The memory is saved. Something in it looked sensitive and was replaced by a placeholder.",
    "deleted": "The memory is deleted.",
}
"""What a page says of the one before; the address has the key."""


class MemoryPages:
    """The pages about one user's memories."""

    def __init__(self, site: Site, services: Services) -> None:
        self._site = site
        self._services = services

    async def show(self, visit: Visit) -> Response:
        """Show the newest memories, or the best for what is searched for."""
        browser = Browser(self._site, self._services, visit)
        if browser.view.query:
            return self._list(visit, browser, await self._search(browser))
        older_than = visit.request.query_params.get("older_than")
        records = await browser.memories.latest(
            browser.user,
            limit=MEMORIES_A_PAGE + 1,
            filters=filters_of(browser.view),
            older_than=id_in(older_than) if older_than else None,
        )
        return self._list(visit, browser, records[:MEMORIES_A_PAGE], more=len(records) > MEMORIES_A_PAGE)

    async def find(self, visit: Visit) -> Response:
        """Search or filter; the address that shows the result holds what was typed sealed."""
        browser = Browser(self._site, self._services, visit)
        typed, errors = read_filters(visit.form)
        if errors:
            return self._list(visit, browser, [], typed=visit.form, errors=errors)
        typed["query"] = await browser.redacted(typed["query"])
        view = View(subject=browser.view.subject, **typed)
        return self._site.redirect(visit, browser.address("/memories", view))

    async def _search(self, browser: Browser) -> list[MemoryRecord]:
        found = await browser.memories.search(
            browser.user,
            browser.view.query,
            limit=MEMORIES_A_PAGE,
            threshold=self._services.memory_settings.live.memory_retrieve_threshold,
            filters=filters_of(browser.view),
        )
        return [hit.record for hit in found]

    def _list(
        self,
        visit: Visit,
        browser: Browser,
        records: list[MemoryRecord],
        *,
        more: bool = False,
        typed: Mapping[str, str] | None = None,
        errors: Mapping[str, str] | None = None,
    ) -> Response:
        view, asked = browser.view, visit.request.query_params
        shown = {"query": view.query, "type": view.type, "tag": view.tag, "on": view.on.isoformat() if view.on else ""}
        values = browser.values(
            typed=shown | dict(typed or {}),
            errors=errors or {},
            records=records,
            more=more,
            first="older_than" not in asked,
            done=DONE.get(asked.get("done", "")),
            threshold=self._services.memory_settings.live.memory_retrieve_threshold,
            max_query=MAX_QUERY_CHARS,
        )
        return self._site.render(visit, "memories.html", status=422 if errors else 200, **values)

    async def export(self, visit: Visit) -> Response:
        """Hand out everything that is kept of the user."""
        browser = Browser(self._site, self._services, visit)
        return await export_answer(self._services, browser.named(), headers=SECURITY_HEADERS)

    async def show_one(self, visit: Visit) -> Response:
        """Show all that is known of one memory."""
        browser, record = await self._one(visit)
        done = DONE.get(visit.request.query_params.get("done", ""))
        chain = NO_CHAIN
        if browser.people is not None and browser.user_key is not None:
            chain = await browser.people.chain(browser.user_key, record)
        return self._site.render(visit, "memory.html", **browser.values(record=record, done=done, chain=chain))

    async def edit(self, visit: Visit) -> Response:
        """Show the form of one memory."""
        browser, record = await self._one(visit)
        return self._edit(visit, browser, record, form_of(record))

    async def save(self, visit: Visit) -> Response:
        """Replace the memory by what was typed; when it was said stays."""
        browser, record = await self._one(visit)
        form = posted_form(visit.form)
        edited = form.record(record)
        if edited is None:
            return self._edit(visit, browser, record, form, status=422)
        try:
            (saved,) = await browser.memories.save(browser.user, [edited])
        except MemoryRefusedError as error:
            form.errors["text"] = str(error)
            return self._edit(visit, browser, record, form, status=422)
        done = "saved" if (saved.text, saved.tags) == (edited.text, edited.tags) else "redacted"
        return self._site.redirect(visit, browser.address(f"/memories/{record.entry_id}", done=done))

    def _edit(
        self, visit: Visit, browser: Browser, record: MemoryRecord, form: MemoryForm, *, status: int = 200
    ) -> Response:
        return self._site.render(visit, "memory_edit.html", status=status, **browser.values(record=record, form=form))

    async def ask_delete(self, visit: Visit) -> Response:
        """Ask whether the memory is to go."""
        browser, record = await self._one(visit)
        return self._site.render(visit, "memory_delete.html", **browser.values(record=record))

    async def delete(self, visit: Visit) -> Response:
        """Delete the memory."""
        browser = Browser(self._site, self._services, visit)
        if not await browser.memories.delete(browser.user, browser.entry_id()):
            raise no_such_page()
        return self._site.redirect(visit, browser.address("/memories", done="deleted"))

    async def _one(self, visit: Visit) -> tuple[Browser, MemoryRecord]:
        browser = Browser(self._site, self._services, visit)
        record = await browser.memories.get(browser.user, browser.entry_id())
        if record is None:
            raise no_such_page()
        return browser, record
