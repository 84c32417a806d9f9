"""A chat model that does what the script says of the turn in its prompt, and tells what stands there."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import ToolCall

from discreet.testing import Failure, OpenAIServer, RecordedRequest, openai_server
from scripted_day.script import Day, Turn, planted

ENTRY = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
MANY = 20


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """One request to the model."""

    number: int
    """Counts all requests of the day."""
    turn: Turn | None
    """None for a request beside the turns: a summary."""
    text: str
    tools: frozenset[str]
    answer: str
    """Empty if the model called tools."""
    called: tuple[str, ...]


class _Heard(list[RecordedRequest]):
    """Knows which request the running thread got: the server has a thread for each."""

    def __init__(self) -> None:
        super().__init__()
        self.local = threading.local()

    def append(self, request: RecordedRequest) -> None:
        self.local.last = request
        super().append(request)


class DayModel:
    """Answers requests by the day's script."""

    def __init__(self, day: Day) -> None:
        self.day = day
        self.base_url = ""
        self.prompts: list[Prompt] = []
        self.complaints: list[str] = []
        """Requests that no turn explains."""
        self._numbers = count(1)
        self._calls = count(1)
        self._lock = threading.Lock()

    def answer(self, body: Mapping[str, Any]) -> AIMessage | Failure:
        """Return the answer to one request, and keep the request."""
        number = next(self._numbers)
        messages = body["messages"]
        text = "\n".join(_text(message) for message in messages)
        tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in body.get("tools", ())}
        if tools:
            turn = self._turn(messages)
            answer = self._next(turn, messages, text, tools) if turn else None
        else:
            turn, answer = None, AIMessage(self._summary(text))
        if answer is None:
            self.complaints.append(f"request {number} has no message of the script: {text[-200:]!r}")
            return Failure(status=400)
        called = tuple(call["name"] for call in answer.tool_calls)
        prompt = Prompt(
            number=number, turn=turn, text=text, tools=frozenset(tools), answer=str(answer.content), called=called
        )
        with self._lock:
            self.prompts.append(prompt)
        return answer

    def _turn(self, messages: Sequence[Mapping[str, Any]]) -> Turn | None:
        said = _plain(next((_text(each) for each in reversed(messages) if each["role"] == "user"), ""))
        known = [turn for turn in self.day.turns if _plain(turn.said) in said]
        return max(known, key=lambda turn: len(turn.said), default=None)

    def _next(
        self, turn: Turn, messages: Sequence[Mapping[str, Any]], text: str, tools: Mapping[str, Any]
    ) -> AIMessage:
        start = max(place for place, message in enumerate(messages) if message["role"] == "user")
        running = messages[start:]
        done = {call["function"]["name"] for message in running for call in message.get("tool_calls") or ()}
        calls = [call for call in self._wanted(turn, text, running, tools, done) if call["name"] in tools]
        if calls:
            return AIMessage("", tool_calls=calls)
        if not turn.asks:
            return AIMessage(turn.answer)
        found = [word for word in turn.knows if word.casefold() in text.casefold()]
        return AIMessage(f"{turn.answer} {', '.join(found)}." if found else turn.refusal)

    def _wanted(
        self,
        turn: Turn,
        text: str,
        running: Sequence[Mapping[str, Any]],
        tools: Mapping[str, Any],
        done: set[str],
    ) -> Iterator[ToolCall]:
        """Yield what a sensible model calls now."""
        if not done:
            for fact in turn.save:
                yield self._call("save_memory", text=fact)
            if turn.tool:
                yield self._call("look_up", query=turn.tool)
        unknown = turn.asks and not all(word.casefold() in text.casefold() for word in turn.knows)
        if "recall_memory" not in done and unknown | turn.unknown:
            yield self._call("recall_memory", query=turn.said, limit=MANY)
        if turn.forget and "forget_memory" not in done:
            words = [word for word in turn.gone if word.casefold() in text.casefold()]
            yield from self._change(
                "forget_memory", tools, done, running, words=turn.gone, query=" ".join([turn.forget, *words])
            )
        if turn.update and not done & {"update_memory", "save_memory"}:
            if "update_memory" in tools:
                old = [word for word in planted(self.day.turns, turn.who) if word in turn.was]
                yield from self._change(
                    "update_memory", tools, done, running, words=old, query=turn.was, text=turn.update
                )
            if "update_memory" not in tools or "recall_memory" in done:
                yield self._call("save_memory", text=turn.update)

    def _change(
        self,
        name: str,
        tools: Mapping[str, Any],
        done: set[str],
        running: Sequence[Mapping[str, Any]],
        *,
        words: Sequence[str],
        query: str,
        text: str = "",
    ) -> Iterator[ToolCall]:
        """Yield calls that change memories; a tool that wants an entry_id gets those that a recall found."""
        schema = tools.get(name, {"properties": {}})
        if "entry_id" not in schema["properties"]:
            offered = {"query": query, "text": text or query, "old": query, "new": text, "new_text": text}
            given = {key: value for key, value in offered.items() if key in schema["properties"]}
            yield self._call(name, **given)
        elif "recall_memory" not in done:
            yield self._call("recall_memory", query=query, limit=MANY)
        else:
            for entry in _entries(running, words):
                given = {"text": text} if text else {}
                yield self._call(name, entry_id=entry, **given)

    def _call(self, name: str, **arguments: object) -> ToolCall:
        return ToolCall(name=name, args=arguments, id=f"call-{next(self._calls)}")

    def _summary(self, text: str) -> str:
        """Return a recording's summary, else the facts of those rounds that the text tells, but for forgotten ones."""
        plain = _plain(text.rpartition("<rounds>")[2]).casefold()
        told = [turn for turn in self.day.turns if _plain(turn.said).casefold() in plain]
        if "<transcript>" in text:
            return told[0].heard if told else "A recording."
        gone = [word.casefold() for turn in told for word in turn.gone]
        facts = [
            fact
            for turn in self.day.turns
            for fact in turn.facts
            if turn in told or _plain(fact).casefold() in plain
            if not any(word in fact.casefold() for word in gone)
            if not any(value in fact for value in self.day.private.values())
        ]
        return " ".join(f"{fact}." for fact in dict.fromkeys(facts)) or "Everyday talk."


@contextmanager
def model_of(day: Day) -> Iterator[DayModel]:
    """Run the model behind OpenAI's protocol on this machine."""
    model = DayModel(day)
    heard = _Heard()
    with openai_server() as server:
        server.requests = heard

        def answer(_: OpenAIServer) -> AIMessage | Failure:
            return model.answer(heard.local.last.body)

        server.next_chat_answer = answer.__get__(server)  # type: ignore[method-assign]  # answers depend on what is asked
        model.base_url = server.base_url
        yield model


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(str(part.get("text", "")) for part in content)
    calls = [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    return "\n".join([content, *(json.dumps(json.loads(each), ensure_ascii=False) for each in calls)])


def _plain(text: str) -> str:
    return " ".join(text.split())


def _entries(running: Sequence[Mapping[str, Any]], words: Sequence[str]) -> list[str]:
    """Return the ids of those recalled memories whose text has one of the words."""
    found: list[str] = []
    for message in running:
        if message["role"] == "tool":
            text = _text(message)
            marks = [*ENTRY.finditer(text)]
            ends = [mark.start() for mark in marks[1:]] + [len(text)]
            for mark, end in zip(marks, ends, strict=True):
                if any(word.casefold() in text[mark.end() : end].casefold() for word in words):
                    found.append(mark.group())
    return list(dict.fromkeys(found))
