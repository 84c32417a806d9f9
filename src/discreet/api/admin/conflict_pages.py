"""Memories that may not both hold: look at the two, and keep one or both."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, cast, get_args
from uuid import UUID

from fastapi import Response

from discreet.api.admin.browsing import Browser
from discreet.api.pages import Site, Visit
from discreet.api.pages.errors import PageError, no_such_page
from discreet.api.pages.ids import id_in
from discreet.api.services import Services
from discreet.errors import StorageUnavailableError
from discreet.storage.people import People
from discreet.storage.people.conflicts import ConflictMark, Keep

CONFLICTS_A_PAGE = 15

DONE: Final = {
    "older": "The older memory stays. The newer one has ended: it is found only by what held until today.",
    "newer": "The newer memory stays. The older one has ended: it is found only by what held until the newer one was said.",
    "both": "Both stay, and nothing marks them as a contradiction any more.",
    "gone": "Nothing was changed: somebody has decided on these meanwhile, or one of them is gone.",
}
"""What the page says of what was pressed; the address has the key."""


class ConflictPages:
    """The pages about pairs, of all users or of one."""

    def __init__(self, site: Site, services: Services) -> None:
        self._site = site
        self._services = services

    async def show(self, visit: Visit) -> Response:
        """Show the pairs of all users."""
        values = await self._values(visit, None, lambda user_key, rest: f"/people/{user_key}{rest}")
        return self._site.render(
            visit, "conflicts.html", now=datetime.now(UTC), path=f"{visit.base}/conflicts", **values
        )

    async def show_of_one(self, visit: Visit) -> Response:
        """Show the pairs of one user."""
        browser = Browser(self._site, self._services, visit)
        values = await self._values(visit, browser.user_key, lambda _, rest: browser.address(rest))
        path = visit.base + browser.address("/conflicts")
        return self._site.render(visit, "person_conflicts.html", **browser.values(path=path, **values))

    async def settle(self, visit: Visit) -> Response:
        """Keep what was chosen of a pair of anybody, and go back to the list."""
        user_key = id_in(visit.request.path_params["user"])
        return self._site.redirect(visit, f"/conflicts?done={await self._settled(visit, user_key)}")

    async def settle_of_one(self, visit: Visit) -> Response:
        """Do the same, and go back to the list of the user."""
        browser = Browser(self._site, self._services, visit)
        if browser.user_key is None:
            raise no_such_page()
        done = await self._settled(visit, browser.user_key)
        return self._site.redirect(visit, browser.address("/conflicts", done=done))

    async def _settled(self, visit: Visit, user_key: UUID) -> str:
        """Return what was done."""
        keep = visit.form.get("keep", "")
        if keep not in get_args(Keep):
            raise PageError(422, "Nothing was chosen", "Go back, and keep the older one, the newer one or both.")
        older, newer = (id_in(visit.request.path_params[name]) for name in ("older", "newer"))
        is_settled = await self._people.settle(user_key, older, newer, cast("Keep", keep))
        return keep if is_settled else "gone"

    async def _values(self, visit: Visit, user_key: UUID | None, address: Callable[[UUID, str], str]) -> dict[str, Any]:
        """Return what the list needs; `address` leads to a page of the user of a pair."""
        asked = visit.request.query_params
        after = _mark_in(asked.get("after", ""))
        found = await self._people.conflicts(user_key=user_key, limit=CONFLICTS_A_PAGE + 1, after=after)
        shown = found[:CONFLICTS_A_PAGE]

        return {
            "conflicts": shown,
            "address_of": lambda each, rest: visit.base + address(each.user_key, rest),
            "of_all": user_key is None,
            "first": after is None,
            "later": ".".join(map(str, shown[-1].mark)) if len(found) > len(shown) else None,
            "done": DONE.get(asked.get("done", "")),
        }

    @property
    def _people(self) -> People:
        if self._services.storage is None:
            raise StorageUnavailableError
        return self._services.storage().people


def _mark_in(text: str) -> ConflictMark | None:
    try:
        user_key, older, newer = map(UUID, text.split("."))
    except ValueError:
        return None
    return user_key, older, newer
