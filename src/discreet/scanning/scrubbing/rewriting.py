"""Rewrite one stored value: placeholders for what is sensitive, and of conversations what a redacting saver would store."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from discreet.checkpoint.channels import NO_WRITES, START, is_engine_data, is_trigger
from discreet.checkpoint.filter import REDACTED, STRUCTURED
from discreet.checkpoint.message_ids import safe_id
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.errors import ScanError
from discreet.redaction.placeholders import BYTES, SECRET, UNKNOWN, written
from discreet.redaction.threads import ThreadRedactor
from discreet.scanning.inspecting import ENGINE_FIELDS, MAX_WITHIN, SECRET_CLASSES, UNSEARCHED, typed_pair
from discreet.scanning.messages import TOOL, as_message
from discreet.scanning.scrubbing.conversations import TextOf, is_conversation, what_stays, without_content
from discreet.scanning.scrubbing.heads import engine_value
from discreet.scanning.texts import Texts, is_persons, number_text
from discreet.scanning.values import (
    Decoded,
    Foreign,
    Opaque,
    Pickled,
    Room,
    Stream,
    array_of,
    array_with,
    decode,
    decode_typed,
    encode,
    fitted,
    is_array,
    is_ascii,
    numbers_of_array,
    spelled,
)
from discreet.scanning.values.media import is_media
from discreet.scanning.values.pickles import Literal, LiteralBytes, LiteralNumber, rewrite_pickle
from discreet.scanning.values.readable import runs
from discreet.scanning.values.streams import TooLargeError

_CONVERSATIONS: Final = CheckpointPolicy().messages
_INPUT_DEPTH: Final = 2
"""How deep a conversation is in what a run begins with: a dict of channels, in a server's row within another."""

MAX_DEPTH: Final = 150
"""What is nested deeper becomes a placeholder."""

_ERROR_CLASS: Final = re.compile(r"([A-Za-z_]\w{0,80})\(")


KNOWN_FIELDS: Final = frozenset({"channel_values", *ENGINE_FIELDS})
"""Of a checkpoint, as LangGraph writes it."""

ENGINE_METADATA: Final = frozenset(
    {"source", "step", "parents", "run_id", "counters_since_delta_snapshot", "delta_writes_versioned"}
)
"""Of a checkpoint's metadata, what its engine needs."""


NEUTRAL: Final = {
    "ipaddress.IPv4Address": "0.0.0.0",  # noqa: S104  # nobody's address, and nothing is bound to it
    "ipaddress.IPv4Interface": "0.0.0.0/0",
    "ipaddress.IPv4Network": "0.0.0.0/0",
    "ipaddress.IPv6Address": "::",
    "ipaddress.IPv6Interface": "::/0",
    "ipaddress.IPv6Network": "::/0",
    "decimal.Decimal": "0",
}
"""Objects that can't be made of a placeholder: what they are made of instead, so that they stay what they are."""


class Drop(Exception):  # noqa: N818  # no error: says that nothing of a value stays
    """Nothing of this value is to stay."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a value stands."""

    channel: str | None = None
    """Of LangGraph's tables: the channel, or the column."""
    of_saver: bool = False
    """Whether it is a channel of LangGraph's, which a policy names or doesn't."""
    of_server: bool = False
    """Whether it is of a server's table, where `messages` are copies of those of threads."""
    is_open: bool = False
    """Whether a turn that isn't over is going on from it: calls and results stay then, redacted."""
    is_over: bool = True
    """Whether the thread is at rest at it, so that what was said last is an answer."""
    thread: ThreadRedactor | None = None
    """Makes the placeholders of the thread."""
    within: int = 0
    """In how many values in bytes it is."""
    room: Room = field(default_factory=Room)
    """How much may still be opened of the value."""


@dataclass
class Rewriter:
    """Rewrites values."""

    texts: Texts
    policy: CheckpointPolicy | None = None
    """Which channels are stored. None: all of them, redacted."""
    redact_id: Callable[[str], str] = field(default=lambda text: text)
    """Finds what message ids must not be."""

    def rewrite(self, kind: str | None, data: bytes | str, place: Place) -> bytes | str:
        """Return the value that is to stand in the place of `data`: the same one if nothing is to change.

        Raises:
            ScanError: It can't be taken apart, so it stays.
            Drop: Nothing of it stays.
        """
        if self._is_dropped(place):  # whatever it is
            raise Drop
        decoded = self._decoded(kind, data, place)
        made: bytes | str = data
        match decoded.form:
            case "sealed" | "null":
                pass
            case "pickle":
                made = self._pickle(decoded.value, place)
            case "stream":
                made = self._stream(decoded.value, data, place)
            case "media":
                made = written(BYTES).encode()
            case "bytes":
                made = self._opaque(decoded.value.data)
            case _:
                value = self.value(decoded.value, place)
                made = data if _same(value, decoded.value) else self._written(decoded, value, data)
        return made

    def number(self, text: str, name: str) -> str:
        """Return what stands for a number of a column."""
        return "0" if is_persons(text, name, self.texts.find(text, name).types) else text

    def checkpoint(self, kind: str | None, data: bytes | str, place: Place) -> bytes | str:
        """Return a checkpoint rewritten: the values of its channels, and nothing of what its engine made.

        Raises:
            ScanError: It can't be taken apart, so it stays.
        """
        decoded = self._decoded(kind, data, place)
        whole = decoded.value
        if not isinstance(whole, dict):
            raise ScanError("no checkpoint")
        values = whole.get("channel_values")
        made: dict[str, Any] = {}
        for channel, value in (values if isinstance(values, dict) else {}).items():
            with suppress(Drop):
                made[channel] = self.value(value, replace(place, channel=channel))
        others = {name: self._visit(item, name, place, 1) for name, item in whole.items() if name not in KNOWN_FIELDS}
        changed = {**whole, **others, **({"channel_values": made} if isinstance(values, dict) else {})}
        return data if _same(changed, whole) else self._written(decoded, changed, data)

    def metadata(self, data: bytes | str, place: Place) -> bytes | str:
        """Return the metadata of a checkpoint rewritten: with a policy only what that names, and what the engine needs.

        Raises:
            ScanError: It can't be taken apart, so it stays.
        """
        decoded = self._decoded(None, data, place)
        whole = decoded.value
        if not isinstance(whole, dict):
            raise ScanError("no metadata")
        kept = whole
        if self.policy is not None:
            kept = {
                name: item for name, item in whole.items() if name in ENGINE_METADATA or name in self.policy.metadata
            }
        made = {
            name: item if name in ENGINE_METADATA else self._visit(item, name, place, 1) for name, item in kept.items()
        }
        return data if _same(made, whole) else self._written(decoded, made, data)

    @staticmethod
    def _decoded(kind: str | None, data: bytes | str, place: Place) -> Decoded:
        if place.within > MAX_WITHIN:
            raise ScanError("nested too deep")
        is_told = kind and isinstance(data, bytes)
        return decode_typed(kind, data, room=place.room) if is_told else decode(data, room=place.room)  # type: ignore[arg-type]  # as it was asked

    @staticmethod
    def _written(decoded: Decoded, value: Any, data: bytes | str) -> bytes | str:
        written_anew = encode(replace(decoded, value=value), ascii_only=data.isascii())
        return written_anew.decode("utf-8", "surrogatepass") if isinstance(data, str) else written_anew

    def value(self, value: Any, place: Place) -> Any:
        """Return a decoded value rewritten.

        Raises:
            Drop: Nothing of it stays.
        """
        channel = place.channel
        if channel is not None and is_trigger(channel) and is_engine_data(channel, engine_value(value)):
            return value
        if channel == "__error__" and not place.is_open:
            named = _ERROR_CLASS.match(value) if isinstance(value, str) else None
            return f"{named[1]}()" if named else REDACTED
        if channel == "__pregel_tasks" and not place.is_open:
            return []
        if channel == NO_WRITES:
            return value
        if self._is_dropped(place):
            raise Drop
        return self._visit(value, channel, place, 0)

    def _is_dropped(self, place: Place) -> bool:
        """Return whether there is a policy that doesn't name the channel, which isn't one of the engine's own.

        A channel ends with its turn: an open one keeps it.
        """
        channel = place.channel
        if self.policy is None or channel is None or not place.of_saver or place.is_open:
            return False
        named = {*self.policy.messages, *self.policy.channels, STRUCTURED}
        return channel not in named and not channel.startswith("__") and not is_trigger(channel)

    def _visit(self, value: Any, name: str | None, place: Place, depth: int) -> Any:
        if depth > MAX_DEPTH:
            return written(UNKNOWN)
        if value is None or isinstance(value, (bool, str, int, float, bytes, Opaque)):
            return self._leaf(value, name, place)
        if self._is_message(value):
            alone = self._is_conversation(name, place, depth) and not place.is_open
            return self._fields(without_content(value, text_of=self._text_of(place)) if alone else value, place, depth)
        if isinstance(value, Foreign):
            return self._foreign(value, name, place, depth)
        if isinstance(value, dict):
            return self._mapping(value, place, depth, name)
        return self._list(value, name, place, depth)

    def _leaf(self, value: Any, name: str | None, place: Place) -> Any:
        if isinstance(value, str):
            return self.texts.redact(value, name, thread=place.thread)
        if is_array(value):
            return self._array(value, name, place)
        if isinstance(value, (bytes, Opaque)):
            return self._nested(value, name, place)
        text = None if value is None or isinstance(value, bool) else number_text(value)
        if text is None or not is_persons(text, name, self.texts.find(text, name).types):
            return value
        return type(value)(0)  # still a number, as whoever reads it expects

    def _array(self, value: Opaque, name: str | None, place: Place) -> Opaque:
        """Return an array rewritten: as large as it is."""
        numbers = numbers_of_array(value)
        made = self._numbers(numbers, name, place)
        if made is not numbers:
            return array_of(value, made)

        def blank(data: bytes) -> bytes:
            return fitted(self._read(data) if is_ascii(numbers) else self._bytes(data, name, place), len(data))

        return array_with(value, lambda text: self.texts.redact(text, name), blank)

    @staticmethod
    def _is_message(value: Any) -> bool:
        """Return whether a value is a message for certain: an object. A dict with a role may be anything of an application's."""
        return isinstance(value, Foreign) and as_message(value) is not None

    def _list(self, value: list[Any], name: str | None, place: Place, depth: int) -> list[Any]:
        if self._is_conversation(name, place, depth) and is_conversation(value):
            told = self.policy.direct_tools if self.policy else ()
            kept = what_stays(
                value, is_open=place.is_open, is_over=place.is_over, told_tools=told, text_of=self._text_of(place)
            )
            return [self._fields(each, place, depth + 1) for each in kept]
        pair = typed_pair(value)
        if pair is not None:
            return [value[0], self._bytes(pair[1], name, place, kind=pair[0])]
        if (made := self._numbers(value, name, place)) is not value:
            return made
        return [self._visit(item, name, place, depth + 1) for item in value]

    def _numbers(self, value: list[Any], name: str | None, place: Place) -> list[Any]:
        """Return numbers that spell another text; the same list if nothing in it is to change."""
        found = spelled(value)
        if found is None:
            return value
        content = found.content
        if isinstance(content, bytes):
            made: bytes | str = self._bytes(content, name, place)
        elif found.is_number and self.number(content, name or "") == content:
            return value
        else:
            made = self._within(content, name, place)
        return value if made == content else found.numbers(made)

    def _within(self, text: str, name: str | None, place: Place) -> str:
        """Return a text within a value rewritten, of the kind that it shows itself."""
        try:
            made = self.rewrite(None, text, replace(place, channel=name, of_saver=False, within=place.within + 1))
        except (ScanError, RecursionError):
            made = written(BYTES)
        assert isinstance(made, str), "of a text"
        return made

    def _text_of(self, place: Place) -> TextOf:
        return lambda blocks: self.texts.redact_blocks(blocks, thread=place.thread)

    def _is_conversation(self, name: str | None, place: Place, depth: int) -> bool:
        """Return whether a list of messages is the conversation of a thread, by where it stands: others are an application's."""
        channels = self.policy.messages if self.policy else _CONVERSATIONS
        here = place.of_server or place.channel in (START, *channels)
        return here and name in channels and depth <= _INPUT_DEPTH

    def _foreign(self, value: Foreign, name: str | None, place: Place, depth: int) -> Any:
        if value.name in SECRET_CLASSES:
            return Foreign(value.name, written(SECRET), value.code, value.rest)
        if value.name.startswith(UNSEARCHED):
            return value
        arg = self._visit(value.arg, name, place, depth + 1)
        if value.name in NEUTRAL and arg != value.arg:
            arg = NEUTRAL[value.name]
        return Foreign(value.name, arg, value.code, value.rest)

    def _fields(self, value: Any, place: Place, depth: int) -> Any:
        """Redact the fields of a message; its id stays one."""
        message = as_message(value)
        if message is None:  # a removal
            return value
        fields = self._mapping(message.fields, place, depth + 1, None)
        if isinstance(content := fields.get("content"), list):
            fields["content"] = [_readable(block) for block in content]
        if isinstance(message_id := message.fields.get("id"), str):
            fields["id"] = safe_id(message_id, self.redact_id)
        if message.kind == TOOL and isinstance(call := message.fields.get("tool_call_id"), str):
            fields["tool_call_id"] = safe_id(call, self.redact_id)
        if isinstance(value, Foreign):
            if isinstance(value.arg, dict):
                return Foreign(value.name, fields, value.code, value.rest)
            return Foreign(value.name, self._visit(value.arg, None, place, depth + 1), value.code, value.rest)
        if value is message.fields:
            return fields
        return {key: fields if item is message.fields else item for key, item in value.items()}

    def _mapping(self, value: dict[Any, Any], place: Place, depth: int, name: str | None) -> dict[Any, Any]:
        copy: dict[Any, Any] = {}
        for key, item in value.items():
            shown = self._key(key, place)
            unique, number = shown, 1
            while unique in copy:
                number += 1
                unique = shown + f"#{number}".encode() if isinstance(shown, bytes) else f"{shown}#{number}"
            copy[unique] = self._visit(item, key if isinstance(key, str) else name, place, depth + 1)
        return copy

    def _key(self, key: Any, place: Place) -> Any:
        """Return the key of a dict as it may be stored."""
        if isinstance(key, tuple):
            return tuple(self._key(each, place) for each in key)
        text = number_text(key) if isinstance(key, (int, float)) and not isinstance(key, bool) else None
        if text is not None:
            return (
                self.texts.redact(text, thread=place.thread)
                if is_persons(text, None, self.texts.find(text).types)
                else key
            )
        if isinstance(key, bytes):
            return self._bytes(key, None, place)
        return self.texts.redact(key, thread=place.thread) if isinstance(key, str) else key

    def _nested(self, value: bytes | Opaque, name: str | None, place: Place) -> Any:
        data = value if isinstance(value, bytes) else value.data
        made = self._bytes(data, name, replace(place, channel=name, of_saver=False))
        return made if isinstance(value, bytes) else Opaque(made, value.code)

    def _bytes(self, data: bytes, name: str | None, place: Place, *, kind: str | None = None) -> bytes:
        """Return bytes within a value rewritten: of a kind that they show themselves, unless one is told."""
        try:
            made = self.rewrite(kind, data, replace(place, within=place.within + 1))
        except (TooLargeError, RecursionError):
            made = written(BYTES).encode()
        except ScanError:
            made = self._opaque(data)
        assert isinstance(made, bytes), "of bytes"
        return made

    def _stream(self, stream: Stream, data: bytes | str, place: Place) -> bytes | str:
        """Return what is compressed, with other content if that is rewritten."""
        inner = self._bytes(stream.inner, place.channel, place)
        tail = self._bytes(stream.tail, place.channel, place)
        is_same = inner == stream.inner and tail == stream.tail and not self._holds(stream.head)
        return data if is_same else stream.packed(inner) + tail

    def _opaque(self, data: bytes) -> bytes:
        """Return bytes that nobody can take apart, unless there is something in them that must not stay."""
        return written(BYTES).encode() if is_media(data) else self._read(data)

    def _read(self, data: bytes) -> bytes:
        """Return bytes, unless something can be read in them that must not stay."""
        return written(BYTES).encode() if self._holds(data) else data

    def _holds(self, data: bytes) -> bool:
        """Return whether something in bytes can be read that must not stay."""
        return any(self.texts.find(run.text) != ((), 0) for run in runs(data))

    def _fitted(self, made: bytes, data: bytes) -> bytes:
        """Return what stands for `data`, as many bytes: what was made, or if that is nothing, `data` with each value overwritten."""
        if made != written(BYTES).encode():
            return fitted(made, len(data))
        filled = bytearray(data)
        for run in runs(data):
            if filled[run.start : run.end] != data[run.start : run.end]:  # read in another order of bytes before
                continue
            text = run.text
            for finding in self.texts.findings(text):
                size = finding.end - finding.start
                text = text[: finding.start] + written(finding.type)[:size].ljust(size) + text[finding.end :]
            filled[run.start : run.end] = fitted(text.encode(run.codec), run.end - run.start)
        return fitted(made, len(data)) if self._holds(bytes(filled)) else bytes(filled)

    def _pickle(self, pickled: Pickled, place: Place) -> bytes:
        """Return a pickle with placeholders in its texts. What it is made of stays: its classes may need all of it."""
        texts: dict[int, str] = {}
        contents: dict[int, bytes] = {}
        numbers: set[int] = set()
        for value, name, has_size in _literals(pickled.value, place.channel):
            if isinstance(value, list):
                if self._numbers(value, name, place) is not value:
                    numbers |= {each.at for each in value if each is not None}
            elif isinstance(value, LiteralBytes):
                made = self._nested(bytes(value), name, place)
                if made != value:
                    made = self._fitted(made, value) if has_size else made
                    into: dict[int, Any] = texts if value.in_text else contents
                    into[value.at] = made.decode("latin-1") if value.in_text else made
            elif isinstance(value, LiteralNumber):
                if (text := number_text(int(value))) and is_persons(text, name, self.texts.find(text, name).types):
                    numbers.add(value.at)
            elif (text := self.texts.redact(str(value), name, thread=place.thread)) != str(value):
                texts[value.at] = text
        return rewrite_pickle(pickled, texts, contents, numbers) if texts or contents or numbers else pickled.data


def _readable(block: Any) -> Any:
    """Return a block of a message's content as a model takes it: one whose image or file is gone is a text."""
    stack: list[Any] = [block] if isinstance(block, dict) else []
    while stack:
        each = stack.pop()
        if each == written(BYTES):
            return {"type": "text", "text": written(BYTES)}
        if isinstance(each, (dict, list)):
            stack += each.values() if isinstance(each, dict) else each
    return block


def _literals(value: Any, name: str | None) -> Iterator[tuple[Any, str | None, bool]]:
    """Yield the texts, numbers and bytes of a pickle, and lists of numbers that are bytes, with the name that each stands under.

    The last says whether it is of a NumPy array, which has to stay as long as it is.
    """
    done: set[int] = set()
    stack: list[tuple[Any, str | None, bool]] = [(value, name, False)]
    while stack:
        value, name, has_size = stack.pop()
        if isinstance(value, (Literal, LiteralNumber, LiteralBytes)):
            yield value, name, has_size
        elif isinstance(value, (dict, list, Foreign)) and id(value) not in done:
            done.add(id(value))
            if isinstance(value, list):
                if spelled(value) is not None:
                    yield value, name, has_size
                stack += [(item, name, has_size) for item in value]
            elif isinstance(value, dict):
                stack += [(key, None, has_size) for key in value]
                stack += [(item, str(key) if isinstance(key, str) else name, has_size) for key, item in value.items()]
            else:
                stack.append((value.arg, name, has_size or value.name.startswith("numpy.")))


def _same(left: Any, right: Any) -> bool:
    """Return whether two decoded values are equal, in their types too."""
    try:
        return bool(left == right)
    except RecursionError:
        return False
