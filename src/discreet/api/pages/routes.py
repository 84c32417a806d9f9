"""Register pages as routes of a server."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from discreet.api.pages.login import LoginPages
from discreet.api.pages.site import Page, Site
from discreet.api.pages.visit import Visit


class Routes:
    """The routes of one area: its static files, and where people sign in its home, sign in and out; the others are added."""

    def __init__(self, site: Site, login: LoginPages | None = None) -> None:
        """Begin a router for `site`, to which `login` lets people in, if they sign in."""
        self.router = APIRouter()
        self._site = site

        async def home(visit: Visit) -> Response:
            return site.redirect(visit, site.area.home)

        async def asset(request: Request) -> Response:
            return await site.asset(request)

        if login is not None:
            for path in ("", "/"):
                self.add(path, home)
            self.add("/login", login.show, public=True)
            self.add("/login", login.sign_in, "POST", public=True)
            self.add("/logout", login.sign_out, "POST")
        static = f"{site.area.prefix}/static/{{name}}"
        self.router.add_route(static, asset, ["GET"], f"{site.area.name} static", include_in_schema=False)

    def add(self, path: str, page: Page, method: str = "GET", *, public: bool = False) -> None:
        """Serve `page` below the prefix, behind a session unless it is `public`."""
        # Starlette's routes: FastAPI would look at each for a millisecond, and find nothing to validate.
        area = self._site.area
        endpoint = self._site.endpoint(page, public=public)
        name = f"{area.name} {method} {path}"
        self.router.add_route(area.prefix + path, endpoint, [method], name, include_in_schema=False)
