"""One row a message instead of a rewritten blob: which rows a checkpoint needs, and its messages from its rows. Pure.

A checkpoint lists runs of positions, `["messages", 0, 57]`: channel, first and last. A conversation that only grows is
one run, so what a put writes doesn't grow with it. Rows are never rewritten: a changed message gets a row of its own,
and older checkpoints keep the row that they have. Only a message that came without an id, as a dict does, is named once:
LangGraph gives it one a step later.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby, takewhile
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage, ToolMessage

from discreet.checkpoint.messages import Chosen, made
from discreet.checkpoint.postgres.building import BUILDERS, MESSAGE_TYPES
from discreet.state.text import storable

MESSAGE_ROWS = "message_rows"
"""Where a checkpoint lists its runs, and the column that `EXPAND_RUNS` makes of them."""

Run = tuple[int, int]
"""First and last position, both inside."""

_BARE = {kind: vars(kind(content="")) for kind in MESSAGE_TYPES.values()}
_BARE[ToolMessage] = vars(ToolMessage(content="", tool_call_id=""))


class NewRow(NamedTuple):
    """A row to insert."""

    channel: str
    position: int
    message_id: str | None
    kind: str
    content: str
    tool: str | None = None
    """What is kept of a call or a result of a tool beside its text, as JSON."""


class NewName(NamedTuple):
    """The id of a message whose row has none."""

    channel: str
    position: int
    message_id: str


class Rows(NamedTuple):
    """The messages of one channel of a checkpoint, and where their rows are."""

    messages: Chosen
    """With their ids and texts as they were read or written."""
    runs: list[Run]
    top: int = -1
    """The highest position that is known to have been taken. An erased message's is not given away."""


NO_ROWS = Rows(Chosen.of([]), [])


class Planned(NamedTuple):
    """What a put does to the rows of a channel."""

    rows: Rows
    """Of its checkpoint."""
    new: list[NewRow]
    named: list[NewName]


def plan_rows(channel: str, value: object, there: Rows) -> Planned | None:
    """Return the rows of `value`, given those of its checkpoint's parent, which of them are new, and which get an id.

    None: `value` is not a list of user and model messages of an id and a text, or it is empty.
    """
    if not isinstance(value, list) or type(value) not in {list, Chosen} or not value:
        return None
    chosen = isinstance(value, Chosen)
    given = value if isinstance(value, Chosen) else _as_they_are(value)
    shared = _shared(given, there.messages)
    rest = list(zip(given[shared:], given.ids[shared:], given.texts[shared:], given.forms[shared:], strict=True))
    if not all(_is_bare(*item[:3], chosen=chosen) for item in rest):
        return None
    runs = _cut(there.runs, shared)
    new: list[NewRow] = []
    named: list[NewName] = []
    finder = _Finder(there, shared) if rest and shared < len(there.messages) else None
    top = there.top
    for _, message_id, text, form in rest:
        position = finder.find(form, message_id, text) if finder else None
        if position is None and finder and message_id:
            position = finder.nameless(form, text)
            named += [NewName(channel, position, message_id)] if position is not None else []
        if position is None:
            position = top = top + 1
            kind, _, tool = form.partition(":")
            new.append(NewRow(channel, position, message_id, kind, text, tool or None))
        _append(runs, position)
    return Planned(Rows(given, runs, top), new, named)


def note_names(known: Mapping[str, Rows], named: Iterable[NewName]) -> None:
    """Give the messages of a parent the ids that their rows have got: one that gets another id elsewhere has a row of its own."""
    for channel, position, message_id in named:
        rows = known[channel]
        rows.messages.ids[positions_of(rows.runs).index(position)] = message_id


def take_rows(row: dict[str, Any]) -> dict[str, Rows]:
    """Take out of a row of `checkpoints` what it says of messages, and return it by channel.

    A message whose row is gone was erased by itself, and is missing from its list.
    """
    listed: Sequence[tuple[str, int, int]] = row["checkpoint"].pop(MESSAGE_ROWS, None) or ()
    found = {channel: Rows(Chosen.of([]), []) for channel, _, _ in listed}
    heads, *packed = row.pop(MESSAGE_ROWS) or (None,)
    head = heads.split(" ") if heads else []
    numbers, positions, kinds = head[::3], head[1::3], head[2::3]
    ids: list[str | None] = packed[: len(kinds)]
    texts: list[str] = packed[len(kinds) : 2 * len(kinds)]
    further: list[str] = packed[2 * len(kinds) :]
    if further:
        tools = iter(further)
        kinds = [f"{kind}{next(tools)}" if kind.endswith(":") else kind for kind in kinds]
    messages = [
        BUILDERS[form](message_id, text) if form in BUILDERS else made(form, message_id, text)
        for form, message_id, text in zip(kinds, ids, texts, strict=True)
    ]
    start = 0
    for number, same in groupby(numbers):
        end = start + sum(1 for _ in same)
        of_run, runs, _ = found[listed[int(number) - 1][0]]
        of_run += messages[start:end]
        of_run.ids += ids[start:end]
        of_run.texts += texts[start:end]
        of_run.forms += kinds[start:end]
        extend(runs, list(map(int, positions[start:end])))
        start = end
    tops = {channel: max(last for name, _, last in listed if name == channel) for channel in found}
    return {channel: rows._replace(top=tops[channel]) for channel, rows in found.items()}


def extend(runs: list[Run], positions: Sequence[int]) -> None:
    """Add `positions`, in their order, to `runs`."""
    if positions and positions == list(range(positions[0], positions[-1] + 1)):  # the usual case, without a call each
        _append(runs, positions[0])
        runs[-1] = (runs[-1][0], positions[-1])
        return
    for position in positions:
        _append(runs, position)


def positions_of(runs: Iterable[Run]) -> list[int]:
    """Return the positions of `runs` in their order."""
    return list(chain.from_iterable(range(first, last + 1) for first, last in runs))


class _Finder:
    """Finds the row of a message by what is in it, among those that `there` has after the first `start`."""

    def __init__(self, there: Rows, start: int) -> None:
        self._positions: dict[Any, list[int]] = {}
        self._previous = -1
        self._found: set[int] = set()
        stored = (there.messages.forms, there.messages.ids, there.messages.texts)
        rest = zip(positions_of(there.runs)[start:], *(each[start:] for each in stored), strict=True)
        for position, *content in rest:
            self._positions.setdefault(tuple(content), []).append(position)

    def find(self, kind: str, message_id: str | None, text: str) -> int | None:
        """Return a row's position; among equal rows the one after what was found before."""
        positions = self._positions.get((kind, message_id, text))
        if not positions:  # all of them may have been taken for messages without an id
            return None
        after = bisect_right(positions, self._previous)
        self._previous = positions[after if after < len(positions) else 0]
        self._found.add(self._previous)
        return self._previous

    def nameless(self, kind: str, text: str) -> int | None:
        """Return the position of the first row of such a message that has no id, and was not found; None if there is none."""
        positions = self._positions.get((kind, None, text), [])
        position = next((each for each in positions if each not in self._found), None)
        if position is None:
            return None
        positions.remove(position)
        self._previous = position
        return position


def _as_they_are(messages: Sequence[Any]) -> Chosen:
    ids, texts = ([getattr(message, name, None) for message in messages] for name in ("id", "content"))
    return Chosen(messages, ids, texts, [str(getattr(message, "type", "")) for message in messages])


def _shared(messages: Chosen, there: Chosen) -> int:
    """Return how many messages at the front are those of `there`, with the same ids and texts; others are found by content."""
    count = len(there)
    same = messages[:count] == there  # of the same objects, which is the usual case, nothing else is compared
    if same and messages.ids[:count] == there.ids and messages.texts[:count] == there.texts:
        return count
    equal = zip(
        map(operator.is_, messages, there),
        map(operator.eq, messages.ids, there.ids),
        map(operator.eq, messages.texts, there.texts),
        strict=False,
    )
    return sum(1 for _ in takewhile(all, equal))


def _is_bare(message: object, message_id: str | None, text: object, *, chosen: bool) -> bool:
    """Return whether a row can hold all that is to be stored of `message`: its form, `message_id` and `text`.

    Of a `chosen` one nothing else is: a node may have set more on it since it was read. Any other must have no more.
    """
    bare = _BARE.get(type(message))  # type: ignore[arg-type]  # of any other type there is none
    if bare is None or not isinstance(message, BaseMessage):
        return False
    return (
        type(text) is str
        and storable(text) == text
        and (message_id is None or storable(message_id) == message_id)
        and (chosen or (not message.model_extra and {**vars(message), "content": "", "id": None} == bare))
    )


def _cut(runs: Sequence[Run], count: int) -> list[Run]:
    """Return the first `count` positions of `runs`."""
    cut: list[Run] = []
    for first, last in runs:
        if count <= 0:
            break
        cut.append((first, min(last, first + count - 1)))
        count -= last - first + 1
    return cut


def _append(runs: list[Run], position: int) -> None:
    if runs and runs[-1][1] + 1 == position:
        runs[-1] = (runs[-1][0], position)
    else:
        runs.append((position, position))
