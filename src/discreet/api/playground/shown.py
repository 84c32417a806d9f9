"""What the page shows of a conversation and of what the database holds, as pieces of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Self

from markupsafe import Markup

from discreet.api.admin.recall import Explained, Rules, explain
from discreet.api.pages.placeholders import with_placeholders
from discreet.api.playground.highlighting import with_values
from discreet.api.playground.stored import StoredRow, StoredTable
from discreet.api.playground.turn import PromptMessage, Search, ToolUse, Turn
from discreet.nodes.retrieve_memories import FEW_FACTS
from discreet.redaction import Redactor

LOG: Final = "conversation_log"


@dataclass(frozen=True, kw_only=True)
class OnDisk:
    """What the log has of something that was said."""

    text: Markup
    is_same: bool
    """Whether nothing of it was taken out."""


@dataclass(frozen=True, kw_only=True)
class ShownTurn:
    """A round of the conversation, and what the log has of it."""

    said: Markup
    said_stored: OnDisk | None
    answer: Markup
    answer_stored: OnDisk | None
    error: str
    is_running: bool


@dataclass(frozen=True, kw_only=True)
class ShownRow:
    """A row of a table."""

    is_new: bool
    """Whether it came, or was changed, since the last turn began."""
    words: Mapping[str, Markup]
    columns: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ShownTable:
    """A table and its rows."""

    name: str
    count: int
    rows: Sequence[ShownRow]


@dataclass(frozen=True, kw_only=True)
class ShownSearch:
    """A search and what it found."""

    search: Search
    question: Markup
    found: Sequence[tuple[Explained, Markup]]


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The whole page."""

    turns: Sequence[ShownTurn]
    tables: Sequence[ShownTable]
    """With words."""
    others: Sequence[ShownTable]
    last: Turn | None
    searches: Sequence[ShownSearch]
    prompt: Sequence[tuple[PromptMessage, Markup]]
    tools: Sequence[tuple[ToolUse, Markup, Markup | None]]

    @classmethod
    def of(cls, turns: Sequence[Turn], tables: Sequence[StoredTable], *, redactor: Redactor, semantic: bool) -> Self:
        """Return what is shown of `turns` and `tables`. To mark what the redactor finds takes some milliseconds."""
        last = turns[-1] if turns else None
        log = {
            row.values.get("request_id"): row
            for row in chain.from_iterable(table.rows for table in tables if table.name == LOG)
        }

        def real(text: str) -> Markup:
            return with_values(text, redactor.findings(text))

        before = None if last is None else last.before
        shown = [_table(table, before) for table in tables]
        tools = [] if last is None else list(last.tools.values())
        return cls(
            turns=[
                ShownTurn(
                    said=real(turn.said),
                    said_stored=_on_disk(log.get(turn.request_id), "input_text", turn.said),
                    answer=real(turn.answer),
                    answer_stored=_on_disk(log.get(turn.request_id), "output_text", turn.answer),
                    error=turn.error,
                    is_running=turn.is_running,
                )
                for turn in turns
            ],
            tables=[table for table, stored in zip(shown, tables, strict=True) if stored.has_words],
            others=[table for table, stored in zip(shown, tables, strict=True) if not stored.has_words],
            last=last,
            searches=[] if last is None else [_search(each, semantic=semantic) for each in _different(last.searches)],
            prompt=[] if last is None else [(message, real(message.text)) for message in last.prompt],
            tools=[(use, real(use.arguments), None if use.result is None else real(use.result)) for use in tools],
        )


def _on_disk(row: StoredRow | None, column: str, said: str) -> OnDisk | None:
    if row is None or column not in row.values:
        return None
    stored = row.values[column]
    return OnDisk(text=with_placeholders(stored), is_same=stored.split() == said.split())


def _table(table: StoredTable, before: frozenset[str] | None) -> ShownTable:
    rows = [
        ShownRow(
            is_new=before is not None and row.digest not in before,
            words={name: with_placeholders(text) for name, text in row.words.items()},
            columns=row.values,
        )
        for row in table.rows
    ]
    return ShownTable(name=table.name, count=table.count, rows=rows)


def _different(searches: Iterable[Search]) -> Iterable[Search]:
    """Return the searches without those that a tool made once more, and that found the same."""
    different = {
        (each.question, frozenset(hit.record.entry_id for hit in each.hits)): each for each in reversed([*searches])
    }
    return reversed(different.values())


def _search(search: Search, *, semantic: bool) -> ShownSearch:
    rules = Rules(
        limit=search.limit,
        threshold=search.threshold,
        semantic=semantic,
        few=0 if search.by_tool else FEW_FACTS,
    )
    explained = explain(search.question, search.hits, (), rules)
    return ShownSearch(
        search=search,
        question=with_placeholders(search.question),
        found=[(each, with_placeholders(each.hit.record.text)) for each in explained],
    )
