"""Look through one stored value: which sensitive values and which kinds of things are in it. Nothing of it is kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

import filetype

from discreet.errors import ScanError
from discreet.redaction.placeholders import SECRET, written
from discreet.scanning.messages import ENCRYPTED, MEDIA, PICKLES, RUNNABLE_PICKLES, as_message, kinds_of
from discreet.scanning.recent import Recent
from discreet.scanning.texts import NOTHING, Texts, is_persons, number_text
from discreet.scanning.values import (
    Decoded,
    Foreign,
    Opaque,
    Pickled,
    Sealed,
    decode,
    decode_typed,
    is_array,
    texts_of_array,
)
from discreet.scanning.values.decoding import MAX_VALUE_BYTES
from discreet.scanning.values.msgpack import unpack_message

ENGINE_FIELDS: Final = frozenset({"v", "id", "ts", "channel_versions", "versions_seen", "updated_channels"})
"""Of a checkpoint, what its engine keeps beside the values of channels."""

SERIALIZED: Final = frozenset({"msgpack", "json", "pickle", "bytes", "bytearray", "null"})
"""What LangGraph calls what it has serialized; with a cipher after a plus sign it is encrypted."""

READABLE: Final = re.compile(r"[^\x00-\x1f\x7f\ufffd]{12,}")
"""Runs of text in bytes that nothing else can be made of. Of random bytes few are that long."""

SECRET_CLASSES: Final = frozenset(
    {"pydantic.SecretStr", "pydantic.types.SecretStr", "pydantic.SecretBytes", "pydantic.types.SecretBytes"}
)
UNSEARCHED: Final = ("uuid.UUID", "datetime.", "zoneinfo.")
"""Objects of ids and times: what they are made of is nobody's, however it reads."""
KNOWN_MESSAGES: Final = 100_000
"""That are remembered by their digests, some 300 bytes each."""
_LEAST_NAME: Final = 5


@dataclass
class Seen:
    """What was in a value."""

    types: Counter[str] = field(default_factory=Counter)
    """Sensitive values, by type."""
    kinds: Counter[str] = field(default_factory=Counter)
    """Messages and other things, see `discreet.scanning.messages`."""
    errors: list[str] = field(default_factory=list)
    """Why something in it can't be read."""

    def add(self, other: Seen) -> None:
        """Take in what was in a part of it."""
        if other.types:
            self.types.update(other.types)
        if other.kinds:
            self.kinds.update(other.kinds)
        self.errors += other.errors


class Inspector:
    """Looks through values."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._messages: Recent[bytes, Seen] = Recent(KNOWN_MESSAGES)

    def look(
        self,
        data: bytes | str | None,
        *,
        name: str | None = None,
        kind: str | None = None,
        without: Collection[str] = (),
    ) -> Seen:
        """Return what is in a stored value: of `kind`, as a serializer calls it, or of a kind that it shows itself.

        Of a dict, what is under the names of `without` is not looked at.

        What can't be decoded is still searched as text, so that a damaged value hides nothing.
        """
        seen = Seen()
        if data is None:
            return seen
        try:
            decoded = self._decoded(kind, data)
        except ScanError as error:
            seen.errors.append(str(error))
            if len(data) <= MAX_VALUE_BYTES:
                self._search_bytes(data.encode("utf-8", "replace") if isinstance(data, str) else data, seen)
            return seen
        if without and isinstance(decoded.value, dict):
            decoded.value = {key: value for key, value in decoded.value.items() if key not in without}
        self.walk(decoded, seen, name)
        return seen

    def walk(self, decoded: Decoded, seen: Seen, name: str | None = None) -> None:
        """Add what is in a decoded value to `seen`. Containers that are in it many times count once."""
        done: set[int] = set()
        told: set[int] = set()
        """Fields of messages that have been counted: of an object, the dict that it is made of."""
        stack: list[tuple[Any, str | None]] = [(decoded.value, name)]
        while stack:
            value, called = stack.pop()
            if isinstance(value, (dict, list, tuple, set, Foreign)):
                if id(value) not in done:
                    done.add(id(value))
                    if id(value) not in told:
                        for kind in kinds_of(value):
                            seen.kinds[kind] += 1
                        if (message := as_message(value)) is not None:
                            told.add(id(message.fields))
                    stack.extend(self._inside(value, called, seen))
            elif isinstance(value, Seen):
                seen.add(value)
            elif isinstance(value, Pickled):
                seen.kinds[RUNNABLE_PICKLES if value.would_run else PICKLES] += 1
                stack.append((value.value, called))
            else:
                self._leaf(value, called, seen)

    def look_number(self, text: str, name: str | None) -> Seen:
        """Return what a number is, under its name."""
        types = self._texts.find(text, name).types
        return Seen(Counter(types if is_persons(text, name, types) else ()))

    def _decoded(self, kind: str | None, data: bytes | str) -> Decoded:
        return decode_typed(kind, data, look=self._message) if kind and isinstance(data, bytes) else decode(data)

    def _message(self, data: bytes) -> Seen:
        """Return what is in a message. Every version of a conversation has the same ones again."""
        digest = blake2b(data, digest_size=16).digest()
        seen = self._messages.get(digest)
        if seen is None:
            seen = Seen()
            self.walk(Decoded("msgpack", unpack_message(data)), seen)
            self._messages.put(digest, seen)
        return seen

    def _leaf(self, value: Any, name: str | None, seen: Seen) -> None:
        if isinstance(value, str):
            self._text(value, name, seen)
        elif is_array(value):
            for item in texts_of_array(value):
                self._text(item, name, seen)
        elif isinstance(value, (bytes, Opaque)):
            self._nested(bytes(value if isinstance(value, bytes) else value.data), name, seen)
        elif isinstance(value, Sealed):
            seen.kinds[ENCRYPTED] += 1
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and (text := number_text(value)):
            seen.add(self.look_number(text, name))

    def _inside(self, value: Any, name: str | None, seen: Seen) -> Iterator[tuple[Any, str | None]]:
        """Yield the parts of a container, with what each is called. Its keys are looked at at once."""
        if isinstance(value, Foreign):
            if not self._is_settled(value, seen):
                yield value.arg, name
        elif isinstance(value, dict):
            for key, item in value.items():
                if isinstance(key, str) and len(key) >= _LEAST_NAME:
                    self._text(key, None, seen)
                elif isinstance(key, (int, bytes, tuple)):
                    yield key, None
                yield item, key if isinstance(key, str) else name
        elif (pair := typed_pair(value)) is not None:
            self._add(pair[1], name, pair[0], seen)
        else:
            for item in value:
                yield item, name

    def _is_settled(self, value: Foreign, seen: Seen) -> bool:
        """Return whether nothing is to be looked for within an object: it is one that tells by its class what it is."""
        if value.name in SECRET_CLASSES and isinstance(value.arg, str):
            seen.types.update([] if value.arg in ("", written(SECRET)) else [SECRET])
            return True
        return value.name.startswith(UNSEARCHED)

    def _text(self, text: str, name: str | None, seen: Seen) -> None:
        found = self._texts.find(text, name)
        if found is NOTHING:
            return
        seen.types.update(found.types)
        if found.media:
            seen.kinds[MEDIA] += found.media

    def _nested(self, data: bytes, name: str | None, seen: Seen) -> None:
        """Look through bytes within a value."""
        if not data:
            return
        if filetype.guess(data[:512]) is not None:
            seen.kinds[MEDIA] += 1
            return
        self._add(data, name, None, seen)

    def _add(self, data: bytes, name: str | None, kind: str | None, seen: Seen) -> None:
        try:
            decoded = self._decoded(kind, data)
        except ScanError as error:
            seen.errors.append(str(error))
            self._search_bytes(data, seen)
            return
        if decoded.form == "bytes":
            self._search_bytes(data, seen)
        else:
            self.walk(decoded, seen, name)

    def _search_bytes(self, data: bytes, seen: Seen) -> None:
        """Search the runs of text in bytes."""
        for run in READABLE.finditer(data.decode("utf-8", "replace")):
            self._text(run[0], None, seen)


def typed_pair(value: Any) -> tuple[str, bytes] | None:
    """Return a serializer's kind and bytes, as savers in memory keep them within their own data."""
    if not isinstance(value, (list, tuple)) or len(value) != 2 or not isinstance(value[1], bytes):
        return None
    kind = value[0]
    if isinstance(kind, str) and kind.partition("+")[0] in SERIALIZED:
        return str(kind), bytes(value[1])
    return None
