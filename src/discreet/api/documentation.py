"""Pages about the API: its OpenAPI, and Swagger UI over it, of which the browser loads nothing from elsewhere."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.staticfiles import StaticFiles

OPENAPI: Final = "/openapi.json"
PAGE: Final = "/docs"
FILES: Final = "/memory/docs"
"""Below a prefix that the ingress leaves to us."""
PACKAGE: Final = "fastapi_offline"
"""Carries Swagger UI, which FastAPI would have the browser load from a CDN."""


def add_documentation(app: FastAPI) -> None:
    """Serve the OpenAPI of `app`, and a page over it where the package that carries Swagger UI is installed."""

    async def schema(_request: Request) -> JSONResponse:
        return JSONResponse(app.openapi())

    async def page(_request: Request) -> HTMLResponse:
        return get_swagger_ui_html(
            openapi_url=OPENAPI,
            title=app.title,
            swagger_js_url=f"{FILES}/swagger-ui-bundle.js",
            swagger_css_url=f"{FILES}/swagger-ui.css",
            swagger_favicon_url=f"{FILES}/favicon.png",
        )

    app.add_route(OPENAPI, schema, include_in_schema=False)
    package = find_spec(PACKAGE)
    if package is not None and package.submodule_search_locations:
        folder = Path(next(iter(package.submodule_search_locations)))
        app.mount(FILES, StaticFiles(directory=folder / "static"), name="documentation")
        app.add_route(PAGE, page, include_in_schema=False)
