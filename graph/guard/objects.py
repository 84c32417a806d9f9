"""Redact what a graph gives out so that servers and clients can still work with it: ids and names keep their places."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.types import Interrupt
from pydantic import ValidationError

from discreet.errors import RunFailedError
from discreet.graph.deliveries import DELIVERY
from discreet.graph.guard.failures import told
from discreet.graph.guard.texts import RunTexts
from discreet.nodes.state_messages import KEPT_METADATA
from discreet.redaction.message_codec import KINDS, Visit
from discreet.redaction.walker import redact_object
from discreet.state.reasoning import without_reasoning

CACHED_MESSAGES: Final = 2_000
"""Copies of messages that one run remembers, so that a history is not copied again for every event."""

SEALED: Final = frozenset(
    {"signature", "thought_signature", "thoughtsignature", "encrypted_content", "encrypted_index"}
)
"""What providers sign or encrypt of a model's reasoning. Nobody but the provider can read it, so nobody can redact it."""
ERROR_CLASS: Final = re.compile(r"[A-Za-z_]\w*(?=\()")
"""With what the `repr` of an exception begins."""

SEALED_BLOCKS: Final = frozenset({"redacted_thinking"})


class RunObjects:
    """Redacts the objects of one run."""

    def __init__(self, texts: RunTexts) -> None:
        self.texts = texts
        self._copies: dict[bytes, BaseMessage] = {}

    def __repr__(self) -> str:
        return "RunObjects()"

    def redact(self, value: Any) -> Any:
        """Return a redacted copy of `value`, see `redact_object`. Messages and interrupts keep their ids."""
        return redact_object(value, self.texts, rebuild=self._rebuilt)

    def fields(self, value: Any, kept: frozenset[str]) -> Any:
        """Return a redacted copy of a dict whose values under `kept` are the engine's own: ids, names, numbers."""
        if not isinstance(value, Mapping):
            return self.redact(value)
        copy: dict[Any, Any] = {}
        for name, item in value.items():
            copy |= {name: item} if name in kept else self.redact({name: item})
        return copy

    def by_name(self, value: Any) -> Any:
        """Return a redacted copy of a dict whose keys are names of nodes."""
        if not isinstance(value, Mapping):
            return self.redact(value)
        return {name: self.redact(item) for name, item in value.items()}

    def _rebuilt(self, value: Any, visit: Visit) -> Any:
        if isinstance(value, BaseMessage):
            return self._message(value, visit)
        if isinstance(value, Interrupt):
            return _interrupt(value, visit)
        if isinstance(value, BaseException):
            return self._error(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(visit(item, name) for name, item in zip(value._fields, value, strict=True)))
        return None

    def error(self, error: Any) -> Any:
        """Return what is told of the error of a task: of one that a checkpointer has written as text, its class."""
        if not isinstance(error, str):
            return self.redact(error)
        named = ERROR_CLASS.match(error)
        return str(RunFailedError(named[0])) if named else self.redact(error)

    def _error(self, error: BaseException) -> str:
        """Return what is told of an exception in an event, in the words of `told`."""
        safe = told(error, self.redact)
        return str(safe) if isinstance(safe, RunFailedError) else f"{type(safe).__name__}: {self.redact(str(safe))}"

    def _message(self, message: BaseMessage, visit: Visit) -> BaseMessage | None:
        digest = _digest(message)
        if digest is not None and digest in self._copies:
            return self._copies[digest]
        copy = self._copied(message, visit)
        if digest is not None and copy is not None:
            if len(self._copies) >= CACHED_MESSAGES:
                self._copies.clear()
            self._copies[digest] = copy
        return copy

    def _copied(self, message: BaseMessage, visit: Visit) -> BaseMessage | None:
        kind = next((kind for kind in KINDS if isinstance(message, kind)), None)
        if kind is None:
            return None
        given = {name: getattr(message, name) for name in kind.model_fields if name != "type"}
        if "id" in given and set(kind.model_fields) - {"type"} == {"id"}:
            given = {"id": given["id"]}
        if isinstance(message, AIMessage):
            given["content"] = _spoken(message.content)
        fields = {name: self._field(name, value, visit) for name, value in given.items()}
        try:
            return kind(**fields)
        except (ValidationError, ValueError):  # such as arguments that are no longer what they have to be
            return None

    def _field(self, name: str, value: Any, visit: Visit) -> Any:
        if name in ("id", "tool_call_id"):
            return self.texts.identifier(value)
        if name in ("usage_metadata", "status"):
            return value  # numbers and a word
        if name == "response_metadata":
            return {key: visit(item, key) for key, item in value.items() if key in KEPT_METADATA or key == DELIVERY}
        if name in ("tool_calls", "invalid_tool_calls"):
            return [self.call(call, visit) for call in value]
        if name in ("content", "additional_kwargs"):
            return visit(without_sealed(value), None if name == "content" else name)
        return visit(value, name)

    def call(self, call: Mapping[str, Any], visit: Visit) -> dict[str, Any]:
        """Return a tool call redacted, under its id."""
        rest = {name: item for name, item in call.items() if name != "id"}
        return {**visit(rest, None), "id": self.texts.identifier(call.get("id"))}


def _spoken(content: str | list[Any]) -> str | list[Any]:
    """Return what a model says without what it wrote in its text while it reasoned."""
    if isinstance(content, str):
        return without_reasoning(content)
    return [
        {**block, "text": without_reasoning(str(block["text"]))}
        if isinstance(block, Mapping) and block.get("type") == "text" and "text" in block
        else block
        for block in content
    ]


def without_sealed(value: Any) -> Any:
    """Return content blocks or keyword arguments without what providers sign or encrypt."""
    if isinstance(value, Mapping):
        return {key: without_sealed(item) for key, item in value.items() if not _is_sealed(key)}
    if isinstance(value, list):
        blocks = [item for item in value if not (isinstance(item, Mapping) and item.get("type") in SEALED_BLOCKS)]
        return [without_sealed(item) for item in blocks]
    return value


def _is_sealed(key: Any) -> bool:
    return isinstance(key, str) and (key.lower() in SEALED or key.lower().rstrip("_").endswith("signatures"))


def _interrupt(value: Interrupt, visit: Visit) -> Interrupt:
    copy = Interrupt(visit(value.value, None), id=value.id)
    schema = getattr(value, "response_schema", None)
    if schema is not None:
        copy.response_schema = visit(schema, None)
    return copy


def _digest(message: BaseMessage) -> bytes | None:
    """Return what a message is known by; None if it holds what JSON doesn't."""
    try:
        written = json.dumps((type(message).__name__, message.__dict__))
    except (TypeError, ValueError):
        return None
    return hashlib.blake2b(written.encode("utf-8", "replace"), digest_size=16).digest()
