"""Turn values into pages, with the headers that keep them from others."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Response
from markupsafe import Markup

from discreet.api.admin.figures import decimal
from discreet.api.admin.language import language_of
from discreet.redaction.apart import read_apart

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
"""Of every answer. No script runs at all: the pages have none."""


class Templates:
    """The templates, all compiled at once: a server must not read files while it answers."""

    def __init__(self) -> None:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  # with the first page

        self._environment = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            auto_reload=False,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= {"time": time_tag, "language": language_of, "decimal": decimal}
        self.assets = {
            path.name: path.read_bytes() for path in (HERE / "static").iterdir() if path.suffix in MEDIA_TYPES
        }
        digest = hashlib.sha256(b"".join(self.assets[name] for name in sorted(self.assets)))
        self._environment.globals["version"] = digest.hexdigest()[:12]
        for name in self._environment.list_templates(extensions=["html"]):
            self._environment.get_template(name)

    def page(self, name: str, status: int, values: dict[str, Any]) -> Response:
        """Return the page that the template `name` makes of `values`."""
        body = self._environment.get_template(name).render(values)
        return Response(body, status, SECURITY_HEADERS, "text/html; charset=utf-8")


@cache
def templates() -> Templates:
    """Return the templates of this process: compiling them takes some 0.1 s, with the first page or before it (`warming`)."""
    return read_apart(Templates)


MEDIA_TYPES = {".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
"""Of the files in `static`."""


def time_tag(when: datetime) -> Markup:
    """Return `when` as a <time>, in UTC."""
    utc = when.astimezone(UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        utc.isoformat(timespec="seconds").replace("+00:00", "Z"), f"{utc:%Y-%m-%d %H:%M} UTC"
    )
