"""What all pages share: who is signed in, what a form must prove, and how errors look."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from discreet.access.actor import Actor, ActorKind, acting
from discreet.api.actors import actor_by
from discreet.api.ingress.queries import as_sent
from discreet.api.pages.area import Area
from discreet.api.pages.ended import EndedSessions
from discreet.api.pages.errors import PageError, SignInError
from discreet.api.pages.forms import check_fetch, check_origin, read_form
from discreet.api.pages.rendering import MEDIA_TYPES, SECURITY_HEADERS, templates
from discreet.api.pages.sealed_views import SealedViews
from discreet.api.pages.sessions import PageSession, Sessions
from discreet.api.pages.visit import Visit
from discreet.api.services import Services
from discreet.errors import DiscreetError, EncryptionError, ProviderError, StorageError, StorageUnavailableError

logger = logging.getLogger(__name__)

FORM_TOKEN = "form_token"  # noqa: S105  # the name of a field

Page = Callable[[Visit], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


class Site:
    """Renders, and lets in."""

    def __init__(self, area: Area, services: Services, session_key: bytes) -> None:
        """Serve `area`, with sessions under keys derived from `session_key`.

        Raises:
            ConfigurationError: `session_key` is too short.
        """
        self.area = area
        self.sessions = Sessions(session_key, area.name)
        self.views = SealedViews(session_key, area.name)
        self._ended = EndedSessions(services.short_term)
        self._redactor = services.redactor

    def endpoint(self, page: Page, *, public: bool = False) -> Endpoint:
        """Return `page` behind what all have: a session (unless it is `public`), and for a POST proof of where it is from."""

        async def endpoint(request: Request) -> Response:
            request = as_sent(request)
            session = await self._session(request)
            visit = Visit(request=request, area=self.area, session=session or self.sessions.begin())
            try:
                check_fetch(request.headers)
                if not public and visit.session.identity is None:
                    raise SignInError  # noqa: TRY301  # caught below with those of the page
                if request.method == "POST":
                    visit = replace(visit, form=await self._checked(visit))
                with acting(self.actor_of(visit)):
                    return await page(visit)
            except SignInError:
                return self._sign_in(visit)
            except PageError as error:
                return self.message(visit, error)
            except (StorageError, ProviderError, EncryptionError) as error:
                logger.warning("pages.failed area=%s cause=%s", self.area.name, type(error).__name__)
                return self.message(visit, _failure(error))

        return endpoint

    async def end(self, session: PageSession) -> None:
        """Take the cookie of `session` no more, whichever process it comes to."""
        self.sessions.end(session)
        await self._ended.add(session)

    async def _session(self, request: Request) -> PageSession | None:
        session = self.sessions.read(request.cookies.get(self.area.cookie))
        if session is None or session.identity is None or not self.area.signs_in:
            return session
        return None if await self._ended.has(session) else session

    def actor_of(self, visit: Visit) -> Actor:
        """Return who acts by a visit: who is signed in, else somebody who is unknown."""
        identity = visit.session.identity
        kind: ActorKind = "admin" if self.area.admins_only and identity is not None else "user"
        return actor_by(visit.request.scope, kind, identity, self._redactor)

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
            "area": self.area,
            "lang": visit.language,
            "_": visit.say,
            "signed_in": visit.session.identity is not None,
            "form_token": self.sessions.form_token(visit.session),
            "here": visit.request.url.path.removeprefix(visit.base),
        }
        return templates(self.area.folder).page(template, status, common | values)

    def message(self, visit: Visit, error: PageError) -> Response:
        """Return the page that says `error`."""
        title, text = visit.say(error.title), visit.say(error.text)
        return self.render(visit, "pages/message.html", status=error.status, title=title, text=text)

    def redirect(self, visit: Visit, path: str) -> Response:
        """Send the browser to another page, which it GETs."""
        return RedirectResponse(visit.base + path, 303, SECURITY_HEADERS)

    def set_cookie(self, visit: Visit, response: Response, session: PageSession) -> None:
        """Hand `session` to the browser. The cookie goes to these pages only, and never along from another site."""
        response.set_cookie(
            self.area.cookie,
            self.sessions.sign(session),
            path=visit.base,
            secure=visit.secure,
            httponly=True,
            samesite="strict",
        )

    async def asset(self, request: Request) -> Response:
        """Return a file of `static`. Its address changes with it, so it may be kept."""
        name, assets = request.path_params["name"], templates(self.area.folder).assets
        if name not in assets:
            return Response(status_code=404, headers=SECURITY_HEADERS)
        headers = SECURITY_HEADERS | {"Cache-Control": "public, max-age=31536000, immutable"}
        suffix = name[name.rindex(".") :]
        return Response(assets[name], 200, headers, MEDIA_TYPES[suffix])


def _failure(error: DiscreetError) -> PageError:
    if isinstance(error, ProviderError):
        return PageError(502, "The embedding model failed", "Nothing was changed. Try again in a while.")
    if isinstance(error, EncryptionError):
        text = "A memory is sealed under a key that this server does not have. See DISCREET_ENCRYPTION_KEYS."
        return PageError(500, "A memory can't be opened", text)
    if not isinstance(error, StorageUnavailableError):
        text = (
            "Nothing was changed. The log of the server says why. Lists of all users need DISCREET_POSTGRES_WORKER_DSN."
        )
        return PageError(500, "The database refused this", text)
    return PageError(503, "The database can't be reached", "Nothing was changed. Try again in a while.")
