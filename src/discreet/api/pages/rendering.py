"""Turn values into pages, with the headers that keep them from others."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Response
from markupsafe import Markup

from discreet.api.pages.language import language_of
from discreet.api.pages.placeholders import with_placeholders
from discreet.redaction.thread_offload import read_apart

HERE = Path(__file__).parent

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer browsers send `Origin: null`, and forms couldn't be checked
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex",
}
"""Of every answer. No script runs at all: the pages have none, but for those that say so."""


class Templates:
    """The templates of one area of pages, all compiled at once: a server must not read files while it answers."""

    def __init__(self, folder: Path) -> None:
        """Compile those in `folder`, and those that all pages share, whose names begin with `pages/`."""
        from jinja2 import (  # loaded with the first page
            ChoiceLoader,
            Environment,
            FileSystemLoader,
            PrefixLoader,
            StrictUndefined,
        )

        own, shared = (FileSystemLoader(place / "templates") for place in (folder, HERE))
        self._environment = Environment(
            loader=ChoiceLoader([own, PrefixLoader({"pages": shared})]),
            autoescape=True,
            auto_reload=False,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= {"time": time_tag, "language": language_of, "placeholders": with_placeholders}
        files = [
            path for place in (HERE, folder) for path in (place / "static").glob("*") if path.suffix in MEDIA_TYPES
        ]
        self.assets = {path.name: path.read_bytes() for path in files}
        digest = hashlib.sha256(b"".join(self.assets[name] for name in sorted(self.assets)))
        self._environment.globals["version"] = digest.hexdigest()[:12]
        for name in self._environment.list_templates(extensions=["html"]):
            self._environment.get_template(name)

    def page(self, name: str, status: int, values: Mapping[str, Any]) -> Response:
        """Return the page that the template `name` makes of `values`."""
        body = self._environment.get_template(name).render(values)
        return Response(body, status, SECURITY_HEADERS, "text/html; charset=utf-8")


@cache
def templates(folder: Path) -> Templates:
    """Return the templates of an area in this process: compiling them takes some 0.1 s, with the first page or before it (`warming`)."""
    return read_apart(lambda: Templates(folder))


MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""Of the files in `static`."""


def time_tag(when: datetime) -> Markup:
    """Return `when` as a <time>, in UTC."""
    utc = when.astimezone(UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        utc.isoformat(timespec="seconds").replace("+00:00", "Z"), f"{utc:%Y-%m-%d %H:%M} UTC"
    )
