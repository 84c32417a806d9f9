"""Whether a request was made on this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address
from typing import Final

FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "cf-connecting-ip")
"""Headers of proxies and tunnels: the request comes from their machine, and was made elsewhere."""

_ORIGIN: Final = re.compile(
    r"(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//(?P<name>\[[0-9a-fA-F:.]+\]|[^\s/?#@:,\[\]]+)(?::[0-9]{0,5})?"
)


def made_here(headers: Mapping[str, str], client_host: str | None) -> bool:
    """Tell whether a request was made on this machine, by a program or a page that is on it too.

    That the connection comes from here is not enough: so do those of a proxy or a tunnel, and those of any web page
    in a browser here, which would be let in by a name of its own that leads here (DNS rebinding), or without one.
    """
    if not is_loopback(client_host) or any(name in headers for name in FORWARDED):
        return False
    host, origin = headers.get("host"), headers.get("origin")
    return (host is None or is_loopback_name(name_of(f"//{host}"))) and (
        origin is None or is_loopback_name(name_of(origin))
    )


def is_loopback(address: str | None) -> bool:
    """Tell whether an IP address is of this machine; names are none."""
    try:
        parsed = ip_address(address or "")
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return (mapped or parsed).is_loopback


def is_loopback_name(name: str | None) -> bool:
    """Tell whether a host name or an address in a URL is this machine's."""
    return name == "localhost" or is_loopback(name)


def name_of(url: str) -> str | None:
    """Return the host of a URL without a path, without its port; None if it is none, or more than one."""
    match = _ORIGIN.fullmatch(url)
    return match and match["name"].strip("[]").lower()
