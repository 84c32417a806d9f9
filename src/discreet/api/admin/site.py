"""What all pages of the administrator share: who is signed in, what a form must prove, and how errors look."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from discreet.access.actor import Actor, acting
from discreet.api.actors import actor_by
from discreet.api.admin.ended import EndedSessions
from discreet.api.admin.errors import PageError, SignInError
from discreet.api.admin.forms import check_fetch, check_origin, read_form
from discreet.api.admin.rendering import MEDIA_TYPES, SECURITY_HEADERS, templates
from discreet.api.admin.sessions import AdminSession, Sessions
from discreet.api.admin.views import Views
from discreet.api.ingress.queries import as_sent
from discreet.errors import DiscreetError, EncryptionError, ProviderError, StorageError
from discreet.ports import TextRedactor

logger = logging.getLogger(__name__)

PREFIX = "/memory/admin"
COOKIE = "discreet_admin"
FORM_TOKEN = "form_token"  # noqa: S105 - the name of a field

PAGES = (("/settings", "Settings"), ("/history", "History"), ("/users", "Memories"))
BACKGROUND_PAGES = (("/jobs", "Jobs"), ("/review", "Review"))
"""What the header leads to: where, and in which words. The second where there is background memory."""


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One request to a page."""

    request: Request
    session: AdminSession
    form: Mapping[str, str] = field(default_factory=dict)
    """What was posted; empty for a GET."""

    @property
    def base(self) -> str:
        """Where the pages are, below what the server is mounted at."""
        return str(self.request.scope.get("root_path", "")) + PREFIX

    @property
    def identity(self) -> str:
        """What the database knows the administrator by.

        Raises:
            SignInError: Nobody is signed in.
        """
        if self.session.identity is None:
            raise SignInError
        return self.session.identity

    @property
    def secure(self) -> bool:
        """Whether the browser came by HTTPS, perhaps to a proxy."""
        forwarded = self.request.headers.get("x-forwarded-proto", "").partition(",")[0].strip()
        return "https" in (self.request.url.scheme, forwarded)


Page = Callable[[Visit], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


class Site:
    """Renders, and lets in."""

    def __init__(
        self,
        *,
        sessions: Sessions,
        ended: EndedSessions,
        views: Views,
        redactor: TextRedactor,
        background: bool = False,
    ) -> None:
        self.sessions = sessions
        self._ended = ended
        self._redactor = redactor
        self._pages = (*PAGES, *BACKGROUND_PAGES) if background else PAGES
        self.views = views

    def endpoint(self, page: Page, *, public: bool = False) -> Endpoint:
        """Return `page` behind what all have: a session (unless it is `public`), and for a POST proof of where it is from."""

        async def endpoint(request: Request) -> Response:
            request = as_sent(request)
            session = await self._session(request)
            visit = Visit(request=request, session=session or self.sessions.begin())
            try:
                check_fetch(request.headers)
                if not public and visit.session.identity is None:
                    raise SignInError  # noqa: TRY301 - caught below with those of the page
                if request.method == "POST":
                    visit = Visit(request=request, session=visit.session, form=await self._checked(visit))
                with acting(self.actor_of(visit)):
                    return await page(visit)
            except SignInError:
                return self._sign_in(visit)
            except PageError as error:
                return self.message(visit, error)
            except (StorageError, ProviderError, EncryptionError) as error:
                logger.warning("admin.failed cause=%s", type(error).__name__)
                return self.message(visit, _failure(error))

        return endpoint

    async def end(self, session: AdminSession) -> None:
        """Take the cookie of `session` no more, whichever process it comes to."""
        self.sessions.end(session)
        await self._ended.add(session)

    async def _session(self, request: Request) -> AdminSession | None:
        session = self.sessions.read(request.cookies.get(COOKIE))
        if session is None or session.identity is None:
            return session
        return None if await self._ended.has(session) else session

    def actor_of(self, visit: Visit) -> Actor:
        """Return who acts by a visit: the administrator who is signed in, else somebody who is unknown."""
        identity = visit.session.identity
        return actor_by(visit.request.scope, "user" if identity is None else "admin", identity, self._redactor)

    async def _checked(self, visit: Visit) -> dict[str, str]:
        check_origin(visit.request.headers)
        form = await read_form(visit.request)
        if not self.sessions.is_form_token(visit.session, form.pop(FORM_TOKEN, "")):
            raise PageError(
                403, "The form is too old", "Nothing was changed. Go back, load the page again and send it."
            )
        return form

    def _sign_in(self, visit: Visit) -> Response:
        if visit.request.method != "POST":
            return self.redirect(visit, "/login")
        text = "Nothing was changed. Sign in, then send the form again; your browser's Back button may still show it."
        return self.message(visit, PageError(401, "Your session is over", text))

    def render(self, visit: Visit, template: str, /, *, status: int = 200, **values: Any) -> Response:
        """Return the page of `template`."""
        common = {
            "base": visit.base,
            "signed_in": visit.session.identity is not None,
            "form_token": self.sessions.form_token(visit.session),
            "pages": self._pages,
            "here": visit.request.url.path.removeprefix(visit.base),
        }
        return templates().page(template, status, common | values)

    def message(self, visit: Visit, error: PageError) -> Response:
        """Return the page that says `error`."""
        return self.render(visit, "message.html", status=error.status, title=error.title, text=error.text)

    def redirect(self, visit: Visit, path: str) -> Response:
        """Send the browser to another page, which it GETs."""
        return RedirectResponse(visit.base + path, 303, SECURITY_HEADERS)

    def set_cookie(self, visit: Visit, response: Response, session: AdminSession) -> None:
        """Hand `session` to the browser. The cookie goes to these pages only, and never along from another site."""
        response.set_cookie(
            COOKIE, self.sessions.sign(session), path=visit.base, secure=visit.secure, httponly=True, samesite="strict"
        )

    async def asset(self, request: Request) -> Response:
        """Return a file of `static`. Its address changes with it, so it may be kept."""
        name = request.path_params["name"]
        if name not in templates().assets:
            return Response(status_code=404, headers=SECURITY_HEADERS)
        headers = SECURITY_HEADERS | {"Cache-Control": "public, max-age=31536000, immutable"}
        suffix = name[name.rindex(".") :]
        return Response(templates().assets[name], 200, headers, MEDIA_TYPES[suffix])


def _failure(error: DiscreetError) -> PageError:
    if isinstance(error, ProviderError):
        return PageError(502, "The embedding model failed", "Nothing was changed. Try again in a while.")
    if isinstance(error, EncryptionError):
        text = "A memory is sealed under a key that this server does not have. See DISCREET_ENCRYPTION_KEYS."
        return PageError(500, "A memory can't be opened", text)
    return PageError(503, "The database can't be reached", "Nothing was changed. Try again in a while.")
