"""What may reach the durable tier, declared as data."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any

from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.serde.types import INTERRUPT

from discreet.checkpoint.channels import is_engine_channel
from discreet.checkpoint.message_ids import safe_id
from discreet.errors import ConfigurationError
from discreet.ports import TextRedactor, of_thread
from discreet.redaction.placeholders import untagged
from discreet.redaction.value_capture import CollectingRedactor
from discreet.state.text import storable

logger = logging.getLogger(__name__)


class Rule(Enum):
    """How an allow-listed value is stored. A value that isn't plain data is dropped under either rule."""

    KEEP = "keep"
    """As it is."""
    REDACT = "redact"
    """With every string in it redacted."""


KEEP = Rule.KEEP
REDACT = Rule.REDACT

RESUME_WORDS = frozenset({"yes", "no", "y", "n", "ok", "approve", "approved", "accept", "reject", "rejected", "cancel"})
"""Answers to an interrupt that say nothing about a person. Any other text stays in RAM."""


@dataclass(frozen=True, kw_only=True)
class CheckpointPolicy:
    """An allow-list. What is not named here is not stored.

    Example:
        >>> policy = CheckpointPolicy(channels={"locale": KEEP, "topic": REDACT})
        >>> policy.messages
        ('messages', '__previous__')
    """

    messages: tuple[str, ...] = ("messages", "__previous__")
    """Channels that hold the conversation. Of these, redacted user messages and final answers are stored.

    `__previous__` is what an `@entrypoint` returned or saved last, where that is a list of messages.
    """
    summaries: bool = True
    """Whether a message that a middleware has marked as a summary (LangChain's `SummarizationMiddleware` does) is stored, redacted, in the place
    of the messages that it replaced. It is nobody's words. Without it these messages stay, and are summarised anew."""
    channels: Mapping[str, Rule] = field(default_factory=dict)
    """Further channels of plain data."""
    counters: bool = True
    """Whether counts and the name of an agent that LangChain's limits of calls and langgraph-swarm keep are stored, as they are: the channels
    `thread_model_call_count`, `thread_tool_call_count` and `active_agent`, where `channels` doesn't name them."""
    subgraphs: Collection[str] = ()
    """Sub-agents whose own threads are stored like the graph's, by the names of their nodes: `("writer", "team|critic")`.

    All others are the inside of a turn, and end with it.
    """
    direct_tools: Collection[str] = ()
    """Tools with `return_direct` whose text may be stored as the answer. Of others a line says that they answered."""
    tools: Mapping[str, Rule] = field(default_factory=dict)
    """Tools whose calls and results are stored in their places, by name, so that later turns have them: `{"search_orders": REDACT}`. A result of more
    than 10,000 characters is cut and says so; of text beside a call and of other tools' calls nothing is stored."""
    deltas: Mapping[str, DeltaChannel[Any]] = field(default_factory=dict)
    """Each `DeltaChannel` of the graph, as declared there: LangGraph stores its writes, and this its value.

    What is stored of the value is up to `messages` and `channels`; named in neither, it ends with the turn.
    """
    metadata: Mapping[str, Rule] = field(default_factory=dict)
    """Keys of run metadata or `configurable` to store beside the engine's own (source, step, parents, run_id)."""
    interrupts: Rule | None = None
    """Payload of an interrupt. None stores its id only."""
    errors: Rule | None = None
    """An error given as plain data. None stores none of it. Of an exception only the class name is ever stored."""
    resume_words: frozenset[str] = RESUME_WORDS
    """Answers to an interrupt that may be stored, in lower case, beside booleans and None."""
    redactor: TextRedactor | None = None
    """Redacts every text that is stored. Default: the one that the settings describe.

    One that has `for_thread`, as that has, tells the values of a thread apart.
    """
    trace: bool = False
    """Whether the steps of a turn that is over can be looked at: names, order, times and sizes, and no content."""
    told: set[str] = field(default_factory=set, repr=False, compare=False)
    """Channels of which it was logged that they can't be stored. Whoever makes a policy leaves it out."""
    thread_id: str | None = None
    """The thread that is stored. Whoever makes a policy leaves it out."""
    values: dict[str, str] | None = field(default=None, repr=False, compare=False)
    """The values of its placeholders, known and taken; None: they are not kept. Whoever makes a policy leaves it out."""

    def __post_init__(self) -> None:
        given: tuple[Any, ...] = (
            self.channels,
            self.metadata,
            self.tools,
        )  # whatever a caller without a type checker passes
        for rules in given:
            if not isinstance(rules, Mapping) or any(type(rule) is not Rule for rule in rules.values()):
                raise ConfigurationError("CheckpointPolicy takes rules by name: {name: KEEP} or {name: REDACT}.")
        channels: Mapping[str, Any] = self.deltas
        if wrong := [name for name, channel in channels.items() if not isinstance(channel, DeltaChannel)]:
            raise ConfigurationError(f"CheckpointPolicy(deltas=…) takes the graph's DeltaChannels: {', '.join(wrong)}.")
        for name in ("messages", "subgraphs", "direct_tools"):
            if isinstance(getattr(self, name), str):
                raise ConfigurationError(
                    f"CheckpointPolicy takes several {name}: write {name}=({getattr(self, name)!r},)."
                )
        if reserved := [name for name in (*self.messages, *self.channels) if is_engine_channel(name)]:
            raise ConfigurationError(f"CheckpointPolicy names channels of the engine itself: {', '.join(reserved)}.")
        if both := set(self.messages) & set(self.channels):
            raise ConfigurationError(f"CheckpointPolicy has two rules for: {', '.join(sorted(both))}.")

    def for_thread(self, thread_id: str, values: dict[str, str] | None = None) -> CheckpointPolicy:
        """Return this policy for what is stored of one thread, with its `values`, if they are kept."""
        return replace(self, thread_id=thread_id, values=None if self.values is None else values)

    @property
    def restored(self) -> frozenset[str]:
        """Channels whose texts are stored redacted, and shown with their values."""
        redacted = {name for name, rule in self.channels.items() if rule is REDACT}
        return frozenset({*self.messages, *redacted, *([INTERRUPT] if self.interrupts is REDACT else [])})

    def keeps(self, ns: str) -> bool:
        """Return whether what happens in the namespace `ns` is stored: in the graph's own, and in sub-agents that are named."""
        return ns == "" or node_path(ns) in self.subgraphs

    def safe_id(self, message_id: str | None) -> str | None:
        """Return a message's id as it may be stored."""
        return safe_id(message_id, self._redactor.redact)

    def tell_dropped(self, channel: str, kind: str) -> None:
        """Log, once a channel, that a value of it was not stored though a rule names it, because it is no plain data."""
        if channel not in self.told:
            self.told.add(channel)
            logger.warning("channel_not_stored", extra={"channel": channel, "type": kind})

    def redact(self, text: str) -> str:
        """Return `text` as it may be stored."""
        return self._bound_redactor.redact(text)

    def redact_blocks(self, blocks: Sequence[str], *, trusted: bool = True) -> str:
        """Return the texts of one message as one, as it may be stored. Unless they are `trusted`, tags of others' making go."""
        # Imported here as in `redact_value`: most messages are one text.
        from discreet.redaction.blocks import redact_blocks

        texts = blocks if trusted else [*map(self.without_foreign_tags, blocks)]
        return self.redact(storable(texts[0])) if len(texts) == 1 else redact_blocks(texts, self._bound_redactor)

    def without_foreign_tags(self, text: str) -> str:
        """Return `text` without tags that were not handed out for values of this thread; as it is where values are not kept."""
        return text if self.values is None else untagged(text, self.values)

    def without_values(self, text: str, *, but_those_in: str) -> str:
        """Return redacted `text` without the tags of values that another text doesn't have."""
        return untagged(text, [tagged for tagged, value in (self.values or {}).items() if value in but_those_in])

    def is_as_stored(self, stored: str, given: str) -> bool:
        """Return whether `given` is what was `stored`, or what that was made of, whatever of its values the vault has now."""
        # Imported here because it is asked about messages that were changed, or come again, alone.
        from discreet.redaction.same_text import is_same_text

        return is_same_text(stored, given, self._redactor)

    def redact_value(self, value: object) -> object:
        """Return plain `value` with every string in it redacted."""
        # Imported here because only deployments that allow-list a channel need it.
        from discreet.redaction.walker import redact_object

        return redact_object(value, self._bound_redactor)

    @cached_property
    def _redactor(self) -> TextRedactor:
        return of_thread(self.redactor or _default_redactor(), self.thread_id)

    @cached_property
    def _bound_redactor(self) -> TextRedactor:
        keeps = self.values is not None and self.thread_id is not None
        return CollectingRedactor(self._redactor, trusted=True, into=self.values) if keeps else self._redactor


def node_path(ns: str) -> str:
    """Return the names of the nodes that lead to a sub-agent, without the tasks that a namespace has between them."""
    return "|".join(part.split(":")[0] for part in ns.split("|") if not part.isdigit())


def _default_redactor() -> TextRedactor:
    # Imported here because its tables take a while to load, and a policy may bring a redactor of its own.
    from discreet.redaction.configured import default_redactor

    return default_redactor()
