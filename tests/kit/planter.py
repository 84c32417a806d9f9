"""Values to plant: another one for each place, all of them findable by a few common stems.

This imports the standard library alone: the projects that servers run have a copy of it, and with the same seed it
plants the same values there.
"""

from __future__ import annotations

import random
import re
import secrets
import string
import struct
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from kit.forms import needles
from kit.values import iban_of, with_check_digit

LETTERS: Final = "bcdefghijklmnopqrstuvwxyz"
"""Random words are made of these: digits may read as a number to the redactor, and with an `a` a word may be one people use."""
WINDOW: Final = 160
"""Bytes around a stem in which the whole value is, in the widest form."""
LONGEST_WORD: Final = 64
"""Bytes before a seal in which the rest of a word is."""

WORD: Final = re.compile(rb"(?:raw|pii|keep)(?:(?!raw|pii|keep)[a-z])*\Z")
"""What stands before a seal; another word may stand right before it."""

WORDS, NUMBERS, PERSONAL = "words", "numbers", "personal"


def _email(planter: Planter, number: int) -> str:
    return f"{_letters(number, 4)}.{planter.seal}@example.com"


def _token(planter: Planter, number: int) -> str:
    """Return what looks like an access token of GitHub's; it is put together here, so that no scanner takes it for one."""
    tail = random.Random(number).choices(string.ascii_letters + string.digits, k=18)
    return "".join(("gh", "p_", _letters(number, 4), planter.seal, *tail))


def _phone(planter: Planter, number: int) -> str:
    return f"+49 {planter.phone}{number % 10**3:03}"


def _card(planter: Planter, number: int) -> str:
    return with_check_digit(f"{planter.card}{number % 10**4:04}")


def _grouped_card(planter: Planter, number: int) -> str:
    digits = _card(planter, number)
    return " ".join(digits[at : at + 4] for at in range(0, 16, 4))


def _iban(planter: Planter, number: int) -> str:
    return iban_of(f"{planter.bank}{number % 10**8:08}")


def _address(planter: Planter, number: int) -> str:
    return f"{1000 + number % 9000} {planter.seal.capitalize()} Street, Boston, MA 02108"


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
class Planter:
    """The values of one test, or of one run of a suite. The same `seed` gives the same values, in another process too.

    There are words, which only structure can keep out (`raw`) or which must be kept (`keep`); personal values of every
    kind, which the redactor knows; and numbers. `families` says which of these are planted: fewer are sooner found.
    """

    seed: int = field(default_factory=lambda: secrets.randbits(64))
    families: Collection[str] = (WORDS, NUMBERS, PERSONAL)
    named: dict[str, str] = field(default_factory=dict, repr=False)
    """What was planted: value by its name, which is `place of route`."""

    def __post_init__(self) -> None:
        source = random.Random(self.seed)
        self.seal = "q" + "".join(source.choices(LETTERS, k=11))
        """In all that must not be found."""
        self.kept = "x" + "".join(source.choices(LETTERS, k=11))
        """In all that must be there."""
        self.phone = f"1512 {source.randrange(1000, 10000)}"
        self.card = f"453{source.randrange(10**7, 10**8)}"
        self.bank = f"{source.randrange(10**9, 10**10)}"
        # All but the last digits of every planted number, decimal and binary, are those of the base.
        self._integer = (source.randrange(10**18, 9 * 10**18) // 2**40) * 2**40
        self._real = source.randrange(2**51, 2**52) // 2**20 * 2**20
        self._words: dict[bytes, str] = {}
        self._values: dict[str, str] = {}
        self._seen: dict[bytes, tuple[int, set[str]]] = {}
        self._needles = dict(self._stems())

    def raw(self, place: str, route: str = "", code: str = "") -> str:
        """Return a word that no redactor knows; `place` and `code` are of small letters."""
        return self._word("raw", place, route, code)

    def email(self, place: str, route: str = "", code: str = "") -> str:
        """Return an address with such a word in it, which the redactor knows."""
        return f"{self._word('pii', place, route, code)}@example.com"

    def keep(self, place: str, code: str = "") -> str:
        """Return a word that must survive."""
        return f"keep{place}{code}{self.kept}"

    def value(self, place: str, route: str, kind: str | None = None) -> str:
        """Return the personal value for a place on a route; its kind follows from both unless it is given."""
        number = zlib.crc32(f"{place} of {route}".encode())
        kinds = [kind for kind in KINDS if kind != "token" or place not in RESTORED]
        kind = kind or kinds[number // 7 % len(kinds)]
        return self._named(f"{place} of {route}", KINDS[kind](self, number))

    def grouped_card(self, place: str) -> str:
        """Return a card number as people write it, in groups of four."""
        return self._named(place, _grouped_card(self, zlib.crc32(place.encode())))

    def whole_number(self, number: int) -> int:
        """Return an integer of 19 digits that is as large as no other; `number` is small."""
        return self._integer + number

    def real_number(self, number: int) -> float:
        """Return a number between 1 and 2 with digits as no other has; `number` is small."""
        return float(struct.unpack(">d", self._real_bytes(number))[0])

    def within(self, data: bytes | str) -> set[str]:
        """Return the names of the values in `data`, in any of their forms; a piece of one is named by its stem."""
        data = data.encode(errors="replace") if isinstance(data, str) else data
        found: set[str] = set()
        for needle, (stem, form) in self._needles.items():
            for at in _places(data, needle):
                window = data[max(0, at - WINDOW) : at + len(needle) + WINDOW]
                word = form == "text" and self._word_before(data, at)
                found |= {word} if word else self._whole(window) or {f"? {stem}, {form}"}
        return found

    def kept_within(self, data: bytes) -> set[str]:
        """Return the words in `data` that must be kept."""
        found = set()
        for at in _places(data, self.kept.encode()):
            if match := WORD.search(data, max(0, at - LONGEST_WORD), at):
                found.add(f"{match[0].decode()}{self.kept}")
        return found

    def _named(self, name: str, value: str) -> str:
        self.named[name] = self._values[name] = value
        return value

    def _word(self, kind: str, place: str, route: str, code: str) -> str:
        name = f"{kind} {place} of {route}" if route else f"{kind} {place}"
        self.named[name] = word = f"{kind}{place}{code}{self.seal}"
        self._words[word.encode()] = name
        return word

    def _word_before(self, data: bytes, at: int) -> str | None:
        """Return the name of the word whose seal is there; of one that another process has planted, its beginning."""
        if (match := WORD.search(data, max(0, at - LONGEST_WORD), at)) is None:
            return None
        return self._words.get(match[0] + self.seal.encode(), f"? {match[0].decode()}")

    def _whole(self, window: bytes) -> set[str]:
        """Return the names of the values that are whole in `window`; the same windows come again and again."""
        known, names = self._seen.get(window, (-1, set()))
        if known != len(self._values):
            values = tuple(self._values.items())  # scenes that are still played plant more
            names = {name for name, value in values if value.encode() in window}
            names = names or {name for name, value in values if any(form in window for form in needles(value))}
            self._seen[window] = (len(self._values), names)
        return names

    def _stems(self) -> Iterator[tuple[bytes, tuple[str, str]]]:
        """Yield the bytes of which every planted value has some, with the name of the stem and the form."""
        texts = {"word": self.seal} if WORDS in self.families or PERSONAL in self.families else {}
        if PERSONAL in self.families:
            card = f"{self.card[:4]} {self.card[4:8]} {self.card[8:]}"
            texts |= {"capital": self.seal.capitalize(), "phone": self.phone, "card": self.card}
            texts |= {"bank": self.bank, "card in groups": card}
        for stem, text in texts.items():
            yield from ((needle, (stem, form)) for needle, form in needles(text).items())
        if NUMBERS in self.families:
            integer = self._integer.to_bytes(8, "big")
            yield str(self._integer)[:12].encode(), ("integer", "text")
            yield b"\xcf" + integer[:5], ("integer", "msgpack")
            yield _numeric(self._integer), ("integer", "JSONB")
            yield repr(self.real_number(0))[:9].encode(), ("real", "text")
            yield (real := self._real_bytes(0)[:5]), ("real", "bytes")  # as in msgpack, pickles and COPY
            yield real[::-1], ("real", "bytes, little-endian")

    def _real_bytes(self, number: int) -> bytes:
        return (0x3FF << 52 | self._real | number).to_bytes(8, "big")


def _places(data: bytes, needle: bytes) -> Iterator[int]:
    at = data.find(needle)
    while at >= 0:
        yield at
        at = data.find(needle, at + len(needle))


def _numeric(number: int) -> bytes:
    """Return how a PostgreSQL `numeric` of 19 digits begins: its short header and three groups of four digits."""
    digits = str(number).zfill(20)
    groups = [int(digits[start : start + 4]) for start in range(0, 12, 4)]
    return struct.pack("<H3H", 0x8000 | len(digits) // 4 - 1, *groups)


def _letters(number: int, count: int) -> str:
    return "".join(string.ascii_lowercase[number // 26**place % 26] for place in range(count))
