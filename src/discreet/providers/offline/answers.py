"""What the offline model does next in a turn: call a tool, or answer.

Each intent gets one round of tool calls (forgetting and correcting two: find, then delete or replace), then text. What a memory or a tool says is
quoted or counted, never obeyed.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import ToolCall, tool_call

from discreet.providers.offline.commands import Command, find_command
from discreet.providers.offline.reading import Language, Reading, read
from discreet.providers.offline.turn import ToolResult, Turn
from discreet.retrieval.tokens import tokens
from discreet.state.records import MAX_MEMORY_CHARS

SAVE, RECALL, UPDATE, FORGET = "save_memory", "recall_memory", "update_memory", "forget_memory"
MEMORY_TOOLS = frozenset({SAVE, RECALL, UPDATE, FORGET})

MIN_RELEVANCE = 0.6
"""What is less relevant is not offered as an answer. 0.6 is "about the same thing" on the common scale; with the local
model it keeps 92 % of the answers that share no word with their question (benchmarks/embedding_calibration.py)."""

MIN_RELEVANCE_TO_FORGET = 0.7
"""Deleting can't be undone. With the local model one unrelated memory in 400 comes that near, and every one that is
asked for in its own words (same benchmark)."""

MAX_RECALL_QUERY_CHARS = 1_000
"""What recall_memory takes at most."""
MAX_QUOTED_CHARS = 300

_ERROR_NAME = re.compile(r"^\w+(?:Error|Exception): ")
_SHORT_OF_A_FACT = frozenset({"turn", "conversation_summary"})


def next_message(turn: Turn) -> AIMessage:
    """Return tool calls, or the answer that ends the turn."""
    reading = read(turn.text)
    command = find_command(turn.text, turn.tools, besides=MEMORY_TOOLS)
    calls = list(_calls(turn, reading, command))
    if calls:
        return AIMessage(content="", tool_calls=calls)
    replies = _replies(reading.language)
    parts = list(_answers(turn, reading, command, replies)) or [replies["notice"], replies["setup"]]
    if turn.is_first and parts[0] != replies["notice"]:
        parts.insert(0, replies["notice"])
    return AIMessage(content=("" if reading.language == "zh" else " ").join(parts))


def _calls(turn: Turn, reading: Reading, command: Command | None) -> Iterator[ToolCall]:
    """Yield the tool calls that come next, in the order of the user's words."""
    if turn.results:
        target = _closest(turn, MIN_RELEVANCE_TO_FORGET) if reading.forget and not command else None
        if target and FORGET in turn.tools and not turn.result_of(FORGET):
            named = {"only": _is_named(target, reading.forget)} if "only" in _arguments(turn, FORGET) else {}
            yield _call(turn, FORGET, {"entry_id": target["entry_id"], **named})
        if reading.correct and not command:
            yield from _correction(turn, reading.correct[:MAX_MEMORY_CHARS])
        return
    if command:
        if command.known and not command.missing:
            yield _call(turn, command.tool, dict(command.arguments))
        return
    if reading.facts and SAVE in turn.tools and not turn.recorded:
        kind = "preference" if reading.taste else "user_fact"
        yield _call(turn, SAVE, {"text": reading.facts[:MAX_MEMORY_CHARS], "type": kind})
    query = reading.question or (reading.forget if FORGET in turn.tools else "") or reading.correct
    if query and RECALL in turn.tools:
        yield _call(turn, RECALL, {"query": query[:MAX_RECALL_QUERY_CHARS]})


def _correction(turn: Turn, right: str) -> Iterator[ToolCall]:
    """Yield the call that puts what is right in the place of the memory closest to it, or beside the others if none is."""
    target = _closest(turn, MIN_RELEVANCE_TO_FORGET)
    if target and target.get("type") not in _SHORT_OF_A_FACT and UPDATE in turn.tools:
        if not turn.result_of(UPDATE):
            yield _call(turn, UPDATE, {"entry_id": target["entry_id"], "text": right})
    elif SAVE in turn.tools and not turn.result_of(SAVE):
        yield _call(turn, SAVE, {"text": right, "type": "user_fact"})


def _answers(turn: Turn, reading: Reading, command: Command | None, replies: Mapping[str, str]) -> Iterator[str]:
    """Yield the sentences of the answer; none if there is nothing that rules can answer."""
    if command and not command.known:
        yield replies["tool_unknown"].format(tool=command.tool, tools=", ".join(sorted(turn.tools)) or "-")
    elif command and command.missing:
        yield replies["tool_missing"].format(tool=command.tool, arguments=", ".join(command.missing))
    elif reading.forget and not command and turn.result_of(RECALL):
        yield _about_forgetting(turn, replies)
    else:
        written = [result for result in turn.results if result.tool in (SAVE, UPDATE)]
        for result in (written or turn.results) if reading.correct else turn.results:
            yield _about_result(turn, result, replies)
        if reading.facts and SAVE in turn.tools and turn.recorded:
            yield replies["recorded"]
        if reading.question and RECALL not in turn.tools:
            yield replies["fact"].format(text=_quoted(turn.facts[0])) if turn.facts else replies["nothing"]


def _about_result(turn: Turn, result: ToolResult, replies: Mapping[str, str]) -> str:
    if result.tool in (SAVE, UPDATE):
        if result.data.get("updated") is False:
            return replies["refused"].format(reason=replies["already_gone"])
        if result.failed:
            return replies["refused"].format(reason=_reason(result, replies))
        saved = [result.data, *result.data.get("also", ())]
        return replies["saved"].format(text=_quoted("; ".join(str(each.get("text", "")) for each in saved)))
    if result.tool == RECALL:
        if result.failed:
            return replies["unsearchable"].format(reason=_reason(result, replies))
        found = _closest(turn, MIN_RELEVANCE)
        return (
            replies["closest"].format(score=_score(found), text=_quoted(found["text"])) if found else replies["nothing"]
        )
    # The result stays in transient state: an answer that repeated it would carry it into the conversation's record.
    return replies["tool_failed" if result.failed else "tool_answered"].format(tool=result.tool, chars=len(result.text))


def _about_forgetting(turn: Turn, replies: Mapping[str, str]) -> str:
    """Say what was forgotten by its score only: quoting it would write it down again."""
    recalled, forgotten = turn.result_of(RECALL), turn.result_of(FORGET)
    target = _closest(turn, MIN_RELEVANCE_TO_FORGET)
    if recalled and recalled.failed:
        return replies["unsearchable"].format(reason=_reason(recalled, replies))
    if not forgotten or not target:
        return replies["nothing_to_forget"]
    if forgotten.failed:
        return replies["not_forgotten"].format(reason=_reason(forgotten, replies))
    if not forgotten.data.get("deleted"):
        return replies["not_forgotten"].format(reason=replies["already_gone"])
    return replies["forgotten"].format(score=_score(target))


def _closest(turn: Turn, least: float) -> dict[str, Any] | None:
    """Return the best memory that was recalled and is relevant enough; a fact rather than a whole turn."""
    recalled = turn.result_of(RECALL)
    memories = recalled.data.get("memories", []) if recalled and not recalled.failed else []
    near = [memory for memory in memories if memory.get("relevance", 0) >= least]
    return min(near, key=lambda memory: memory.get("type") in _SHORT_OF_A_FACT, default=None)


def _is_named(memory: Mapping[str, Any], forget: str) -> bool:
    """Whether the user's words mean this memory, and not more than it: then what was said beside it stays."""
    words = set(tokens(forget))
    shared = words.intersection(tokens(memory["text"]))
    return not shared or len(shared) * 2 >= len(words)


def _arguments(turn: Turn, tool: str) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = turn.tools[tool].get("properties", {})
    return properties


def _call(turn: Turn, tool: str, arguments: dict[str, Any]) -> ToolCall:
    """Return a call whose id is the same for the same conversation, so that runs can be compared."""
    digest = hashlib.blake2b(f"{turn.seed}\n{tool}".encode("utf-8", "replace"), digest_size=12).hexdigest()
    return tool_call(name=tool, args=arguments, id=f"call_{digest}")


def _score(memory: Mapping[str, Any]) -> str:
    return f"{memory['relevance']:.2f}"


def _reason(result: ToolResult, replies: Mapping[str, str]) -> str:
    return _quoted(_ERROR_NAME.sub("", result.text)) or replies["unknown_reason"]


def _quoted(text: str) -> str:
    """Return `text` on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_QUOTED_CHARS else f"{line[: MAX_QUOTED_CHARS - 1]}…"


@cache
def _replies(language: Language) -> Mapping[str, str]:
    text = files(__package__).joinpath("replies.toml").read_text(encoding="utf-8")
    replies: Mapping[str, str] = tomllib.loads(text)[language]
    return replies
