"""Where a request comes from, if proxies stand in front."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from discreet.access.loopback import FORWARDED
from discreet.errors import ConfigurationError

FORWARDED_FOR = "x-forwarded-for"

HOME_BITS = 64
"""Of an IPv6 address: what one connection to the internet is given (RFC 6177), who has it has all addresses of it."""


@dataclass(frozen=True)
class Origin:
    """Where a request comes from."""

    address: str
    """An IPv4 address, the network of an IPv6 one, or `unknown`."""
    is_shared: bool
    """Whether it is that of a proxy, behind which there may be anybody."""


class TrustedProxies:
    """The proxies whose X-Forwarded-For is believed. Anybody can send one."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        """Take addresses and networks such as `10.0.0.0/8`.

        Raises:
            ConfigurationError: One is something else; it is named by its number.
        """
        self._networks = [_network(each, number) for number, each in enumerate(networks, start=1)]

    def origin(self, headers: Iterable[tuple[str, str]], client_host: str | None) -> Origin:
        """Return where a request with these headers comes from: all of them, with their names in small letters.

        Each proxy adds whom it got the request from at the right, so the first from there that is no proxy of ours is believed.
        """
        headers = list(headers)
        hops = [each for name, value in headers if name == FORWARDED_FOR for each in value.split(",")]
        is_shared = any(name in FORWARDED for name, _ in headers)
        peer = _address(client_host)
        while peer is not None and hops and self._trusts(peer):
            peer, is_shared = _address(hops.pop().strip()), False
        return Origin(_written(peer), is_shared or peer is None or self._trusts(peer))

    def _trusts(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self._networks if network.version == address.version)


def _network(written: str, number: int) -> IPv4Network | IPv6Network:
    try:
        return ip_network(written, strict=False)
    except ValueError:
        raise ConfigurationError(
            f"Entry {number} of DISCREET_TRUSTED_PROXIES is no address and no network such as 10.0.0.0/8."
        ) from None


def _address(written: str | None) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(written or "")
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _written(address: IPv4Address | IPv6Address | None) -> str:
    if address is None:
        return "unknown"
    if isinstance(address, IPv6Address):
        return str(ip_network(f"{address}/{HOME_BITS}", strict=False))
    return str(address)
