"""Decide what goes with a fact that is forgotten. Pure: the records and texts are read by whoever asks."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple, get_args

from discreet.ports import ForgetRequest, Forgotten
from discreet.redaction.placeholders import unreferenced
from discreet.retrieval.telling import teller
from discreet.state.records import MAX_REQUEST_ID_CHARS, MemoryRecord, MemoryType

DERIVED: Final[tuple[MemoryType, ...]] = ("turn", "conversation_summary")
"""Memories that are made of conversations, and go where they tell what is forgotten."""

OTHERS: Final[tuple[MemoryType, ...]] = tuple(kind for kind in get_args(MemoryType) if kind not in DERIVED)
"""Memories that go by their own ids only."""

_PLACEHOLDER: Final = re.compile(r"<[A-Z][A-Z0-9_]{0,40}>")
"""What a value is in a memory: of which kind it was, not which one. In other threads than the one that asks, a round with a
value of that kind goes: it errs towards yes."""

SPLIT_BY = "save_memory"
"""Source of facts that were kept of one statement, under its request_id."""


class LoggedRound(NamedTuple):
    """A round as the conversation log has it."""

    thread_id: str
    request_id: str
    text: str
    """What was said and what was answered."""


def are_siblings(one: MemoryRecord, other: MemoryRecord) -> bool:
    """Whether both were kept of the same statement."""
    return one.request_id == other.request_id is not None and (
        one.provenance.source == other.provenance.source == SPLIT_BY
    )


def beginnings(facts: Iterable[MemoryRecord]) -> list[datetime]:
    """Return when `facts` began to hold: what they superseded ended at that moment."""
    return [moment for fact in facts for moment in (fact.valid_from, fact.created_at) if moment is not None]


def superseded_by(facts: Sequence[MemoryRecord], ended: Iterable[MemoryRecord]) -> list[MemoryRecord]:
    """Return those of the `ended` records whose place one of `facts` took."""
    began = {(fact.app_name, fact.type, moment) for fact in facts for moment in beginnings([fact])}
    known = {fact.entry_id for fact in facts}
    return [old for old in ended if (old.app_name, old.type, old.valid_to) in began and old.entry_id not in known]


def teller_of(facts: Iterable[MemoryRecord], *, text: str = "", asking: ForgetRequest) -> Callable[[str], bool]:
    """Return whether a text tells one of `facts`, or `text`; of what was made of conversations the user's words say what is meant."""
    return teller([text, *((asking.asked if fact.type in DERIVED else "") or fact.text for fact in facts)])


def forget(
    facts: list[MemoryRecord],
    *,
    text: str = "",
    asking: ForgetRequest,
    logged: Iterable[LoggedRound],
    derived: Sequence[MemoryRecord],
    others: Iterable[MemoryRecord],
) -> Forgotten:
    """Return what goes with `facts` and with a `text`, which is a fact without a record: rounds that tell them, and what was made of these.

    A summary goes if it tells them, and also if it is of a thread that does: it may do so in other words. Of the `others`
    those that tell them are named.
    """
    told = teller_of(facts, text=text, asking=asking)
    rounds = {place for record in facts if (place := _round_of(record)) is not None}
    rounds |= {(fact.thread_id, turn) for fact in facts if fact.thread_id for turn in fact.provenance.turns or ()}
    said = unreferenced(
        "\n".join([text, *(fact.text for fact in facts)])
    )  # a round has no reference, see `save_memory`
    values = set(_PLACEHOLDER.findall(said))
    rounds |= {
        (each.thread_id, each.request_id)
        for each in logged
        if told(each.text) or (each.thread_id != asking.thread_id and any(value in each.text for value in values))
    }
    if (thread := asking.thread_id) is not None:
        rounds |= {(thread, request_id) for request_id, text in asking.rounds.items() if told(text)}
        rounds |= {(thread, request_id) for request_id in _with_values(values, facts, asking)}
        rounds -= {(thread, asking.request_id or "")}
    telling = {record.entry_id for record in derived if told(record.text)}
    rounds |= {
        place
        for record in derived
        if record.type == "turn" and record.entry_id in telling and (place := _round_of(record)) is not None
    }
    threads = {thread_id for thread_id, _ in rounds}
    known = {fact.entry_id for fact in facts}
    gone = [
        record
        for record in derived
        if record.entry_id not in known
        and (
            record.entry_id in telling
            or (record.thread_id in threads if record.type == "conversation_summary" else _round_of(record) in rounds)
        )
    ]
    still = [record for record in others if record.entry_id not in known and told(record.text)]
    return Forgotten(facts=facts, told=gone, rounds=frozenset(rounds), still=still)


def _with_values(values: Collection[str], facts: Sequence[MemoryRecord], asking: ForgetRequest) -> set[str]:
    """Return the requests of the thread that have one of the facts' values: the same tag in a thread is the same value."""
    sources = {asking.request_id, *(fact.request_id for fact in facts)}
    tags = {
        tag
        for request_id, found in asking.tags.items()
        if request_id in sources
        for tag in found
        if f"{tag.partition(':')[0]}>" in values
    }
    return {request_id for request_id, found in asking.tags.items() if found & tags}


def _round_of(record: MemoryRecord) -> tuple[str, str] | None:
    thread_id, request_id = record.thread_id, record.request_id
    if thread_id is None or request_id is None or len(request_id) > MAX_REQUEST_ID_CHARS:
        return None
    return thread_id, request_id
