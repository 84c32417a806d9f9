"""Sensitive values to plant: another one for each place and each route, all of them findable by a few common stems.

The project that the server runs has a copy of this module: with the same seed it plants the same values.
"""

from __future__ import annotations

import base64
import random
import string
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, quote_plus

LETTERS: Final = string.ascii_lowercase
WINDOW: Final = 160
"""Bytes around a stem in which the whole value is, in the widest encoding."""


def _email(plants: Plants, number: int) -> str:
    return f"{_letters(number, 4)}.{plants.word}@example.com"


def _token(plants: Plants, number: int) -> str:
    """Return what looks like an access token of GitHub's; it is put together here, so that no scanner takes it for one."""
    tail = random.Random(number).choices(string.ascii_letters + string.digits, k=20)
    return "".join(("gh", "p_", _letters(number, 4), plants.word, *tail))


def _phone(plants: Plants, number: int) -> str:
    return f"+49 {plants.phone}{number % 10**3:03}"


def _card(plants: Plants, number: int) -> str:
    digits = f"{plants.card}{number % 10**4:04}"
    return digits + _luhn(digits)


def _iban(plants: Plants, number: int) -> str:
    account = f"{plants.bank}{number % 10**8:08}"
    check = 98 - int(f"{account}131400") % 97
    return f"DE{check:02}{account}"


def _address(plants: Plants, number: int) -> str:
    return f"{1000 + number % 9000} {plants.word.capitalize()} Street, Boston, MA 02108"


KINDS: Final = {
    "email": _email,
    "token": _token,
    "phone": _phone,
    "card": _card,
    "iban": _iban,
    "address": _address,
}


RESTORED: Final = frozenset(
    {
        "input",
        "second value",
        "tool result",
        "private channel",
        "state channel",
        "stream writer",
        "interrupt payload",
    }
)
"""Places whose value the owner must see in the live answer: no secret, since secrets are never put back."""


@dataclass
class Plants:
    """The values of one run of the suite."""

    seed: int
    named: dict[str, str] = field(default_factory=dict)
    """What was planted: value by `place of route`."""

    def __post_init__(self) -> None:
        source = random.Random(self.seed)
        self.word = "q" + "".join(source.choices(LETTERS, k=9))
        self.phone = f"1512 {source.randrange(1000, 10000)}"
        self.card = f"453{source.randrange(10**7, 10**8)}"
        self.bank = f"{source.randrange(10**9, 10**10)}"
        self._seen: dict[bytes, tuple[int, set[str]]] = {}
        self._needles = [(stem, form) for stem in self.stems() for form in encodings(stem)]

    def value(self, place: str, route: str, kind: str | None = None) -> str:
        """Return the value for a place on a route; its kind follows from both unless it is given."""
        number = zlib.crc32(f"{place} of {route}".encode())
        kinds = [kind for kind in KINDS if kind != "token" or place not in RESTORED]
        kind = kind or kinds[number // 7 % len(kinds)]
        value = KINDS[kind](self, number)
        self.named[f"{place} of {route}"] = value
        return value

    def stems(self) -> tuple[str, ...]:
        """Return the texts of which every planted value has one."""
        return (
            self.word,
            self.word.capitalize(),
            self.phone,
            self.phone.replace(" ", ""),
            self.phone.replace(" ", "+"),
            self.phone.replace(" ", "%20"),
            self.card,
            self.bank,
        )

    def within(self, data: bytes) -> set[str]:
        """Return the names of the values in `data`, in any of the encodings; a piece of one is named by its stem."""
        found: set[str] = set()
        for stem, needle in self._needles:
            position = data.find(needle)
            while position >= 0:
                window = data[max(0, position - WINDOW) : position + len(needle) + WINDOW]
                found |= self._whole(window) or {f"? ({stem})"}
                position = data.find(needle, position + len(needle))
        return found

    def _whole(self, window: bytes) -> set[str]:
        """Return the names of the values that are whole in `window`; the same windows come again and again."""
        known, forms = len(self.named), self._seen.get(window)
        if forms is None or forms[0] != known:
            values = tuple(self.named.items())
            names = {name for name, value in values if value.encode() in window}
            names = names or {name for name, value in values if any(form in window for form in encodings(value))}
            self._seen[window] = forms = (known, names)
        return forms[1]


def encodings(text: str) -> Iterator[bytes]:
    """Yield what `text` may look like on disk or on the wire."""
    data = text.encode()
    yield data
    yield text.encode("utf-16-le")[:-1]  # what both byte orders have in common
    yield data.hex().encode()
    for offset in range(3):
        yield _base64(data, offset)
    if "@" in text:
        yield quote(text, safe="").encode()
        yield quote(quote(text, safe=""), safe="").encode()
    if " " in text:
        yield text.replace(" ", "").encode()
        yield quote_plus(text).encode()
        yield quote(text, safe="").encode()
    yield "".join(f"%{byte:02X}" for byte in data).encode()


def _base64(data: bytes, offset: int) -> bytes:
    """Return the characters that stand for `data` alone, `offset` bytes after a multiple of three."""
    text = base64.b64encode(bytes(offset) + data)
    return text[(offset * 8 + 5) // 6 : (offset + len(data)) * 8 // 6]


def _letters(number: int, count: int) -> str:
    return "".join(LETTERS[number // 26**place % 26] for place in range(count))


def _luhn(digits: str) -> str:
    doubled = [int(digit) * (2 - place % 2) for place, digit in enumerate(reversed(digits))]
    return str(-sum(sum(divmod(number, 10)) for number in doubled) % 10)
