"""Find sensitive values in single texts, and put placeholders there, with what was searched before remembered by digest."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from discreet.checkpoint.message_ids import ENGINE_ID
from discreet.redaction.blocks import joined_safely
from discreet.redaction.clean_texts import digest_of
from discreet.redaction.engine import Redactor
from discreet.redaction.findings import Finding
from discreet.redaction.id_forms import NEUTRAL, is_id, is_name_of_id, is_named_id, is_secret, told_by_name
from discreet.redaction.placeholders import BYTES, SECRET, written
from discreet.redaction.threads import ThreadRedactor
from discreet.redaction.walker import DATA_URL, MAX_NAMED_CHARS, MEDIA_NAMES, PAYLOAD
from discreet.scanning.recent import Recent
from discreet.state.text import storable

LEAST_CHARS: Final = 4
"""No shorter text is a value by itself, and few are under a name."""
SHORT_CHARS: Final = 64
"""Texts up to here are remembered as they are, which is no more than a digest takes."""
LEAST_NUMBER: Final = 10**6
"""No smaller number has enough digits to be a person's."""

_TELLING: Final = re.compile(
    r"phone|tele?(?:fon)?(?:_|$|n)|mobile|cell|fax|whatsapp|contact|card|iban|account|ssn|social|passport|tax|national|inn$|snils|cccd|cmnd"
    r"|sdt|so_?dien_?thoai|điện|телефон|карт|паспорт|手机|电话|電話|卡号|卡號|身份证|身分證",
    re.IGNORECASE,
)
"""Names of numbers that are a person's."""
_CARD_DIGITS: Final = range(15, 17)

_ENGINE_MADE: Final = re.compile(
    rf"{ENGINE_ID.pattern}|(?:[\w-]{{1,64}}:(?:{ENGINE_ID.pattern})\|?)+|[0-9]{{32}}\.[0-9.e-]{{1,40}}", re.IGNORECASE
)
"""Ids of LangGraph's; namespaces, which are names of nodes with the ids of their tasks; versions of channels."""


class Found(NamedTuple):
    """What a text holds."""

    types: tuple[str, ...] = ()
    """Of the values in it, one each."""
    media: int = 0
    """Images, recordings and files in it, as base64."""


NOTHING: Final = Found()


class Texts:
    """Searches texts. Most of a database's texts are in it many times: in every version of a conversation."""

    def __init__(self, redactor: Redactor, *, known: int = 200_000) -> None:
        """Remember at most `known` texts, some 100 bytes each: short ones, and digests of others."""
        self._redactor = redactor
        self._known: Recent[bytes | tuple[str, str], Found] = Recent(known)

    def find(self, text: str, name: str | None = None) -> Found:
        """Return what `text` holds that stands under `name`."""
        if len(text) < LEAST_CHARS or is_id(text, name) or _is_engines(text, name):
            return NOTHING
        named = name if name is not None and _tells(text, name) else ""
        key = (named, text) if len(text) <= SHORT_CHARS else digest_of(named, text)
        found = self._known.get(key)
        if found is None:
            found = self._search(text, name)
            self._known.put(key, found)
        return found

    def redact(self, text: str, name: str | None = None, *, thread: ThreadRedactor | None = None) -> str:
        """Return `text` with placeholders, tagged ones within a thread. What `find` finds in the result is nothing."""
        if self.find(text, name) is NOTHING:
            return storable(text)
        parts = []
        for is_media, part in _parts(text, name):
            parts.append(written(BYTES) if is_media else self._replaced(storable(part), name, thread))
        return "".join(parts)

    def redact_blocks(self, blocks: Sequence[str], *, thread: ThreadRedactor | None = None) -> str:
        """Return the texts of one message as one, as `redact` does: each by itself, and all of them together."""
        return self.redact(joined_safely(blocks, self), thread=thread)

    def findings(self, text: str) -> list[Finding]:
        """Return what is found in storable `text`."""
        return self._findings(text, None)

    def _search(self, text: str, name: str | None) -> Found:
        types: list[str] = []
        media = 0
        for is_media, part in _parts(text, name):
            if is_media:
                media += 1
            else:
                types += [finding.type for finding in self._findings(storable(part), name)]
        return Found(tuple(types), media) if types or media else NOTHING

    def _replaced(self, text: str, name: str | None, thread: ThreadRedactor | None) -> str:
        parts: list[str] = []
        done = 0
        for finding in self._findings(text, name):
            label = (thread or self._redactor).label(text, finding)
            parts += text[done : finding.start], label
            done = finding.end
        return "".join([*parts, text[done:]])

    def _findings(self, text: str, name: str | None) -> list[Finding]:
        if is_secret(text, name):
            return [Finding(SECRET, 0, len(text))]
        if is_named_id(text, name):
            return self._behind(NEUTRAL, text)
        findings = self._redactor.findings(text)
        if not name or not 0 < len(text) <= MAX_NAMED_CHARS or not told_by_name(name, found=bool(findings)):
            return findings
        return self._behind(f"{name}: ", text) or findings

    def _behind(self, said: str, text: str) -> list[Finding]:
        """Find what is in a text that stands behind another, which tells what it is."""
        before = len(said)
        found = self._redactor.findings(said + text)
        return [
            Finding(each.type, max(0, each.start - before), each.end - before) for each in found if each.end > before
        ]


def _tells(text: str, name: str) -> bool:
    """Return whether what a text holds may depend on the name that it stands under."""
    return (len(text) <= MAX_NAMED_CHARS and len(name) <= MAX_NAMED_CHARS) or name in MEDIA_NAMES


def _is_engines(text: str, name: str | None) -> bool:
    """Return whether an engine has made a text. A UUID under the name of a secret is one, unless it is called the id of that."""
    return bool(_ENGINE_MADE.fullmatch(text)) and (is_name_of_id(name) or not is_secret(text, name))


def is_persons(number: str, name: str | None, types: Collection[str]) -> bool:
    """Return whether a number in which a redactor sees values of `types` is a person's, by the name that it stands under.

    A bare number of ten digits is an order, an id or a time as often as it is a telephone number; only a card number has a checksum.
    """
    called = name or ""
    if _TELLING.search(called):
        return bool(types)
    return "CARD" in types and len(number) in _CARD_DIGITS and not called.lower().endswith("id")


def number_text(value: float) -> str | None:
    """Return a number as the text that a person would know it by; None if it has too few digits for that."""
    if isinstance(value, float):
        if not value.is_integer():
            return None
        value = int(value)
    return str(int(value)) if LEAST_NUMBER <= abs(value) < 10**40 else None


def _parts(text: str, name: str | None) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a text, and whether each is an image, a recording or a file in base64."""
    if DATA_URL.match(text) or (name in MEDIA_NAMES and text):
        yield True, text
        return
    done = 0
    for payload in PAYLOAD.finditer(text):
        if payload.start() > done:
            yield False, text[done : payload.start()]
        yield True, payload[0]
        done = payload.end()
    if done < len(text):
        yield False, text[done:]
