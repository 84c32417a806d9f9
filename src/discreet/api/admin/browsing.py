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
from discreet.api.pages.errors import no_such_page
from discreet.api.services import Services
from discreet.errors import InvalidUserError
from discreet.state.context import check_user_id
from discreet.state.records import MemoryFilters
from discreet.state.text import storable

MAX_QUERY_CHARS = 500
"""Sealed it is a part of an address, and proxies take some 8,000 characters of one."""


class Browser:
    """One user's place among the pages."""

    def __init__(self, site: Site, services: Services, visit: Visit) -> None:
        """Read from the address of `visit` who is meant, and the view.

        Raises:
            PageError: No user can be called so.
        """
        self._site = site
        self._services = services
        self._visit = visit
        try:
            self.user = check_user_id(visit.request.path_params["user"])
        except InvalidUserError:
            raise no_such_page() from None
        self.view = site.views.open(View, visit.request.query_params.get("view", ""), visit.session)

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
        return {
            "user": self.user,
            "view": self.view,
            "address": lambda rest, **kwargs: self._visit.base + self.address(rest, **kwargs),
            "now": datetime.now(UTC),
            "types": TYPES,
            "decimal": decimal,
            **more,
        }

    def entry_id(self) -> UUID:
        """Return which memory the address names.

        Raises:
            PageError: None.
        """
        return entry_id_of(self._visit.request.path_params["entry_id"])

    async def redacted(self, text: str) -> str:
        """Return `text` as it may be searched for: what would be taken out of a memory is taken out here too."""
        return await asyncio.to_thread(self._services.redactor.redact, storable(text).strip())


def entry_id_of(text: str) -> UUID:
    """Return the id that a part of an address is.

    Raises:
        PageError: It is none.
    """
    try:
        return UUID(text)
    except ValueError:
        raise no_such_page() from None


def user_path(user: str) -> str:
    """Return where a user's pages are, below the base."""
    return f"/users/{quote(user, safe='')}"


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
