"""Erase what is kept of a user, after a look at how much that is; and what stays of those who were erased."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Response
from pydantic import ValidationError

from discreet.api.admin.browsing import Browser
from discreet.api.erasing import erasures_of
from discreet.api.pages import Site, Visit
from discreet.api.pages.errors import no_such_page
from discreet.api.pages.ids import id_in
from discreet.api.services import Services
from discreet.rights.erasure import RECENT_DAYS, Scope
from discreet.state.text import storable

MOMENTS_A_PAGE = 100

SCOPES = {
    "all": "all that is kept of them",
    "recent": "what is of the last days",
    "thread": "one conversation and what came of it",
    "said": "what tells something, with the turns that it was said in",
}
"""What the form offers; a single memory has pages of its own."""

FIELDS = ("scope", "days", "thread", "text")


class ErasurePages:
    """The pages about erasing."""

    def __init__(self, site: Site, services: Services) -> None:
        self._site = site
        self._services = services

    async def ask(self, visit: Visit) -> Response:
        """Ask what is to go."""
        self._browser(visit).named()
        return self._show(visit, {**dict.fromkeys(FIELDS, ""), "scope": "all"})

    async def erase(self, visit: Visit) -> Response:
        """Show how much would go, or erase it if that was seen, and show the receipt."""
        typed = {name: storable(visit.form.get(name, "")).strip() for name in FIELDS}
        try:
            scope = _scope_of(typed)
        except ValueError:
            return self._show(
                visit, typed, status=422, error="Say what is meant: the days, the conversation, or the words."
            )
        user, erasures = self._browser(visit).named(), erasures_of(self._services)
        if visit.form.get("seen") != "yes":
            return self._show(visit, typed, counts=await erasures.preview(user, scope))
        receipt = await erasures.erase(user, scope)
        shown = receipt.model_dump_json(indent=2)
        return self._show(visit, typed, receipt=shown, counts=receipt.counts)

    async def moments(self, visit: Visit) -> Response:
        """Show what stays of people who were erased."""
        found = await erasures_of(self._services).moments.list(limit=MOMENTS_A_PAGE)
        return self._site.render(visit, "moments.html", records=found, most=MOMENTS_A_PAGE)

    async def delete_moment(self, visit: Visit) -> Response:
        """Delete one of these."""
        if not await erasures_of(self._services).moments.delete(id_in(visit.request.path_params["entry_id"])):
            raise no_such_page()
        return self._site.redirect(visit, "/moments")

    def _browser(self, visit: Visit) -> Browser:
        return Browser(self._site, self._services, visit)

    def _show(self, visit: Visit, typed: Mapping[str, str], *, status: int = 200, **more: Any) -> Response:
        values = {"counts": None, "receipt": None, "error": "", **more}
        shown = self._browser(visit).values(typed=typed, scopes=SCOPES, days=RECENT_DAYS, **values)
        return self._site.render(visit, "erase.html", status=status, **shown)


def _scope_of(typed: Mapping[str, str]) -> Scope:
    """Return the scope that was typed.

    Raises:
        ValueError: It is none.
    """
    if typed["scope"] == "recent":
        return Scope.recent(float(typed["days"] or RECENT_DAYS))
    said = {"thread": {"thread_id": typed["thread"]}, "said": {"text": typed["text"]}}
    try:
        return Scope.model_validate({"name": typed["scope"], **said.get(typed["scope"], {})})
    except ValidationError:
        raise ValueError from None
