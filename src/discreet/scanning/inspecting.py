"""Look through one stored value: which sensitive values and which kinds of things are in it. Nothing of it is kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Any, Final

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
    Room,
    Sealed,
    Stream,
    bytes_of_array,
    decode,
    decode_typed,
    is_array,
    is_ascii,
    numbers_of_array,
    spelled,
    texts_of_array,
)
from discreet.scanning.values.decoding import MAX_VALUE_BYTES
from discreet.scanning.values.media import said_in
from discreet.scanning.values.msgpack import unpack_message
from discreet.scanning.values.readable import runs

ENGINE_FIELDS: Final = frozenset({"v", "id", "ts", "channel_versions", "versions_seen", "updated_channels"})
"""Of a checkpoint, what its engine keeps beside the values of channels."""

SERIALIZED: Final = frozenset({"msgpack", "json", "pickle", "bytes", "bytearray", "null"})
"""What LangGraph calls what it has serialized; with a cipher after a plus sign it is encrypted."""

SECRET_CLASSES: Final = frozenset(
    {"pydantic.SecretStr", "pydantic.types.SecretStr", "pydantic.SecretBytes", "pydantic.types.SecretBytes"}
)
UNSEARCHED: Final = ("uuid.UUID", "datetime.", "zoneinfo.")
"""Objects of ids and times: what they are made of is nobody's, however it reads."""
KNOWN_MESSAGES: Final = 100_000
"""That are remembered by their digests, some 300 bytes each."""
_LEAST_NAME: Final = 5
MAX_WITHIN: Final = 20
"""Values in bytes within each other: a picture in msgpack that is compressed is three."""

ITEMS, KEYS, ANY = "[]", "{}", ".*"
"""In a path: the items of a list, the keys of a dict, what stands under a key that is no text."""
_FIELD: Final = re.compile(r"(?=.{1,40}\Z)[^\W\d](?:[^\W\d]|-)*(?:(?<=[^\W_])[0-9])?")
"""How programs name fields: one word with a digit at most, as in `address2`. More digits, and those behind a hyphen, are of ids."""

Path = tuple["Path | None", str]
"""Where a value stands: within what, and how it is called there."""


@dataclass
class Seen:
    """What was in a value."""

    types: Counter[str] = field(default_factory=Counter)
    """Sensitive values, by type."""
    kinds: Counter[str] = field(default_factory=Counter)
    """Messages and other things, see `discreet.scanning.messages`."""
    places: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Sensitive values, by the names that they stand under, such as `.user.mail`, and type."""
    errors: list[str] = field(default_factory=list)
    """Why something in it can't be read."""
    root: str = ""
    """How the whole of it is called in `places`."""

    def add(self, other: Seen, at: str = "") -> None:
        """Take in what was in a part of it, that stands there."""
        if other.kinds:
            self.kinds.update(other.kinds)
        self.errors += other.errors
        for (place, name), count in other.places.items():
            self.types[name] += count
            self.places[at + place, name] += count

    def found(self, types: Iterable[str], at: str = "") -> None:
        """Take in values that stand there."""
        for name in types:
            self.types[name] += 1
            self.places[at, name] += 1


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
        channel: str | None = None,
        without: Collection[str] = (),
    ) -> Seen:
        """Return what is in a stored value: of `kind`, as a serializer calls it, or of a kind that it shows itself.

        In `places` it is called as its `channel` is. Of a dict, what is under the names of `without` is not looked at.

        What can't be decoded is still searched as text, so that a damaged value hides nothing.
        """
        look = _Look(self._texts, self._message, Room())
        if data is not None:
            path = None if channel is None else (None, channel)
            look.seen.root = look.shown(path)
            look.value(data, kind, name, path, without=without)
        return look.seen

    def look_number(self, text: str, name: str | None) -> Seen:
        """Return what a number is, under its name."""
        look = _Look(self._texts, self._message, Room())
        look.number(text, name, None)
        return look.seen

    def _message(self, data: bytes) -> Seen:
        """Return what is in a message. Every version of a conversation has the same ones again."""
        digest = blake2b(data, digest_size=16).digest()
        seen = self._messages.get(digest)
        if seen is None:
            look = _Look(self._texts, self._message, Room())
            look.walk(Decoded("msgpack", unpack_message(data)), None, None)
            seen = look.seen
            self._messages.put(digest, seen)
        return seen


class _Look:
    """A look through one value."""

    def __init__(self, texts: Texts, message: Callable[[bytes], Seen], room: Room) -> None:
        self.seen = Seen()
        self._texts = texts
        self._message = message
        self._room = room
        self._within = 0

    def value(
        self, data: bytes | str, kind: str | None, name: str | None, path: Path | None, *, without: Collection[str] = ()
    ) -> None:
        """Look through something stored, or through bytes within something."""
        try:
            decoded = self._decoded(kind, data)
        except ScanError as error:
            self.seen.errors.append(str(error))
            if len(data) <= MAX_VALUE_BYTES:
                self._search(data.encode("utf-8", "replace") if isinstance(data, str) else data, path)
            return
        if without and isinstance(decoded.value, dict):
            decoded.value = {key: value for key, value in decoded.value.items() if key not in without}
        self._within += 1
        match decoded.form:
            case "stream":
                self._stream(decoded.value, name, path)
            case "media":
                self.seen.kinds[MEDIA] += 1
                for said in said_in(decoded.value.data, self._room):
                    self._search(said, path)
            case "bytes":
                self._search(decoded.value.data, path)
            case _:
                self.walk(decoded, name, path)
        self._within -= 1

    def walk(self, decoded: Decoded, name: str | None, path: Path | None) -> None:
        """Look through a decoded value. Containers that are in it many times count once."""
        seen = self.seen
        done: set[int] = set()
        told: set[int] = set()
        """Fields of messages that have been counted: of an object, the dict that it is made of."""
        stack: list[tuple[Any, str | None, Path | None]] = [(decoded.value, name, path)]
        while stack:
            value, called, at = stack.pop()
            if isinstance(value, (dict, list, tuple, set, Foreign)):
                if id(value) not in done:
                    done.add(id(value))
                    if id(value) not in told:
                        for kind in kinds_of(value):
                            seen.kinds[kind] += 1
                        if (message := as_message(value)) is not None:
                            told.add(id(message.fields))
                    stack.extend(self._inside(value, called, at))
            elif isinstance(value, Seen):
                seen.add(value, self.shown(at) if value.places else "")
            elif isinstance(value, Pickled):
                seen.kinds[RUNNABLE_PICKLES if value.would_run else PICKLES] += 1
                stack.append((value.value, called, at))
            else:
                self._leaf(value, called, at)

    def number(self, text: str, name: str | None, path: Path | None) -> None:
        """Look at a number, under its name."""
        types = self._texts.find(text, name).types
        if types and is_persons(text, name, types):
            self.seen.found(types, self.shown(path))

    def _decoded(self, kind: str | None, data: bytes | str) -> Decoded:
        if self._within > MAX_WITHIN:
            raise ScanError("nested too deep")
        if kind and isinstance(data, bytes):
            return decode_typed(kind, data, look=self._message, room=self._room)
        return decode(data, room=self._room)

    def _leaf(self, value: Any, name: str | None, path: Path | None) -> None:
        if isinstance(value, str):
            self._text(value, name, path)
        elif is_array(value):
            for item in texts_of_array(value):
                self._text(item, name, path)
            numbers = numbers_of_array(value)
            if not self._numbers(numbers, name, path):
                look = self._search if is_ascii(numbers) else partial(self._nested, name=name)
                look(bytes_of_array(value), path=path)
        elif isinstance(value, (bytes, Opaque)):
            self._nested(bytes(value if isinstance(value, bytes) else value.data), name, path)
        elif isinstance(value, Sealed):
            self.seen.kinds[ENCRYPTED] += 1
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and (text := number_text(value)):
            self.number(text, name, path)

    def _inside(self, value: Any, name: str | None, path: Path | None) -> Iterator[tuple[Any, str | None, Path | None]]:
        """Yield the parts of a container, with what each is called and where it stands. Its keys are looked at at once."""
        if isinstance(value, Foreign):
            if not self._is_settled(value, path):
                yield value.arg, name, path
        elif isinstance(value, dict):
            for key, item in value.items():
                if isinstance(key, str) and len(key) >= _LEAST_NAME:
                    self._text(key, None, (path, KEYS))
                elif isinstance(key, (int, bytes, tuple)):
                    yield key, None, (path, KEYS)
                yield item, key if isinstance(key, str) else name, (path, key if isinstance(key, str) else ANY)
        elif (pair := typed_pair(value)) is not None:
            self.value(pair[1], pair[0], name, path)
        else:
            self._numbers(value, name, path)
            for item in value:
                yield item, name, (path, ITEMS)

    def _is_settled(self, value: Foreign, path: Path | None) -> bool:
        """Return whether nothing is to be looked for within an object: it is one that tells by its class what it is."""
        if value.name in SECRET_CLASSES and isinstance(value.arg, str):
            self.seen.found([] if value.arg in ("", written(SECRET)) else [SECRET], self.shown(path))
            return True
        return value.name.startswith(UNSEARCHED)

    def _text(self, text: str, name: str | None, path: Path | None) -> None:
        found = self._texts.find(text, name)
        if found is NOTHING:
            return
        if found.types:
            self.seen.found(found.types, self.shown(path))
        if found.media:
            self.seen.kinds[MEDIA] += found.media

    def _numbers(self, value: Sequence[Any], name: str | None, path: Path | None) -> bool:
        """Look at what a list of numbers spells, and return whether it spells something."""
        found = spelled(value)
        if found is None:
            return False
        if found.is_number:
            self.number(str(found.content), name, path)
        else:
            self.value(found.content, None, name, path)
        return True

    def _nested(self, data: bytes, name: str | None, path: Path | None) -> None:
        """Look through bytes within a value."""
        if data:
            self.value(data, None, name, path)

    def _stream(self, stream: Stream, name: str | None, path: Path | None) -> None:
        self._search(stream.head, path)
        self._nested(stream.inner, name, path)
        self._nested(stream.tail, name, path)

    def _search(self, data: bytes, path: Path | None) -> None:
        """Search the texts in bytes that are none."""
        for run in runs(data):
            self._text(run.text, None, path)

    def shown(self, path: Path | None) -> str:
        """Return where something stands, as it may be told."""
        names: list[str] = []
        while path is not None:
            path, name = path
            names.append(name if name in (ITEMS, KEYS, ANY) else f".{shown_name(name, self._texts)}")
        return "".join(reversed(names))


def typed_pair(value: Any) -> tuple[str, bytes] | None:
    """Return a serializer's kind and bytes, as savers in memory keep them within their own data."""
    if not isinstance(value, (list, tuple)) or len(value) != 2 or not isinstance(value[1], bytes):
        return None
    kind = value[0]
    if isinstance(kind, str) and kind.partition("+")[0] in SERIALIZED:
        return str(kind), bytes(value[1])
    return None


def shown_name(name: str, texts: Texts) -> str:
    """Return the name of a field as it may be told: what is a value, or may be an id or somebody's name, is not."""
    if types := texts.find(name).types:
        return written(types[0])
    return name if _FIELD.fullmatch(name) else "*"
