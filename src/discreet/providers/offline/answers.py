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
from discreet.providers.offline.naming import is_meant, says_all
from discreet.providers.offline.reading import Language, Reading, read, told
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
asked for in its own words (same benchmark). What comes near must have the user's words too: Hanoi is near to Paris."""

MAX_RECALL_QUERY_CHARS = 1_000
"""What recall_memory takes at most."""
MAX_FORGET_CHARS = 1_000
"""What forget_memory takes at most."""
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
        if reading.forget and not command and FORGET in turn.tools and not turn.result_of(FORGET):
            yield from _forgetting(turn, reading.forget)
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


def _forgetting(turn: Turn, named: str) -> Iterator[ToolCall]:
    """Yield the calls that forget the memories that the user means; if there is none, what was said of it."""
    recalled = turn.result_of(RECALL)
    if recalled is None or recalled.failed:
        return
    for memory in (meant := _meant(turn, named)):
        only = {"only": _is_named(memory, named)} if "only" in _arguments(turn, FORGET) else {}
        yield _call(turn, FORGET, {"entry_id": memory["entry_id"], **only})
    if not meant and told(named) and "text" in _arguments(turn, FORGET):
        yield _call(turn, FORGET, {"text": named[:MAX_FORGET_CHARS]})


def _meant(turn: Turn, named: str) -> list[dict[str, Any]]:
    """Return the memory that is closest to the user's words and tells them, and the facts that have all of these words.

    What was made of conversations goes by the words themselves where they can be given.
    """
    near = _near(turn, MIN_RELEVANCE)
    if "text" in _arguments(turn, FORGET):
        near = [memory for memory in near if memory.get("type") not in _SHORT_OF_A_FACT]
    sure = [memory for memory in near if memory["relevance"] >= MIN_RELEVANCE_TO_FORGET]
    closest = next((memory for memory in sure if is_meant(str(memory.get("text", "")), named)), None)
    if closest is None:
        return []
    facts = [memory for memory in near if memory is not closest and memory.get("type") not in _SHORT_OF_A_FACT]
    return [closest, *(memory for memory in facts if says_all(str(memory.get("text", "")), named))]


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
        yield from _about_forgetting(turn, reading, replies)
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


def _about_forgetting(turn: Turn, reading: Reading, replies: Mapping[str, str]) -> Iterator[str]:
    """Say what was forgotten by its score and number only: quoting it would write it down again."""
    recalled = turn.result_of(RECALL)
    if recalled and recalled.failed:
        yield replies["unsearchable"].format(reason=_reason(recalled, replies))
        return
    results = [result for result in turn.results if result.tool == FORGET]
    gone = [result.data for result in results if not result.failed and result.data.get("deleted")]
    meant = _meant(turn, reading.forget)
    if gone and meant:
        yield replies["forgotten" if len(gone) == 1 else "forgotten_all"].format(
            score=_score(meant[0]), count=len(gone)
        )
    elif gone:
        yield replies["forgotten_talk"].format(rounds=gone[0].get("rounds", 0))
    elif results and results[0].failed:
        yield replies["not_forgotten"].format(reason=_reason(results[0], replies))
    else:
        yield replies["not_forgotten"].format(reason=replies["already_gone"]) if meant else replies["nothing_to_forget"]
    if left := _left(results):
        yield replies["others_left"].format(count=left)


def _left(forgotten: list[ToolResult]) -> int:
    """Return how many memories share words with what was forgotten, as the results tell, and are still there."""
    if not forgotten:
        return 0
    gone = {result.data.get("entry_id") for result in forgotten if result.data.get("deleted")}
    gone |= {also.get("entry_id") for result in forgotten for also in result.data.get("also", ())}
    named = {each.get("entry_id") for result in forgotten for each in result.data.get("still", ())}
    more: int = max(result.data.get("more", 0) for result in forgotten)
    return len(named - gone) + more


def _closest(turn: Turn, least: float) -> dict[str, Any] | None:
    """Return the best memory that was recalled and is relevant enough; a fact rather than a whole turn."""
    return next(iter(_near(turn, least)), None)


def _near(turn: Turn, least: float) -> list[dict[str, Any]]:
    """Return the memories that were recalled and are relevant enough, best first; facts before whole turns."""
    recalled = turn.result_of(RECALL)
    memories = recalled.data.get("memories", []) if recalled and not recalled.failed else []
    near = [memory for memory in memories if memory.get("relevance", 0) >= least]
    return sorted(near, key=lambda memory: memory.get("type") in _SHORT_OF_A_FACT)


def _is_named(memory: Mapping[str, Any], forget: str) -> bool:
    """Whether the user's words mean this memory, and not more than it: then what was said beside it stays."""
    words = set(tokens(forget))
    shared = words.intersection(tokens(memory["text"]))
    return not shared or len(shared) * 2 >= len(words)


def _arguments(turn: Turn, tool: str) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = turn.tools.get(tool, {}).get("properties", {})
    return properties


def _call(turn: Turn, tool: str, arguments: dict[str, Any]) -> ToolCall:
    """Return a call whose id is the same for the same conversation, so that runs can be compared."""
    entry = arguments.get("entry_id", "")
    digest = hashlib.blake2b(f"{turn.seed}\n{tool}\n{entry}".encode("utf-8", "replace"), digest_size=12).hexdigest()
    return tool_call(name=tool, args=arguments, id=f"call_{digest}")


def _score(memory: Mapping[str, Any]) -> str:
    return f"{memory['relevance']:.2f}"


def _reason(result: ToolResult, replies: Mapping[str, str]) -> str:
    error = result.data.get("error")
    told = error.get("message") if isinstance(error, dict) else _ERROR_NAME.sub("", result.text)
    return _quoted(str(told or "")) or replies["unknown_reason"]


def _quoted(text: str) -> str:
    """Return `text` on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_QUOTED_CHARS else f"{line[: MAX_QUOTED_CHARS - 1]}…"


@cache
def _replies(language: Language) -> Mapping[str, str]:
    text = files(__package__).joinpath("replies.toml").read_text(encoding="utf-8")
    replies: Mapping[str, str] = tomllib.loads(text)[language]
    return replies
