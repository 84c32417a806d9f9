"""Words to plant, all with one random ending, so that one search finds whatever any of them left."""

from __future__ import annotations

import base64
import random
import string
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

PERSONAL, RAW, KEEP, NUMBER = "pii", "raw", "keep", "number"


@dataclass(frozen=True)
class Plant:
    """One planted word."""

    kind: str
    place: str
    scene: str


@dataclass
class Plants:
    """The words of one search. The same `seed` gives the same words, in another process too.

    Letters only: random digits may read as a number to the redactor. What must be kept ends in another way than what
    must not, so that a secret can be searched for in every encoding.
    """

    seed: int
    planted: dict[str, Plant] = field(default_factory=dict)

    def __post_init__(self) -> None:
        source = random.Random(self.seed)
        self.secret, self.kept = ("".join(source.choices(string.ascii_lowercase, k=12)) for _ in range(2))
        # All but the last digits of every planted number, decimal and binary, are those of the base.
        self.integer = (source.randrange(10**18, 9 * 10**18) // 2**40) * 2**40
        self.real = source.randrange(2**51, 2**52) // 2**20 * 2**20

    def word(self, kind: str, place: str, scene: str, code: str) -> str:
        word = f"{kind}{place}{code}{self.kept if kind == KEEP else self.secret}"
        self.planted[word] = Plant(kind, place, scene)
        return word

    def whole_number(self, place: str, scene: str, number: int) -> int:
        self.planted["integer"] = Plant(NUMBER, place, scene)
        return self.integer + number

    def real_number(self, place: str, scene: str, number: int) -> float:
        self.planted["real"] = Plant(NUMBER, place, scene)
        return float(struct.unpack(">d", self._real(number))[0])

    def leaks(self, found: Mapping[str, set[str]]) -> dict[str, set[str]]:
        """Return what was found as the place where it was planted, the scene, and where it was found."""
        unknown = Plant("", "?", "?")
        named: dict[str, set[str]] = {}
        for word, where in found.items():
            plant = self.planted.get(word, unknown)
            named.setdefault(f"{plant.kind} {plant.place if plant.kind else word} of {plant.scene}", set()).update(
                where
            )
        return named

    def encoded_secrets(self) -> dict[str, bytes]:
        """Return what else than the plain word a secret may look like on disk."""
        secret = self.secret.encode()
        integer = self.integer.to_bytes(8, "big")
        return {
            "utf-16": self.secret.encode("utf-16-le")[:-1],  # what both byte orders have in common
            "hex": secret.hex().encode(),
            **{f"base64, offset {offset}": _base64(secret, offset) for offset in range(3)},
            "integer": str(self.integer)[:12].encode(),
            "integer in msgpack": b"\xcf" + integer[:5],
            "integer in JSONB": _numeric(self.integer),
            "real": repr(float(struct.unpack(">d", self._real(0))[0]))[:9].encode(),
            "real in msgpack": b"\xcb" + self._real(0)[:5],
        }

    def within(self, text: str) -> bool:
        """Return whether anything secret is in `text`, as it is or encoded."""
        data = text.encode(errors="replace")
        return any(needle in data for needle in (self.secret.encode(), *self.encoded_secrets().values()))

    def _real(self, number: int) -> bytes:
        return (0x3FF << 52 | self.real | number).to_bytes(8, "big")


def _base64(word: bytes, offset: int) -> bytes:
    """Return the characters that stand for `word` alone, `offset` bytes after a multiple of three."""
    text = base64.b64encode(bytes(offset) + word)
    return text[(offset * 8 + 5) // 6 : (offset + len(word)) * 8 // 6]


def _numeric(number: int) -> bytes:
    """Return how a PostgreSQL `numeric` of 19 digits begins: its short header and three groups of four digits."""
    digits = str(number).zfill(20)
    groups = [int(digits[start : start + 4]) for start in range(0, 12, 4)]
    return struct.pack("<H3H", 0x8000 | len(digits) // 4 - 1, *groups)
