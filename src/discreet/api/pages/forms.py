"""Read what a browser posts, and refuse what another site made it post."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from fastapi import Request
from starlette.requests import ClientDisconnect

from discreet.api.pages.errors import PageError

MAX_FORM_BYTES = 200_000
"""A memory has 4,000 characters of up to 12 bytes each as a form writes them, and 50 tags of 100."""
MAX_FIELDS = 200
FORM_TYPE = "application/x-www-form-urlencoded"


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields posted, with line ends as a newline alone; of fields of one name the last.

    Raises:
        PageError: It is no form, or too large.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM_TYPE:
        raise PageError(415, "This is not a form", "Send the form of the page.")
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_FORM_BYTES:
                raise PageError(413, "The form is too large", "Nothing was changed. Send less at a time.")
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except (ValueError, ClientDisconnect):  # too many fields, not UTF-8, or broken off
        raise PageError(400, "The form can't be read", "Send the form of the page.") from None
    return {name: value.replace("\r\n", "\n") for name, value in pairs}


def check_fetch(headers: Mapping[str, str]) -> None:
    """Refuse what a script of another site asks for, even of this machine's other ports, whose requests carry the cookie.

    A server that allows every origin would let it read the answer. Following a link from elsewhere is fine.

    Raises:
        PageError: Such a script asks.
    """
    if headers.get("sec-fetch-site") in ("cross-site", "same-site") and headers.get("sec-fetch-mode") != "navigate":
        raise PageError(403, "These pages are for people", "A script of another site has asked for this one.")


def check_origin(headers: Mapping[str, str]) -> None:
    """Refuse what a page of another site has sent. Browsers name the origin of every POST.

    The host alone is compared: behind a proxy that ends TLS the schemes differ.

    Raises:
        PageError: It has another origin, or none.
    """
    try:
        same = urlsplit(headers.get("origin", "")).netloc.lower() == headers.get("host", "").lower() != ""
    except ValueError:  # a bracket too many
        same = False
    if not same or headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise PageError(
            403,
            "This form came from elsewhere",
            "Nothing was changed. Open the page itself and try again. A proxy in front has to pass on the Host header.",
        )
