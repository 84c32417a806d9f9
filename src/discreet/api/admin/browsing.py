"""What the pages about one user's memories share: whose they are, and what is looked for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Any
from urllib.parse import quote
from uuid import UUID

from discreet.api.admin.figures import decimal
from discreet.api.admin.memory_form import MAX_TAG_CHARS
from discreet.api.admin.views import TYPES, View
from discreet.api.pages import Site, Visit
from discreet.api.pages.errors import PageError, no_such_page
from discreet.api.pages.ids import id_in, id_or_none
from discreet.api.services import Services
from discreet.api.users import identity_of
from discreet.errors import InvalidUserError
from discreet.state.ids import check_user_id
from discreet.state.records import MemoryFilters
from discreet.state.text import storable

MAX_QUERY_CHARS = 500
"""Sealed it is a part of an address, and proxies take some 8,000 characters of one."""

MEMORY_TABS = (("/memories", "Memories"), ("/recall", "Why is something recalled?"))
PERSON_TABS = (
    ("", "Timeline"),
    *MEMORY_TABS,
    ("/conflicts", "Conflicts"),
    ("/export", "Export everything"),
    ("/erase", "Erase"),
)
"""Pages about one user: where, and in which words. The second where there is a database."""

NAMED_TABS = frozenset({"/export", "/erase"})
"""That a key does not suffice for: threads of the server and namespaces of the store are found by the identity."""


class Browser:
    """One user's place among the pages.

    An address names a user by their identity, which follows from the subject that an administrator types; or by their key in the
    database, which is all that a list of them knows.
    """

    def __init__(self, site: Site, services: Services, visit: Visit) -> None:
        """Read from the address of `visit` who is meant, and the view.

        Raises:
            PageError: No user can be called so.
        """
        self._site = site
        self._services = services
        self._visit = visit
        self.view = site.views.open(View, visit.request.query_params.get("view", ""), visit.session)
        named = visit.request.path_params["user"]
        self.people = None if services.storage is None else services.storage().people
        self.user_key = id_or_none(named) if self.people else None
        self.identity: str | None = None
        """What tokens are turned into; None: the key alone is known."""
        if self.people is not None and self.user_key is not None:
            self.user, self.memories = str(self.user_key), self.people.memories
        else:
            try:
                self.user = self.identity = check_user_id(named)
            except InvalidUserError:
                raise no_such_page() from None
            self.memories = services.memories
            if services.storage is not None:
                self.user_key = services.storage().background.key_of(self.user)
        if not self._is_named_by_view():
            self.view = View()  # of an address of somebody else: their name must not stand above these pages

    def _is_named_by_view(self) -> bool:
        if not self.view.subject:
            return True
        identity = identity_of(self._services, self.view.subject)
        if self.identity is not None or self._services.storage is None:
            return identity == self.identity
        return self._services.storage().background.key_of(identity) == self.user_key

    @property
    def path(self) -> str:
        """Where this user's pages are, below the base."""
        return user_path(self.user)

    def address(self, rest: str, view: View | None = None, **more: str) -> str:
        """Return the path of one of this user's pages, with the view that goes along."""
        view = self.view if view is None else view
        sealed = "" if view == View() else self._site.views.seal(view, self._visit.session)
        parameters = {"view": sealed, **more}
        return f"{self.path}{rest}?" + "&".join(f"{name}={quote(value)}" for name, value in parameters.items() if value)

    def values(self, **more: Any) -> dict[str, Any]:
        """Return what the templates of these pages need."""
        tabs = PERSON_TABS if self.people else MEMORY_TABS
        return {
            "user": str(self.user_key or self.user),
            "view": self.view,
            "tabs": [(rest, self._visit.base + self._tab(rest), words) for rest, words in tabs],
            "tab": self._visit.request.url.path.removeprefix(self._visit.base + self.path),
            "address": lambda rest, **kwargs: self._visit.base + self.address(rest, **kwargs),
            "now": datetime.now(UTC),
            "types": TYPES,
            "decimal": decimal,
            **more,
        }

    def _tab(self, rest: str) -> str:
        """Return where a page about this user is; of what only their identity leads to, where one says who it is."""
        return self.address("/name" if self.identity is None and rest in NAMED_TABS else rest)

    def named(self) -> str:
        """Return the user's identity.

        Raises:
            PageError: The key alone is known.
        """
        if self.identity is None:
            text = "Say on the page before what their token names them: some of theirs is found by that alone."
            raise PageError(409, "Who is it?", text)
        return self.identity

    def entry_id(self) -> UUID:
        """Return which memory the address names.

        Raises:
            PageError: None.
        """
        return id_in(self._visit.request.path_params["entry_id"])

    async def redacted(self, text: str) -> str:
        """Return `text` as it may be searched for: what would be taken out of a memory is taken out here too."""
        return await asyncio.to_thread(self._services.redactor.redact, storable(text).strip())


def user_path(user: str) -> str:
    """Return where a user's pages are, below the base."""
    return f"/people/{quote(user, safe='')}"


def filters_of(view: View) -> MemoryFilters:
    """Return the filters of `view`. A day is meant until its end."""
    return MemoryFilters(
        types=[view.type] if view.type else None,
        tags=[view.tag] if view.tag else None,
        as_of=datetime.combine(view.on, time.max, UTC) if view.on else None,
    )


def read_filters(posted: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the fields of a view that were posted, and what is wrong with them, by field."""
    errors: dict[str, str] = {}
    query, tag, kind = (storable(posted.get(name, "")).strip() for name in ("query", "tag", "type"))
    if len(query) > MAX_QUERY_CHARS:
        errors["query"] = f"At most {MAX_QUERY_CHARS} characters."
    if len(tag) > MAX_TAG_CHARS:
        errors["tag"] = f"A tag has at most {MAX_TAG_CHARS} characters."
    if kind not in ("", *TYPES):
        errors["type"] = "There is no such type."
    on: date | None = None
    try:
        on = date.fromisoformat(posted["on"]) if posted.get("on") else None
    except ValueError:
        errors["on"] = "A day as 2026-03-31."
    return {"query": query, "tag": tag, "type": kind, "on": on}, errors
