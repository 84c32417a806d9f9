"""Redact objects of any shape: what is known is rebuilt, what is not known does not pass."""

from __future__ import annotations

import dataclasses
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, SecretBytes, SecretStr

from discreet.ports import TextRedactor
from discreet.redaction.blocks import without_shared
from discreet.redaction.id_forms import NEUTRAL, is_id, is_named_id, is_secret, told_by_name
from discreet.redaction.message_codec import Visit, rebuilt
from discreet.redaction.placeholders import BYTES, SECRET, UNKNOWN, issue

MAX_DEPTH = 50
"""No JSON that people or models write is nested deeper; what is, was made to exhaust the stack."""

MAX_INTEGER_BITS = 10_000
"""About 3,000 digits. Beyond 4,300 Python refuses to write an integer out (`sys.set_int_max_str_digits`)."""

MAX_NAMED_CHARS = 256
"""A value that its name could tell to be sensitive, such as a password, is shorter. What is longer tells by itself."""

MEDIA_NAMES = frozenset({"base64", "b64_json", "file_data", "image_data", "audio_data"})
"""Where content blocks of the providers keep their bytes."""
DATA_URL = re.compile(r"data:[\w.+/;=-]{0,200}base64,")
"""RFC 2397."""
PAYLOAD = re.compile(r"[A-Za-z0-9+/_-]{512,}={0,2}")
"""Base64 that is longer than any token."""


TEXT_BLOCKS = frozenset({"text", "input_text", "output_text"})
"""Types of content blocks that hold text."""

RECORDINGS = frozenset({"audio", "input_audio"})
"""Types of content blocks that hold a recording. What was said in it, its `transcript`, is kept no more than the sound."""

OPAQUE = (((bytes, bytearray, memoryview), BYTES), ((SecretStr, SecretBytes), SECRET))
"""Types that no text can be read from, or must not be."""


Rebuild = Callable[[Any, Visit], Any]
"""Returns the redacted copy of a container, made with what redacts its parts; None leaves it to the walker."""


def redact_object(value: Any, redactor: TextRedactor, *, rebuild: Rebuild | None = None) -> Any:
    """Return a copy of `value` in which all text went through `redactor`, dict keys included.

    A value is also read together with its key, so that the value of `{"password": …}` is found. Numbers that read as a phone
    or card number become its placeholder. Messages, `Send`, `Command` and `Interrupt` keep their kind, with tool calls,
    content blocks, artifacts and metadata redacted; dataclasses and pydantic models become dicts of their fields, an
    exception its class name and redacted message. Everything else fails closed: bytes, media payloads and transcripts of recordings become
    `<BYTES>`; other types, what can't be read or put together again, cycles, and what lies more than `MAX_DEPTH` levels
    deep become `<UNKNOWN>`. `rebuild` is asked first for each container: it knows kinds that the walker doesn't, or knows better.

    Example:
        >>> from discreet.redaction import Redactor
        >>> redact_object({"to": ["ann@example.com", 7], "card": 4111111111111111}, Redactor())
        {'to': ['<EMAIL>', 7], 'card': '<CARD>'}
    """
    return _Walk(redactor, rebuild).visit(value)


class _Walk:
    """One traversal. Containers seen before are not walked again, so shared ones can't multiply the work."""

    def __init__(self, redactor: TextRedactor, rebuild: Rebuild | None) -> None:
        self._redactor = redactor
        self._known = rebuild
        self._open: set[int] = set()
        self._done: dict[tuple[int, str | None], tuple[Any, Any]] = {}
        """Id of a container and its name -> itself, kept so that the id stays its own, and its copy."""

    def visit(self, value: Any, name: str | None = None) -> Any:
        """Return the copy of a value that stands under `name`."""
        if value is None or isinstance(value, (bool, date, time, timedelta, UUID)):
            return value
        if isinstance(value, Enum):
            return self.visit(value.value, name)
        if isinstance(value, (str, PurePath)):
            return self._text(str.__str__(value) if isinstance(value, str) else str(value), name)
        if isinstance(value, (int, float, Decimal)):
            return self._number(value, name)
        for opaque, kind in OPAQUE:
            if isinstance(value, opaque):
                return issue(kind)
        return self._container(value, name)

    def _text(self, text: str, name: str | None) -> str:
        if DATA_URL.match(text) or (name in MEDIA_NAMES and text):
            return issue(BYTES)
        if PAYLOAD.match(text):
            return issue(BYTES).join(self._redactor.redact(said) if said else "" for said in PAYLOAD.split(text))
        if is_secret(text, name):
            return issue(SECRET)
        if is_id(text, name):
            return text
        if is_named_id(text, name):
            return self._behind(NEUTRAL, text)
        alone = self._redactor.redact(text)
        if name and 0 < len(text) <= MAX_NAMED_CHARS and told_by_name(name, found=alone != text):
            named = self._behind(f"{name}: ", text)
            alone = alone if named == text else named
        return alone

    def _behind(self, said: str, text: str) -> str:
        """Return a text redacted as it stands behind another, which tells what it is."""
        read = self._redactor.redact(said + text)
        if read.endswith(text):
            return text
        return read.removeprefix(said) if read.startswith(said) else issue(UNKNOWN)

    def _number(self, value: float | Decimal, name: str | None) -> Any:
        """Return the number, or a placeholder if it is a sensitive one when written out."""
        if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
            return issue(UNKNOWN)
        written = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        redacted = self._text(written, name)
        return value if redacted == written else redacted

    def _container(self, value: Any, name: str | None) -> Any:
        key = (id(value), name)
        if key in self._done:
            return self._done[key][1]
        if id(value) in self._open or len(self._open) >= MAX_DEPTH:
            return issue(UNKNOWN)
        self._open.add(id(value))
        try:
            copy = self._known(value, self.visit) if self._known is not None else None
            copy = self._rebuild(value, name) if copy is None else copy
        except Exception:  # noqa: BLE001  # fails closed: an object of somebody else's may raise anything when it is read
            copy = issue(UNKNOWN)
        self._open.remove(id(value))
        self._done[key] = (value, copy)
        return copy

    def _rebuild(self, value: Any, name: str | None) -> Any:
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, (list, tuple, deque)):
            items = [self.visit(item, name) for item in self._apart(value)]
            return tuple(items) if isinstance(value, tuple) else items
        if isinstance(value, (set, frozenset)):
            return {self._key(item) for item in value}
        if isinstance(value, BaseException):
            return f"{type(value).__name__}: {self._redactor.redact(str(value))}"
        copy = rebuilt(value, self.visit)
        if copy is not None:
            return copy
        return self._mapping({field: getattr(value, field, None) for field in _field_names(value)})

    def _apart(self, value: Sequence[Any]) -> Sequence[Any]:
        """Return the items of a list; of blocks of text, without what lies in several of them."""
        places = [at for at, item in enumerate(value) if isinstance(item, dict) and item.get("type") in TEXT_BLOCKS]
        texts = [value[at].get("text") for at in places]
        if len(texts) < 2 or not all(isinstance(text, str) and text for text in texts):
            return value
        apart = dict(zip(places, without_shared(texts, self._redactor), strict=True))
        return [{**item, "text": apart[at]} if at in apart else item for at, item in enumerate(value)]

    def _mapping(self, value: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return the dict with redacted keys. Keys that became equal are numbered, so that no entry is lost."""
        copy: dict[Any, Any] = {}
        if isinstance(kind := value.get("type"), str) and kind in RECORDINGS and value.get("transcript"):
            value = {**value, "transcript": b""}
        for key, item in value.items():
            unique = redacted = self._key(key)
            number = 1
            while unique in copy:
                number += 1
                unique = f"{redacted}#{number}"
            copy[unique] = self.visit(item, key if isinstance(key, str) else None)
        return copy

    def _key(self, key: Any) -> Any:
        """Return a key redacted. Only scalars are known to stay hashable and harmless."""
        known = (str, int, float, Decimal, date, time, timedelta, UUID, bytes)
        return self.visit(key) if key is None or isinstance(key, known) else issue(UNKNOWN)


def _field_names(value: Any) -> list[str]:
    """Return the names of the fields of a pydantic model or dataclass.

    Raises:
        TypeError: It is neither, or a message of a kind that nobody knows.
    """
    if isinstance(value, BaseModel) and not isinstance(value, BaseMessage):
        return [*type(value).model_fields, *(value.__pydantic_extra__ or {})]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [field.name for field in dataclasses.fields(value)]
    raise TypeError(type(value).__name__)
