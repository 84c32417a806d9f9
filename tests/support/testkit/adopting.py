"""Agents as applications have them, played with the saver of LangGraph alone and with ours and the memory beside it.

`play` runs the turns of an `Adopter` and notes what the caller, the model, the tools and `get_state` see. The values of the
two sides differ and are named in what is noted, so that the sides can be compared and only one side's values searched.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import logging
import re
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from uuid import uuid4

from kit.places import ChangedFiles, rows
from kit.planter import PERSONAL, WORDS, Planter
from kit.search import search
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.types import Interrupt
from pydantic import BaseModel, Field

from discreet.checkpoint import CheckpointPolicy, RedactingSaver, RedactingSyncSaver
from discreet.graph.middleware import MemoryMiddleware
from discreet.storage import Storage, open_storage, open_storage_sync

MEMORY_TOOLS: Final = frozenset({"save_memory", "recall_memory", "update_memory", "forget_memory"})
PRIVATE: Final = frozenset({"request", "gate", "memories", "hitl_edited_tool_calls"})
"""Channels of middleware, ours and LangChain's: LangGraph streams what is private in a state too, and no policy names it."""
HIDDEN: Final = re.compile(r"\[REDACTED_(?:EMAIL|CREDIT_CARD)\]|<(?:EMAIL|CARD)>")
"""What stands for a value that PIIMiddleware took out of the user's message: its own mark, in later turns ours."""
MODES: Final = ("values", "updates", "messages", "custom", "tasks", "debug")


@asynccontextmanager
async def adopted(
    dsn: str, policy: CheckpointPolicy | None = None, **options: Any
) -> AsyncIterator[tuple[Any, list[Any], Storage]]:
    """Yield what an application adopts: the saver, its middleware with `options`, and the storage behind both."""
    async with open_storage(dsn) as storage:
        saver = RedactingSaver.from_storage(storage, policy=policy)
        await saver.setup()
        yield saver, [MemoryMiddleware(storage, **options)], storage


@contextmanager
def adopted_sync(dsn: str, policy: CheckpointPolicy | None = None) -> Iterator[tuple[Any, list[Any], Storage]]:
    """Yield the same for a program without an event loop."""
    with open_storage_sync(dsn) as storage:
        saver = RedactingSyncSaver.from_storage(storage, policy=policy)
        saver.setup()
        yield saver, [MemoryMiddleware(storage)], storage


class Said:
    """The values that one side plants: those of the user, of tools, and of pictures and files."""

    def __init__(self, dsn: str | None = None, *, seed: int | None = None) -> None:
        self.planter = Planter(families=(WORDS, PERSONAL)) if seed is None else Planter(seed, (WORDS, PERSONAL))
        self.mail, self.other_mail, self.tool_mail = map(self.planter.email, ("mail", "other", "tool"))
        self.phone = self.planter.value("phone", "call", "phone")
        self.card = self.planter.grouped_card("card")
        self.png = _base64(_png(self.planter.raw("picture").encode()))
        self.pdf = _base64(b"%PDF-1.4\n%" + self.planter.raw("file").encode() + b"\n%%EOF\n")
        self.thread = str(uuid4())
        self._names = {value: f"«{name}»" for name, value in self.planter.named.items()}
        self._names |= {self.png: "«png»", self.pdf: "«pdf»"}
        self._dsn = dsn
        self._files = ChangedFiles(dsn) if dsn else ()

    def config(self, **configurable: Any) -> RunnableConfig:
        return {"configurable": {"thread_id": self.thread, "user_id": "ann", **configurable}}

    def neutral(self, text: str) -> str:
        """Return `text` with the names of planted values in place of them."""
        for value, name in self._names.items():
            text = text.replace(value, name)
        return text

    def plain(self, thing: Any) -> Any:
        """Return messages, interrupts, objects and what holds them as JSON that the two sides can be compared by."""
        return json.loads(json.dumps(self._plain(thing), default=str))

    def _plain(self, thing: Any) -> Any:
        told = thing
        match thing:
            case BaseMessage():
                told = _message(thing, self._plain)
            case Interrupt():
                told = {"interrupt": self._plain(thing.value)}
            case str():
                told = HIDDEN.sub("[hidden]", self.neutral(thing))
            case BaseModel():
                told = {type(thing).__name__: self._plain(thing.model_dump())}
            case Mapping():
                told = {key: self._plain(value) for key, value in thing.items()}
            case list() | tuple() | set():
                told = [self._plain(each) for each in thing]
            case _ if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
                told = {type(thing).__name__: self._plain(dataclasses.asdict(thing))}
        return told

    def on_disk(self, *, files: bool = True) -> dict[str, set[str]]:
        """Return which values are where in the database, and in the `files` of its server that have changed."""
        assert self._dsn is not None
        return search([*rows(self._dsn), *(self._files if files else ())], self.planter).leaks


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _png(word: bytes) -> bytes:
    """Return a picture of one pixel with `word` in its comment."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    comment, pixel = chunk(b"tEXt", b"Comment\0" + word), chunk(b"IDAT", zlib.compress(b"\0\0"))
    return b"\x89PNG\r\n\x1a\n" + header + comment + pixel + chunk(b"IEND", b"")


def _message(message: BaseMessage, plain: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a message without what is drawn anew in each run: ids, but those that the application gave."""
    known = {"id": message.id} if (message.id or "").startswith(("m-", "a-")) else {}
    fields = ("name", "additional_kwargs", "response_metadata", "usage_metadata", "tool_call_id", "artifact", "status")
    told = {name: value for name in fields if (value := getattr(message, name, None))}
    calls = [(call["name"], call["args"], call["id"]) for call in getattr(message, "tool_calls", [])]
    return {"type": message.type, "content": plain(message.content), **known, **plain(told), "calls": plain(calls)}


STRUCTURED: Final = frozenset({"Booking", "Receipt", "Note"})
"""Structured responses, which later turns have as an answer, as JSON, where the stock saver has a call and its result."""


def dialogue(messages: Iterable[BaseMessage]) -> list[tuple[str, str]]:
    """Return what people and models said, as it is kept of turns that are over; tool traffic isn't."""
    told = [(each.type, _said(each)) for each in messages if each.type in {"human", "ai"}]
    return [(kind, text) for kind, text in told if text]


def _said(message: BaseMessage) -> str:
    if message.text.startswith("{"):
        return json.dumps(json.loads(message.text))
    structured = [json.dumps(c["args"]) for c in getattr(message, "tool_calls", []) if c["name"] in STRUCTURED]
    return "".join([message.text, *structured])


def conversation(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """Return earlier turns as they are kept, and the newest turn whole."""
    begins = max((at for at, each in enumerate(messages) if each.type == "human"), default=0)
    return {"earlier": dialogue(messages[:begins]), "turn": list(messages[begins:])}


Reply = AIMessage | Callable[[list[BaseMessage]], AIMessage]


class Recorder(BaseChatModel):
    """A model that gives its replies in turn, the last one again and again if it `repeats`, and notes what it is sent."""

    replies: list[Any]
    repeats: bool = False
    prompts: list[list[BaseMessage]] = Field(default_factory=list)
    tools: list[list[str]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "recorder"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        return self.bind(tools=[each.name if isinstance(each, BaseTool) else str(each) for each in tools], **options)

    def _reply(self, messages: list[BaseMessage], options: Mapping[str, Any]) -> AIMessage:
        self.prompts.append([each.model_copy(deep=True) for each in messages])
        self.tools.append(sorted(set(options.get("tools") or ()) - MEMORY_TOOLS))
        assert self.replies, "the model was called once more than in the script"
        reply = self.replies[0] if self.repeats else self.replies.pop(0)
        message: AIMessage = (reply if isinstance(reply, AIMessage) else reply(messages)).model_copy(deep=True)
        message.usage_metadata = {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12}
        message.response_metadata = {"model_name": "recorder-1", "finish_reason": "stop"}
        return message

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._reply(messages, options))])

    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any
    ) -> Iterator[ChatGenerationChunk]:
        reply = self._reply(messages, options)
        pieces = re.findall(r"\s*\S{1,6}", reply.content) if isinstance(reply.content, str) else [reply.content]
        calls = [
            {"name": call["name"], "args": json.dumps(call["args"]), "id": call["id"], "index": at}
            for at, call in enumerate(reply.tool_calls)
        ]
        chunks = [AIMessageChunk(content=piece, id=reply.id) for piece in pieces]
        chunks.append(
            AIMessageChunk(
                content="",
                id=reply.id,
                tool_call_chunks=calls,
                usage_metadata=reply.usage_metadata,
                response_metadata=reply.response_metadata,
                chunk_position="last",
            )
        )
        for chunk in chunks:
            generation = ChatGenerationChunk(message=chunk)
            if run_manager:
                run_manager.on_llm_new_token(chunk.text, chunk=generation)
            yield generation


@dataclass
class Agent:
    """What an application builds its graph of; `memory` is our middleware, or nothing."""

    said: Said
    checkpointer: Any
    memory: list[Any]
    llm: Recorder
    got: list[Any] = field(default_factory=list)
    """What tools, nodes and other middleware were given."""
    others: dict[str, Recorder] = field(default_factory=dict)

    def model(self, name: str, reply: Reply) -> Recorder:
        """Return a further model that gives one reply whenever it is asked."""
        return self.others.setdefault(name, Recorder(replies=[reply], repeats=True))

    def tools(self) -> list[BaseTool]:
        """Return a tool whose result has values that nobody said, and one whose argument has."""

        @tool(response_format="content_and_artifact")
        def find_customer(name: str) -> tuple[str, dict[str, str]]:
            """Find a customer."""
            self.got.append({"find_customer": name})
            return f"{name} has {self.said.tool_mail} and {self.said.phone}.", {"row": self.said.tool_mail}

        @tool
        def send(to: str, text: str) -> str:
            """Send an e-mail."""
            self.got.append({"send": to})
            return f"Sent to {to}."

        return [find_customer, send]


class Turn(NamedTuple):
    given: Any
    """Input, or a `Command`."""
    replies: list[Reply]


@dataclass(frozen=True)
class Adopter:
    """How an application builds its graph, and what is said to it and by its model."""

    build: Callable[[Agent], Any]
    turns: Callable[[Said], list[Turn]]
    policy: CheckpointPolicy | None = None


class Shown(NamedTuple):
    """What was seen of an adopter's turns, as plain JSON; `raw` are the results themselves."""

    caller: list[Any]
    model: list[Any]
    tools: list[Any]
    state: list[Any]
    streams: list[Any]
    raw: list[Any]

    def differences(self, other: Shown) -> dict[str, Any]:
        """Return by its place what differs, as what this one has and what `other` has."""
        pairs = zip(self._fields[:-1], self, other, strict=False)
        return {place: pair for name, *sides in pairs for place, *pair in _differences(name, *sides)}


def _differences(place: str, ours: Any, theirs: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in {**theirs, **ours}:
            yield from _differences(f"{place}.{key}", ours.get(key, "nothing"), theirs.get(key, "nothing"))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for at, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from _differences(f"{place}[{at}]", *pair)
    elif ours != theirs:
        yield place, ours, theirs


async def play(
    adopter: Adopter,
    said: Said,
    saver: Any,
    memory: Sequence[Any] = (),
    *,
    face: str = "async",
    only: Sequence[int] | None = None,
    streamed: bool = False,
    subgraphs: bool = False,
) -> Shown:
    """Play the turns of an adopter, or `only` some by number, and return what was seen."""
    turns = adopter.turns(said)
    turns = turns if only is None else [turns[at] for at in only]
    agent = Agent(said, saver, list(memory), Recorder(replies=[reply for turn in turns for reply in turn.replies]))
    graph = adopter.build(agent)
    caller, states, streams, raw = [], [], [], []
    for turn in turns:
        if streamed:
            events = [each async for each in _chunks(graph, turn.given, said.config(), face, subgraphs=subgraphs)]
            streams.append(_seen_of(events, said))
        else:
            given = (turn.given, said.config())
            result = await graph.ainvoke(*given) if face != "sync" else graph.invoke(*given)
            raw.append(result)
            caller.append(said.plain(_result(result)))
        states.append(await state_of(graph, said, face))
    asked = {"": agent.llm, **agent.others}
    model = [
        {"model": name, "tools": tools, **said.plain(_prompt(prompt))}
        for name, each in asked.items()
        for prompt, tools in zip(each.prompts, each.tools, strict=True)
    ]
    assert agent.llm.replies == [], "the model was called less often than in the script"
    return Shown(caller, model, said.plain(agent.got), states, streams, raw)


def _result(result: Mapping[str, Any]) -> dict[str, Any]:
    return {**result, "messages": conversation(result.get("messages", []))}


def _update(update: Any) -> Any:
    """Return what a node wrote; of an agent that is a node the earlier turns as they are kept."""
    if not isinstance(update, Mapping) or len(update.get("messages", ())) < 2:
        return update
    return _result(update)


def _streamed(values: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: item for name, item in values.items() if name not in PRIVATE}
    if (
        shown["messages"][-1:] and shown["messages"][-1].type == "human"
    ):  # what the agent answered last time is kept as text
        shown.pop("structured_response", None)
    return _result(shown)


def _prompt(prompt: list[BaseMessage]) -> dict[str, Any]:
    """Return a prompt with its system message apart, cut where memory adds to it."""
    system = [each.text for each in prompt if isinstance(each, SystemMessage)]
    rest = [each for each in prompt if not isinstance(each, SystemMessage)]
    own = system[0].partition("END.")[0] if system and "END." in system[0] else ""
    return {"system": own, **conversation(rest)}


async def state_of(graph: Any, said: Said, face: str = "async") -> Any:
    """Return what `get_state` shows of the thread to who knows its id alone."""
    config: RunnableConfig = {"configurable": {"thread_id": said.thread}}
    state = await graph.aget_state(config) if face != "sync" else graph.get_state(config)
    told = {"messages": dialogue(state.values.get("messages", []))}
    return said.plain({**told, "next": state.next, "interrupts": [each.value for each in state.interrupts]})


async def _chunks(graph: Any, given: Any, config: Any, face: str, *, subgraphs: bool) -> AsyncIterator[Any]:
    options = {"stream_mode": list(MODES), "subgraphs": subgraphs}
    if face == "events":
        async for event in graph.astream_events(given, config, version="v2"):
            yield event
    elif face == "async":
        async for chunk in graph.astream(given, config, **options):
            yield chunk
    else:
        for chunk in graph.stream(given, config, **options):
            yield chunk


def _seen_of(events: list[Any], said: Said) -> dict[str, list[Any]]:
    """Return what can be compared of a stream, by its mode: without ids, times and the steps of our own middleware.

    The pieces of a text are joined, since a value may stand in several, and their lengths kept.
    """
    seen: dict[str, list[Any]] = {}
    for event in events:
        mode, told = (event["event"], _event(event)) if isinstance(event, dict) else (event[-2], _chunk(*event[-2:]))
        if not isinstance(event, dict) and len(event) > 2:
            mode += f" at depth {len(event[0])}"
        before = seen.setdefault(mode, [])
        if told and "pieces" in told and before and before[-1].get("from") == told["from"]:
            before[-1]["text"] += told["text"]
            before[-1]["pieces"] += told["pieces"]
        elif told and not (mode == "values" and before[-1:] == [told]):  # a step of ours repeats the values before it
            before.append(told)
    for each in (piece for told in seen.values() for piece in told if "pieces" in piece):
        each["from"] = each["from"][0]
    return {mode: said.plain(told) for mode, told in seen.items()}


def _is_ours(name: str) -> bool:
    return name.startswith("MemoryMiddleware.")


def _chunk(mode: str, chunk: Any) -> Any:
    match mode:
        case "messages":
            return _piece(*chunk)
        case "updates":
            return {name: _update(update) for name, update in chunk.items() if not _is_ours(name)}
        case "values":
            return _streamed(chunk)
        case "tasks":
            return _task(chunk)
        case "debug":
            return _task(chunk["payload"]) if chunk["type"] != "checkpoint" else None
    return chunk


def _piece(message: BaseMessage, about: Mapping[str, Any]) -> Any:
    """Return a piece of a model's text, or a message that is no such piece."""
    if isinstance(message, AIMessageChunk) and message.content and isinstance(message.content, str):
        text = message.content
        return {"from": [about["langgraph_node"], message.id], "text": text, "pieces": [len(text)]}
    told = message.model_dump(include={"type", "content", "name", "artifact", "status", "tool_call_id"})
    return {"node": about["langgraph_node"], **told, "calls": getattr(message, "tool_call_chunks", [])}


def _task(task: Mapping[str, Any]) -> Any:
    """Return name, result and interrupts of a task; the state that it is given has channels of ours."""
    if _is_ours(task["name"]) or "result" not in task:
        return None
    result = _update(task["result"] or {})
    return {"name": task["name"], "result": result, "waits": len(task["interrupts"]), "error": task["error"]}


def _event(event: Mapping[str, Any]) -> Any:
    kind, data = event["event"], event["data"]
    if kind == "on_chat_model_stream":
        return _piece(data["chunk"], event["metadata"])
    if kind == "on_chat_model_end":
        return data["output"]
    if kind in {"on_tool_start", "on_tool_end"}:
        return {"name": event["name"], **{at: data.get(at) for at in ("input", "output")}}
    if kind == "on_chain_end" and not event["parent_ids"]:
        return _streamed(data["output"])
    return None


def human(number: int, content: Any, **channels: Any) -> dict[str, Any]:
    """Return the input of a turn: a message with an id of the application's own."""
    return {"messages": [HumanMessage(content, id=f"m-{number}")], **channels}


def answer(text: str) -> AIMessage:
    return AIMessage(text)


def call(name: str, turn: int, /, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"call-{turn}-{name}"}])


def mail_in(seen: Iterable[BaseMessage]) -> str:
    """Return what the model reads where the user told their address, whatever stands there."""
    told = (re.search(r"e-mail is (\S+)", each.text) for each in seen)
    return next((match[1] for match in told if match), "nobody")


def sends(turn: int) -> Callable[[list[BaseMessage]], AIMessage]:
    return lambda seen: call("send", turn, to=mail_in(seen), text="Hello")


def has_sent(seen: list[BaseMessage]) -> AIMessage:
    return answer(f"I have written to {mail_in(seen)} for you.")


@contextmanager
def warnings_told() -> Iterator[list[str]]:
    """Yield the lines that are logged as warnings or worse."""
    told: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]  # a handler of one line
    logging.getLogger().addHandler(handler)
    try:
        yield told
    finally:
        logging.getLogger().removeHandler(handler)
