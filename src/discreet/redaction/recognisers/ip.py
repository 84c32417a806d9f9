"""Internet addresses, of both versions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv6Address

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.identifiers import digits_are_close

CONTEXT_CHARS = 32
"""How far before an address words count."""

LEAST_OCTET = 10
"""Four octets that are all smaller read as a version or a section, unless words or a port say otherwise."""

MOST_OCTET = 255

LEAST_COLONS = 6
"""Colons of a whole IPv6 address, the last part of which is written as IPv4."""

OCTET = lazy("[0-9]+")

WORDS = lazy(r"[^\W\d_]|[@/§]")
"""What words before an address have; rows of addresses have none."""


STAMP = lazy(r"(?:19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}-\Z")
"""A date before an hour with dots, as DB2 writes it."""
NETWORKS = frozenset(
    (
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "100.64.0.0/10",
        "0.0.0.0/0",
        "224.0.0.0/4",
        "192.0.2.0/24",
        "198.51.100.0/24",
        "203.0.113.0/24",
    )
)
"""What everybody has: private, local and documentation networks (RFC 6890)."""


def is_network(written: str) -> bool:
    """Tell a network that everybody has from an address."""
    return written in NETWORKS


class IpRecogniser:
    """Finds IPv4 and IPv6 addresses with port, prefix length and zone. Loopback, unspecified and netmasks stay."""

    type = "IP"

    V4 = lazy(
        r"[0-9](?<![0-9.][0-9])[0-9]{0,2}(?:(?:\.|\[\.\]|\(\.\)| \. )[0-9]{1,3}){3}(?![0-9]|\.[0-9])"
        r"(?P<suffix>:[0-9]{1,5}(?![0-9])|/[0-9]{1,2}(?![0-9]))?"
    )

    V6 = lazy(
        r"(?:(?<![0-9A-Za-z:.])|(?<=[^\W0-9A-Fa-f_]:)(?=[0-9A-Fa-f]))(?!:[^:])"
        r"(?P<bracket>\[)?(?P<address>(?:[0-9A-Fa-f]{0,4}:){2,7}(?:(?:[0-9]{1,3}\.){3}[0-9]{1,3}|[0-9A-Fa-f]{1,4})?)(?![0-9A-Za-z])"
        r"(?:%[A-Za-z0-9_.-]{1,32})?(?(bracket)\](?::[0-9]{1,5})?|(?:/[0-9]{1,3}|(?::[0-9]{1,5})(?![0-9A-Za-z:]))?)"
        r"(?!:?[0-9A-Fa-f]|::)"
    )
    """RFC 4291, section 2.2; zones RFC 4007; ports after brackets RFC 3986, and without them as people write."""

    COLONS = lazy(":(?::|(?:[0-9A-Fa-f]{1,4}:){5}[0-9A-Fa-f])")
    """Without, there is no IPv6 address."""

    VERSION = lazy(
        r"(?:(?<![a-z])(?:v|ver|version|versions|driver|drivers|release|rev|kernel|windows|ios|android|macos|linux"
        r"|chrome|firefox|nginx|python|java|score|date|revision|firmware|build|update|patch|package|app|software"
        r"|(?:(?:up|down)grade|update)[ds]? (?:to|from(?: [0-9.]{7,15} to)?)|section|chapter|clause|figure|table|article|rule|part|item|step|oid)"
        r"|phiên bản|bản cập nhật|bản|nâng cấp lên|trình điều khiển|chương|mục|điều|hình|bảng"
        r"|верси[яюией]{1,2}|драйвер\w{0,2}|релиз\w{0,2}|прошивк[аиуе]|сборк[аиуе]|обнов\w{2,8} до|раздел\w{0,2}|глав[аеы]|пункт\w{0,2}|п\."
        r"|版本|版|韌體|固件|驅動程式|驅動|驱动|升級到|升级到|更新到|章|節|节|第|條|条)"
        r"(?: ?(?:is|to|number|no\.?|là|số|номер|это|為|为|是|号|號))?[ .:#=(_-]{0,3}\Z"
        r"|[0-9]\.[0-9]{1,4}\.[0-9]{1,4}(?:\.[0-9]{1,4})? ?(?:to|на|до|->|→|auf|a|à|lên|到|至) ?\Z"
        r"|§ ?\Z|(?<![a-z:/])(?!ip|addr|host|inet)[a-z][a-z0-9_.+-]{0,24}/\Z",
        re.IGNORECASE,
    )
    """Words right before four numbers that are no address; the last one is `product/1.2.3.4`."""

    ADDRESS = lazy(
        r"(?:(?<![a-z])(?:ip|ipv4|addr|address|host|server|ping|ssh|dns|gateway|subnet|proxy|router)(?![a-z])"
        r"|địa chỉ|máy chủ|адрес|сервер|хост|шлюз|地址|位址|伺服器|服务器|主機|主机)[^.!?\n]{0,20}\Z|@\Z|//\Z",
        re.IGNORECASE,
    )
    """Words after which even `1.2.3.4` is an address."""

    NOBODY = lazy(r"127\.0\.|0\.0\.0\.0\Z|255\.(?:0|128|19[2]|224|240|248|25[245])\.[0-9.]{3,7}\Z")
    """Loopback, unspecified, netmasks."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses."""
        text = view.text
        if "." in text and view.derived(digits_are_close):
            known: dict[str, tuple[bool, bool]] = {}
            for match in self.V4.finditer(text):
                before = text[max(0, match.start() - CONTEXT_CHARS) : match.start()]
                words = known.get(before)
                if words is None:
                    words = known[before] = self.introduced(before)
                if (match["suffix"] and is_network(match[0])) or STAMP.search(before):
                    continue
                if self.is_v4(match[0], named=match["suffix"] is not None or words[0], version=words[1]):
                    yield match.span()
        if self.COLONS.search(text):
            for match in self.V6.finditer(text):
                if self.is_v6(match["address"]):
                    yield match.span()

    def introduced(self, before: str) -> tuple[bool, bool]:
        """Tell whether words introduce an address, and whether they introduce a version."""
        if not WORDS.search(before):
            return False, False
        return self.ADDRESS.search(before) is not None, self.VERSION.search(before) is not None

    def is_v4(self, written: str, *, named: bool, version: bool) -> bool:
        """Tell an address from a version, a section number or an address that is everybody's."""
        parts = OCTET.findall(written)[:4]
        if not named and {*map(len, parts[1:])} == {3} and any(part[0] == "0" for part in parts[1:]):
            return False  # groups of thousands
        octets = [*map(int, parts)]
        largest = max(octets)
        if version or largest > MOST_OCTET or not (named or largest >= LEAST_OCTET):
            return False
        return self.NOBODY.match(".".join(map(str, octets))) is None

    def is_v6(self, written: str) -> bool:
        """Tell an address from a time, a scope operator or eight bytes in hexadecimal."""
        groups = [group for group in written.split(":") if group]
        if all(len(group) == 2 for group in groups):
            return False
        if "::" in written:
            several = len(groups) > 2 or len(groups[0]) > 2  # `a1::b2` is a scope in a program
            if not (several and any(map(str.isdigit, written))):
                return False
        elif written.count(":") < LEAST_COLONS:
            return False
        try:
            address = IPv6Address(written)
        except AddressValueError:
            return False
        return not (address.is_loopback or address.is_unspecified)
