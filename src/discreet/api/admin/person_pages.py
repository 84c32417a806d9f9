"""What was kept of one user in the order of time, and the receipts of what was erased."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from fastapi import Response

from discreet.api.admin.browsing import Browser
from discreet.api.erasing import erasures_of, receipt_file
from discreet.api.pages import Site, Visit
from discreet.api.pages.errors import no_such_page
from discreet.api.pages.ids import id_in
from discreet.api.pages.rendering import SECURITY_HEADERS
from discreet.api.services import Services
from discreet.storage.people import People
from discreet.storage.people.timeline import KINDS, Kind, TimelineEntry

ENTRIES_A_PAGE = 40

FILTERS: tuple[tuple[Kind | str, str], ...] = (
    ("", "All"),
    ("turn", "Conversations"),
    ("memory", "Memories"),
    ("session_summary", "Summaries of sessions"),
    ("rolling_summary", "Rolling summaries"),
    ("proposal", "Waiting for review"),
    ("job", "Background work"),
    ("erasure", "Erasures"),
)
"""What a timeline can be narrowed down to."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Entries that follow each other: turns of one conversation, or one entry of another kind."""

    kind: Kind
    thread_id: str | None
    entries: Sequence[TimelineEntry]


class PersonPages:
    """The pages about one user's life."""

    def __init__(self, site: Site, services: Services) -> None:
        self._site = site
        self._services = services

    async def show(self, visit: Visit) -> Response:
        """Show what was kept, the newest first, or what comes before an entry."""
        browser, people, user_key = self._found(visit)
        person = await people.get(user_key)
        if person is None and browser.identity is None:
            raise no_such_page()
        view = browser.view
        kinds = KINDS if view.kind == "" else (view.kind,)
        found = await people.timeline(user_key, limit=ENTRIES_A_PAGE + 1, kinds=kinds, before=view.before)
        shown = found[:ENTRIES_A_PAGE]
        older = view.model_copy(update={"before": shown[-1].mark}) if len(found) > len(shown) else None
        newest = view.model_copy(update={"before": None})
        filters = [(kind, words, newest.model_copy(update={"kind": kind})) for kind, words in FILTERS]
        values = browser.values(person=person, groups=grouped(shown), older=older, newest=newest, filters=filters)
        return self._site.render(visit, "person.html", **values)

    async def receipt(self, visit: Visit) -> Response:
        """Show the receipt of an erasure that is done, or hand it out as a file."""
        browser, _, user_key = self._found(visit)
        erasure_key = id_in(visit.request.path_params["erasure_key"])
        receipt = await erasures_of(self._services).jobs.receipt(user_key, erasure_key)
        if receipt is None:
            raise no_such_page()
        if visit.request.query_params.get("as") == "file":
            return receipt_file(receipt, headers=SECURITY_HEADERS)
        return self._site.render(visit, "receipt.html", **browser.values(receipt=receipt))

    def _found(self, visit: Visit) -> tuple[Browser, People, UUID]:
        browser = Browser(self._site, self._services, visit)
        if browser.people is None or browser.user_key is None:
            raise no_such_page()
        return browser, browser.people, browser.user_key


def grouped(entries: Sequence[TimelineEntry]) -> list[Group]:
    """Return the entries with turns of one conversation that follow each other together."""

    def place(entry: TimelineEntry) -> tuple[str, ...]:
        return ("turn", entry.thread_id or "") if entry.kind == "turn" else (entry.kind, entry.id)

    groups = [list(group) for _, group in groupby(entries, place)]
    return [Group(kind=group[0].kind, thread_id=group[0].thread_id, entries=group) for group in groups]
