"""Sign in and out."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from fastapi import Response

from discreet.access.caller import Caller
from discreet.access.proxies import TrustedProxies
from discreet.api.pages.attempts import SharedAttempts, limit_of
from discreet.api.pages.errors import PageError
from discreet.api.pages.site import Site
from discreet.api.pages.visit import Visit
from discreet.api.services import Services
from discreet.errors import ForbiddenError, UnauthorisedError

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""Before a refusal: who types does not notice, who tries many does."""

CREDENTIALS = ("authorization", "x-api-key")
"""Headers that say who calls. What is pasted takes their place."""


class LoginPages:
    """The pages that need no session."""

    def __init__(self, site: Site, services: Services) -> None:
        """Serve `site` to those whom the services let in.

        Raises:
            ConfigurationError: The trusted proxies of the settings are no networks.
        """
        self._site = site
        self._authenticator = services.authenticator
        self._denials = services.denials
        self._attempts = SharedAttempts(services.short_term)
        self._proxies = TrustedProxies(services.settings.trusted_proxies)

    async def show(self, visit: Visit) -> Response:
        """Show the form; whoever is signed in needs none."""
        if visit.session.identity is not None:
            return self._site.redirect(visit, self._site.area.home)
        return self._form(visit)

    async def sign_in(self, visit: Visit) -> Response:
        """Check the token or key, and begin a session: where pages are for administrators, only for these."""
        area, credential = self._site.area, visit.form.get("credential", "").strip()
        host = visit.request.client.host if visit.request.client else None
        attempt = await self._attempts.begin(limit_of(self._proxies.origin(visit.request.headers.items(), host)))
        if seconds := attempt.wait_seconds:
            logger.warning("pages.login_refused area=%s reason=%s seconds=%d", area.name, "too_many", seconds)
            response = self._form(
                visit,
                status=429,
                error=visit.say("Too many attempts. Try again in {seconds} seconds.").format(seconds=seconds),
            )
            response.headers["Retry-After"] = str(seconds)
            return response
        caller = await self._caller(credential, visit)
        if caller is None or (area.admins_only and not caller.admin):
            reason = "unknown" if caller is None else "no_admin"
            logger.warning("pages.login_refused area=%s reason=%s", area.name, reason)
            error = UnauthorisedError() if caller is None else ForbiddenError()
            actor = self._site.actor_of(visit)
            await self._denials.tell(error, replace(actor, identity=None if caller is None else caller.identity))
            await asyncio.sleep(PAUSE_SECONDS)
        if caller is None:
            unknown = "This token or key is not known here, or it has expired."
            return self._form(visit, status=401, error=visit.say(unknown if credential else "Paste a token or a key."))
        if area.admins_only and not caller.admin:
            text = "Your token is good, but these pages are for administrators. DISCREET_ADMINS names them."
            raise PageError(403, "You are no administrator", text)
        await self._attempts.succeeded(attempt)
        logger.info("pages.signed_in area=%s identity=%s", area.name, caller.identity)
        response = self._site.redirect(visit, area.home)
        self._site.set_cookie(visit, response, self._site.sessions.begin(caller.identity))
        return response

    async def sign_out(self, visit: Visit) -> Response:
        """End the session, here and in the browser."""
        await self._site.end(visit.session)
        response = self._site.redirect(visit, "/login")
        response.delete_cookie(
            self._site.area.cookie, path=visit.base, secure=visit.secure, httponly=True, samesite="strict"
        )
        return response

    async def _caller(self, credential: str, visit: Visit) -> Caller | None:
        """Return whose `credential` it is, be it a token or a key. A server for one person alone may need none."""
        host = visit.request.client.host if visit.request.client else None
        token = credential[7:].strip() if credential[:7].lower() == "bearer " else credential
        ways = ({"authorization": f"Bearer {token}"}, {"x-api-key": credential}) if credential else ({},)
        others = {name: value for name, value in visit.request.headers.items() if name not in CREDENTIALS}
        for headers in ways:
            try:
                return await self._authenticator.caller(others | headers, host)
            except UnauthorisedError:
                continue
        return None

    def _form(self, visit: Visit, *, status: int = 200, error: str | None = None) -> Response:
        response = self._site.render(visit, "login.html", status=status, error=error)
        self._site.set_cookie(visit, response, visit.session)
        return response
