"""Show what is stored with the values of its placeholders, as far as the vault has them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, Self

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import Checkpoint, CheckpointTuple

from discreet.checkpoint.channels import START
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.user_input import Replaced
from discreet.redaction.clean_texts import digest_of
from discreet.redaction.placeholders import TAGGED
from discreet.redaction.restoring import Restoration, restore
from discreet.state.message_text import joined, spoken_blocks

MAX_SPELLED_CHARS: Final = 10_000
"""As long as a result of a tool that is kept whole."""

UNTAGGED: Final = re.compile(r"<[A-Z][A-Z0-9_]*>")
"""What may be a placeholder without a tag."""

ThreadsSeen = dict[str, dict[str, str]]
"""What the vault has of each thread that was read."""


class Shown(CheckpointTuple):
    """A checkpoint of the durable tier with values in the places of placeholders."""

    rows: Mapping[str, Any] = MappingProxyType({})
    """What is stored of the channels that are shown otherwise."""
    values: Mapping[str, str] = MappingProxyType({})
    """What the vault has of the thread."""
    paths: Mapping[str, str] = MappingProxyType({})
    """Where each task that has written at it stands in its step, by its id."""

    def _replace(self, /, **changes: Any) -> Self:
        """Return a copy with other fields, and all that is known of the checkpoint beside them."""
        copied = super()._replace(**changes)
        copied.__dict__.update(self.__dict__)
        return copied


def has_placeholders(stored: CheckpointTuple, policy: CheckpointPolicy) -> bool:
    """Return whether something in `stored` may be shown otherwise: only then is the vault asked."""
    channels = policy.restored
    return any(_is_tagged(value) for value in _parts(stored, channels))


def shown(stored: CheckpointTuple, policy: CheckpointPolicy, values: Mapping[str, str]) -> CheckpointTuple:
    """Return `stored` with the values of its tagged placeholders; those not in `values` stay."""
    channels = policy.restored
    there = stored.checkpoint["channel_values"]
    changed = {channel: _restored(value, values) for channel, value in there.items() if channel in channels}
    changed = {channel: value for channel, value in changed.items() if value is not there[channel]}
    rows = {channel: there[channel] for channel in changed}
    if isinstance(given := there.get(START), dict):
        fields = {name: _restored(value, values) if name in channels else value for name, value in given.items()}
        changed[START] = fields
    writes = [
        (task_id, channel, _restored(value, values) if channel in channels else value)
        for task_id, channel, value in stored.pending_writes or []
    ]
    checkpoint: Checkpoint = {**stored.checkpoint, "channel_values": {**there, **changed}}
    found = Shown(stored.config, checkpoint, stored.metadata, stored.parent_config, writes)
    found.rows, found.values, found.paths = rows, values, getattr(stored, "paths", {})
    return found


def _parts(stored: CheckpointTuple, channels: frozenset[str]) -> Iterator[Any]:
    values = stored.checkpoint["channel_values"]
    given = values.get(START)
    for fields in (values, given if isinstance(given, dict) else {}):
        yield from (value for channel, value in fields.items() if channel in channels)
    yield from (value for _, channel, value in stored.pending_writes or () if channel in channels)


def spelling_of(said: BaseMessage, row: BaseMessage, values: Mapping[str, str]) -> dict[str, str]:
    """Return what the vault has to keep of a message so that it is shown as it was said; nothing where its values alone tell that.

    A placeholder stands for one spelling of a value: a number in JSON, say, is none that has spaces. What has no tag (a secret) is not shown
    again, nor what was cut or has tags of its own.
    """
    text = joined(spoken_blocks(said))
    if (
        not (_is_text(row) and TAGGED.search(str(row.content)))
        or isinstance(said, Replaced)
        or len(text) > MAX_SPELLED_CHARS
    ):
        return {}
    if (
        TAGGED.search(text)
        or restore(row.content, values) == text
        or any(each not in text for each in UNTAGGED.findall(str(row.content)))
    ):
        return {}
    return {spelling_key(row): text}


def spelling_key(row: BaseMessage) -> str:
    """Return the name under which a thread's values have the text of a stored message."""
    return f"text:{row.id}:{digest_of(str(row.content)).hex()}"


def tags_in(value: Any) -> set[str]:
    """Return the tagged placeholders in a value."""
    if _is_text(value):
        value = value.content
    if isinstance(value, str) and "<" not in value:
        return set()
    looking = Restoration({})
    looking.visit(value)
    return looking.missing


def _is_tagged(value: Any) -> bool:
    return any(map(_is_tagged, value)) if isinstance(value, list) else bool(tags_in(value))


def _restored(value: Any, values: Mapping[str, str]) -> Any:
    """Return `value` itself where it has no placeholder that is known."""
    if isinstance(value, list):  # most messages have none, and to look into each by its fields takes 10 µs
        items = [_restored(item, values) if _is_tagged(item) else item for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if _is_text(value):
        text = values.get(spelling_key(value)) or restore(value.content, values)
        return value if text is value.content else value.model_copy(update={"content": text})
    return restore(value, values)


def _is_text(value: Any) -> bool:
    """Return whether `value` is a message of a text and nothing else that is redacted."""
    return isinstance(value, BaseMessage) and isinstance(value.content, str) and not getattr(value, "tool_calls", None)
