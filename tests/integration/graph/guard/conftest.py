"""A graph of somebody else's, which keeps everything raw, and what its server does with it."""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, AnyMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.channels import UntrackedValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send, StreamWriter, interrupt

from discreet.graph.guard import GuardedGraph, guarded
from discreet.redaction import Redactor
from discreet.redaction.vault import InMemoryTurnVault
from discreet.state.request_ref import REQUEST_REF, part_key, values_ref

RAW = ("ann@example.com", "bob@example.org", "+1 202 456 1111", "4111 1111 1111 1111", "пётр@example.ru")
REF = "0f9ba759e1bc4588"


class PieceModel(BaseChatModel):
    """Answers with the pieces it is given, each a moment after the other."""

    pieces: list[Any]

    @property
    def _llm_type(self) -> str:
        return "pieces"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        message = self._chunk(self.pieces[0])
        for piece in self.pieces[1:]:
            message += self._chunk(piece)  # type: ignore[assignment]  # two chunks of one kind make one
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for piece in self.pieces:
            yield ChatGenerationChunk(message=self._chunk(piece))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages, stop, **kwargs):
            await asyncio.sleep(0)
            yield chunk

    @staticmethod
    def _chunk(piece: Any) -> AIMessageChunk:
        return piece if isinstance(piece, AIMessageChunk) else AIMessageChunk(content=piece)


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    found: Annotated[list[Any], operator.add]
    scratch: Annotated[Any, UntrackedValue]


class Private(TypedDict):
    note: str


class Whole(State, Private):
    pass


def look(state: State, writer: StreamWriter) -> dict[str, Any]:
    writer({"looking for": RAW[0], "at": [RAW[2]]})
    return {
        "messages": [ToolMessage(f"{RAW[1]} has {RAW[3]}", tool_call_id="call_5f7f2ayrDrYYxOV2EXvyDZhE")],
        "found": [{"to": RAW[1]}],
        "scratch": RAW[4],
        "note": RAW[0],
    }


def read(state: Private) -> dict[str, Any]:
    return {"found": [state["note"]]}


def send(state: State) -> list[Send]:
    return [Send("visit", {"note": each}) for each in RAW[:2]]


def visit(state: Private) -> dict[str, Any]:
    return {"found": [f"visited {state['note']}"]}


def ask(state: State) -> dict[str, Any]:
    answer = interrupt({"question": f"Write to {RAW[1]}?"})
    return {"found": [answer]}


def say(model: BaseChatModel) -> Callable[[State], Any]:
    async def node(state: State) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return node


def foreign(models: Sequence[BaseChatModel] = ()) -> StateGraph[Any, Any, Any, Any]:
    """Return a graph that leaves raw values everywhere it can."""
    inner = StateGraph(State)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    graph = StateGraph(Whole, input_schema=State, output_schema=State)
    graph.add_node("look", look)
    graph.add_node("read", read)
    graph.add_node("visit", visit)
    graph.add_node("sub", inner.compile())
    graph.add_edge(START, "look")
    graph.add_edge("look", "read")
    graph.add_conditional_edges("read", send, ["visit"])
    for number, model in enumerate(models):
        graph.add_node(f"say{number}", say(model))
        graph.add_edge("visit", f"say{number}")
        graph.add_edge(f"say{number}", "sub")
    if not models:
        graph.add_edge("visit", "sub")
    return graph


class Server:
    """Runs a guarded graph as a server does: a copy with its checkpointer, and a request in the vault."""

    def __init__(self, graph: CompiledStateGraph[Any, Any, Any, Any], *, thread: str = "thread-1") -> None:
        self.vault = InMemoryTurnVault()
        self.redactor = Redactor(placeholder_key=bytes(32))
        whole = guarded(graph, vault=self.vault, redactor=self.redactor)
        self.graph: GuardedGraph = whole.copy({"checkpointer": InMemorySaver(), "store": None})
        self.config: dict[str, Any] = {"configurable": {"thread_id": thread, REQUEST_REF: REF}}

    def request(self, **parts: Any) -> None:
        """Keep the raw parts of a request, as the ingress does."""
        self.vault.hold(REF, {part_key(name): json.dumps(part) for name, part in parts.items()})

    def values(self) -> dict[str, str]:
        """Return what the owner's answer may be restored with."""
        return self.vault.values(values_ref(REF))


@pytest.fixture
def serve() -> Callable[..., Server]:
    """Return what serves a graph of somebody else's."""

    def served(models: Sequence[BaseChatModel] = ()) -> Server:
        return Server(foreign(models).compile(name="foreign"))

    return served


@pytest.fixture
def server() -> Callable[..., Server]:
    """Return what serves a compiled graph."""
    return Server


@pytest.fixture
def piece_model() -> type[PieceModel]:
    """Return the class of models that answer in given pieces."""
    return PieceModel


def is_clean(value: Any) -> bool:
    """Whether nothing raw is in what `value` shows."""
    shown = repr(value) + json.dumps(value, default=_shown, ensure_ascii=False)
    return not any(raw in shown for raw in RAW)


def _shown(value: Any) -> Any:
    return value.model_dump() if hasattr(value, "model_dump") else getattr(value, "__dict__", None) or str(value)


@pytest.fixture
def clean() -> Callable[[Any], bool]:
    """Return what tells whether nothing raw is in a value."""
    return is_clean


@pytest.fixture
def raw() -> tuple[str, ...]:
    """Return the values that the graph leaves everywhere."""
    return RAW
