"""Redact what a graph gives out so that servers and clients can still work with it: ids and names keep their places."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol, cast, runtime_checkable

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.types import Interrupt
from pydantic import ValidationError

from discreet.checkpoint.message_ids import safe_id
from discreet.errors import RunFailedError
from discreet.graph.guard.failures import told
from discreet.graph.streams import DELIVERY
from discreet.nodes.state_messages import KEPT_METADATA
from discreet.ports import TextRedactor
from discreet.redaction.clean_texts import CleanTexts, digest_of
from discreet.redaction.findings import Finding
from discreet.redaction.message_codec import KINDS, Visit
from discreet.redaction.streaming import Findable, StreamingRedactor
from discreet.redaction.value_capture import CollectingRedactor
from discreet.redaction.walker import redact_object
from discreet.state.reasoning import SpokenStream, without_reasoning

CACHED_TEXTS: Final = 10_000
"""Redacted texts that one run remembers; beyond that it forgets all and begins again."""

UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
ID = re.compile(
    rf"(?:(?:\w{{1,40}}_)?id: )?"
    rf"(?:(?:(?:lc_)?run-{{1,2}})?{UUID}(?:-\d{{1,3}})?"
    r"|(?:call|toolu|tooluse|chatcmpl(?:-tool)?|msg|resp|rs|fc|gen|cmpl)[-_](?=[A-Za-z0-9_-]*[A-Za-z])[A-Za-z0-9_-]{6,80})",
    re.IGNORECASE,
)
"""Ids as engines and model providers write them, alone or under a name such as `tool_call_id`. They look like secrets to a
recogniser, but clients answer with them: a message or a tool's result would find no place any more."""

SEALED: Final = frozenset(
    {"signature", "thought_signature", "thoughtsignature", "encrypted_content", "encrypted_index"}
)
"""What providers sign or encrypt of a model's reasoning. Nobody but the provider can read it, so nobody can redact it."""
SEALED_BLOCKS: Final = frozenset({"redacted_thinking"})

ERROR_CLASS: Final = re.compile(r"[A-Za-z_]\w*(?=\()")
"""With what the `repr` of an exception begins."""


IDS: Final = frozenset({"thread_id", "run_id", "assistant_id", "graph_id", "checkpoint_id", "checkpoint_ns"})
STEP: Final = frozenset({"parents", "run_attempt", "source", "step"}) | {
    f"langgraph_{name}"
    for name in ("checkpoint_ns", "node", "path", "step", "triggers", "version", "api_url", "api_version")
}


class Level(NamedTuple):
    """What the engine itself writes at one level of what it says of a run."""

    kept: frozenset[str]
    """Names of ids, names of nodes, versions and numbers."""
    inner: Mapping[str, str] = {}
    """The level of what stands under a name."""


LEVELS: Final[Mapping[str, Level]] = {
    "event": Level(
        frozenset({"id", "name", "path", "triggers", "step", "timestamp", "type", "next", "created_at"}),
        {
            "payload": "event",
            "tasks": "event",
            "state": "event",
            "config": "config",
            "parent_config": "config",
            "configurable": "configurable",
            "metadata": "metadata",
            "interrupts": "interrupt",
        },
    ),
    "config": Level(frozenset(), {"configurable": "configurable"}),
    "configurable": Level(IDS | {"checkpoint_map"}),
    "metadata": Level(IDS | STEP | {"ls_integration", "ls_model_name", "ls_provider"}),
    "interrupt": Level(frozenset({"id"})),
    "protocol": Level(frozenset({"event", "role", "usage", "type", "index"})),
}
"""All else at these levels is redacted: the state, what nodes get and give, what a caller added to the config."""


@runtime_checkable
class Taking(Findable, Protocol):
    """A redactor whose placeholders can be put into a stream, with the values they stand for."""

    def take(self, text: str, finding: Finding, values: dict[str, str], known: Mapping[str, str] | None = None) -> str:
        """Return the placeholder for a finding in `text`; add its value to `values`."""
        ...


class RunTexts:
    """Redacts the texts of one run and collects the values that it takes."""

    def __init__(
        self, redactor: TextRedactor, known: Mapping[str, str], *, thread: str = "", clean: CleanTexts | None = None
    ) -> None:
        """Redact with `redactor`, which is the thread's; `known` are the values held already, by placeholder."""
        self._redactor = redactor
        self._values = dict(known)
        self._given = len(known)
        """How many of the values are known to be held."""
        self._collecting = CollectingRedactor(redactor, trusted=True, into=self._values)
        self._thread = thread
        self._clean = clean if clean is not None else CleanTexts()
        self._done: dict[bytes, str] = {}

    def __repr__(self) -> str:
        return f"RunTexts({len(self._values)} values)"

    def redact(self, text: str) -> str:
        """Return `text` with placeholders; ids stay. Tags that it has stay too: they are this thread's own."""
        if not text or ID.fullmatch(text):
            return text
        digest = digest_of(self._thread, text)
        if digest in self._done:
            return self._done[digest]
        if self._clean.has(digest):
            return text
        redacted = self._collecting.redact(text)
        if redacted == text:
            self._clean.add(digest)
        else:
            if len(self._done) >= CACHED_TEXTS:
                self._done.clear()
            self._done[digest] = redacted
        return redacted

    def identifier(self, value: Any) -> Any:
        """Return what stands where an id has to: itself if there is nothing in it, else one derived from it.

        The derived one is the one that the checkpointer stores, and as good to tell two messages apart.
        """
        if not isinstance(value, str) or self.redact(value) == value:
            return value
        return safe_id(value)

    def stream(self, *, spoken: bool = False) -> TextStream:
        """Return what redacts one text that arrives in pieces; of one that a model has `spoken`, without its reasoning."""
        return TextStream(self, SpokenStream() if spoken else None)

    def piecewise(self) -> StreamingRedactor | None:
        """Return what redacts one text piece by piece; None if this redactor has to see it whole."""
        if not isinstance(self._redactor, Taking):
            return None
        return StreamingRedactor(cast("Findable", _Collecting(self._redactor, self._values)), early=True)

    def taken(self) -> dict[str, str]:
        """Return the values that were taken since this was last asked."""
        new = dict(islice(self._values.items(), self._given, None))
        self._given = len(self._values)
        return new


class _Collecting:
    """A redactor for a stream, whose `values` have what it took."""

    def __init__(self, redactor: Taking, values: dict[str, str]) -> None:
        self._redactor = redactor
        self._values = values

    def __getattr__(self, name: str) -> Any:
        return getattr(self._redactor, name)

    def label(self, text: str, finding: Finding) -> str:
        return self._redactor.take(text, finding, self._values, self._values)


class TextStream:
    """One text that arrives in pieces. What can't be redacted piece by piece is held back until it is whole."""

    def __init__(self, texts: RunTexts, spoken: SpokenStream | None = None) -> None:
        self._texts = texts
        self._spoken = spoken
        self._held = ""
        self._stream = texts.piecewise()

    def __repr__(self) -> str:
        return "TextStream()"

    def feed(self, piece: str) -> str:
        """Take the next characters; return those that are settled, redacted."""
        if self._spoken is not None:
            piece = self._spoken.feed(piece)
        if self._stream is not None:
            return self._stream.feed(piece)
        self._held += piece
        return ""

    def close(self) -> str:
        """Return the rest, redacted."""
        rest = "" if self._spoken is None else self._spoken.close()
        if self._stream is not None:
            return self._stream.feed(rest) + self._stream.close()
        held, self._held = self._held + rest, ""
        return self._texts.redact(held)


class RunObjects:
    """Redacts the objects of one run."""

    def __init__(self, texts: RunTexts) -> None:
        self.texts = texts
        self._copies: dict[int, tuple[BaseMessage, BaseMessage]] = {}
        """By the id of a message, itself and its copy: a history goes by with every event."""

    def __repr__(self) -> str:
        return "RunObjects()"

    def redact(self, value: Any) -> Any:
        """Return a redacted copy of `value`, see `redact_object`. Messages and interrupts keep their ids."""
        return redact_object(value, self.texts, rebuild=self._rebuilt)

    def engine(self, value: Any, level: str = "event") -> Any:
        """Return a redacted copy of what the engine says of a run; what it writes itself stays, see `LEVELS`."""
        if isinstance(value, (list, tuple)) and not hasattr(value, "_asdict"):
            return type(value)(self.engine(each, level) for each in value)
        given = value._asdict() if hasattr(value, "_asdict") else value
        if not isinstance(given, Mapping):
            return self.redact(value)
        kept, inner = LEVELS[level]
        shown: dict[Any, Any] = {}
        for name, item in given.items():
            if name in kept:
                shown[name] = item
            elif name in inner:
                shown[name] = self.engine(item, inner[name])
            elif level == "event" and name == "error":
                shown[name] = self._error_of_task(item)
            elif level != "configurable" or not str(name).startswith("__"):
                shown |= self.redact({name: item})
        return shown if given is value else value._replace(**shown)

    def call(self, call: Mapping[str, Any], visit: Visit) -> dict[str, Any]:
        """Return a tool call redacted, under its id."""
        rest = {name: item for name, item in call.items() if name != "id"}
        return {**visit(rest, None), "id": self.texts.identifier(call.get("id"))}

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

    def _error_of_task(self, error: Any) -> Any:
        """Return what is told of the error of a task: of one that a checkpointer has written as text, its class."""
        named = ERROR_CLASS.match(error) if isinstance(error, str) else None
        return self.redact(error) if named is None else str(RunFailedError(named[0]))

    def _error(self, error: BaseException) -> str:
        """Return what is told of an exception in an event, in the words of `told`."""
        safe = told(error, self.redact)
        return str(safe) if isinstance(safe, RunFailedError) else f"{type(safe).__name__}: {self.redact(str(safe))}"

    def _message(self, message: BaseMessage, visit: Visit) -> BaseMessage | None:
        known = self._copies.get(id(message))
        if known is not None and known[0] is message:
            return known[1]
        copy = self._copied(message, visit)
        if copy is not None and message.id is not None:  # a reducer gives the others theirs, in place
            self._copies[id(message)] = (message, copy)
        return copy

    def _copied(self, message: BaseMessage, visit: Visit) -> BaseMessage | None:
        kind = next((kind for kind in KINDS if isinstance(message, kind)), None)
        if kind is None:
            return None
        given = {name: getattr(message, name) for name in kind.model_fields if name != "type"}
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
