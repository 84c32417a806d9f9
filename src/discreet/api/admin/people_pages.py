"""Who there is: found by what their token names them, or listed by their keys in the database."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from fastapi import Response

from discreet.api.admin.browsing import Browser, user_path
from discreet.api.admin.job_pages import mark_in
from discreet.api.admin.views import View
from discreet.api.cursors import cursor_of
from discreet.api.pages import Site, Visit
from discreet.api.pages.ids import id_or_none
from discreet.api.services import Services
from discreet.api.users import identity_of
from discreet.errors import InvalidUserError
from discreet.state.ids import check_user_id
from discreet.storage.people import People
from discreet.storage.people.listing import Person

PEOPLE_A_PAGE = 25

NOBODY_CALLED_SO = "A subject has 1 to 200 printable characters."
SOMEBODY_ELSE = "That is somebody else: their key in the database is another one."


@dataclass(frozen=True, kw_only=True)
class _Page:
    """A page of the list."""

    people: list[Person]
    next: str | None
    """The query of the page after it."""
    first: bool
    quiet: bool
    """Whether it lists who has memories and no turns."""


class PeoplePages:
    """The pages that lead to one user."""

    def __init__(self, site: Site, services: Services) -> None:
        self._site = site
        self._services = services

    async def show(self, visit: Visit) -> Response:
        """List people, those who talked last first, and ask whose pages are meant."""
        return await self._page(visit)

    async def open(self, visit: Visit) -> Response:
        """Go to the pages of a subject. Addresses name what the database knows them by, never the subject."""
        subject = visit.form.get("subject", "").strip()
        try:
            user = identity_of(self._services, subject)
        except InvalidUserError:
            return await self._page(visit, status=422, subject=subject, error=NOBODY_CALLED_SO)
        return self._redirect(visit, user, subject)

    async def ask_name(self, visit: Visit) -> Response:
        """Ask what the token of somebody names them who was found by their key."""
        return self._ask_name(visit, Browser(self._site, self._services, visit))

    async def name(self, visit: Visit) -> Response:
        """Go on with the pages of who was named, if that is who was found."""
        browser = Browser(self._site, self._services, visit)
        subject = visit.form.get("subject", "").strip()
        try:
            user = identity_of(self._services, subject)
        except InvalidUserError:
            return self._ask_name(visit, browser, subject=subject, error=NOBODY_CALLED_SO)
        if self._services.storage is None or self._services.storage().background.key_of(user) != browser.user_key:
            return self._ask_name(visit, browser, subject=subject, error=SOMEBODY_ELSE)
        return self._redirect(visit, user, subject)

    async def _page(self, visit: Visit, *, subject: str = "", error: str = "", status: int = 200) -> Response:
        page = None if self._services.storage is None else await _listed(self._services.storage().people, visit)
        return self._site.render(visit, "people.html", status=status, subject=subject, error=error, page=page)

    def _ask_name(self, visit: Visit, browser: Browser, *, subject: str = "", error: str = "") -> Response:
        values = browser.values(subject=subject, error=error)
        return self._site.render(visit, "name.html", status=422 if error else 200, **values)

    def _redirect(self, visit: Visit, user: str, subject: str) -> Response:
        view = self._site.views.seal(View(subject=subject), visit.session)
        rest = "" if self._services.storage is not None else "/memories"
        return self._site.redirect(visit, f"{user_path(check_user_id(user))}{rest}?view={view}")


async def _listed(people: People, visit: Visit) -> _Page:
    """Return the page of the list that the address asks for."""
    asked = visit.request.query_params
    limit = PEOPLE_A_PAGE + 1
    if asked.get("list") == "quiet":
        after = id_or_none(asked.get("after", ""))
        quiet = await people.quiet(limit=limit, after=after)
        more = f"?list=quiet&after={quiet[PEOPLE_A_PAGE - 1].user_key}" if len(quiet) == limit else None
        return _Page(people=quiet[:PEOPLE_A_PAGE], next=more, first=after is None, quiet=True)
    before = mark_in(asked.get("before", ""))
    active = await people.active(limit=limit, before=before)
    shown = active[:PEOPLE_A_PAGE]
    more = f"?before={quote(cursor_of(shown[-1][0]))}" if len(active) == limit else None
    return _Page(people=[person for _, person in shown], next=more, first=before is None, quiet=False)
