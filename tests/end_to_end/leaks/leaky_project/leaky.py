"""Graphs that leave sensitive values wherever a graph can leave something.

Nothing here knows of Discreet but the template: it stands for the code of somebody who never thought of privacy. What a
run is to do stands in its input, as `steps`, and the route whose values it plants as `route`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Annotated, Any

from kit.planter import Planter
from langchain_core.callbacks import CallbackManagerForLLMRun, adispatch_custom_event
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.channels import UntrackedValue
from langgraph.config import get_store, get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from leak_suite.digest import digest
from typing_extensions import TypedDict

from discreet.providers.streaming import stream_chunks
from discreet.testing.strict_model import StrictChatModel

plants = Planter(int(os.environ["LEAK_SEED"]))

ROUTE = "route "
"""Stands before the route's name in a message to the template."""

LONG_CHARS = 5000
PIECE_CHARS = 211


class LeakyState(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    steps: list[str]
    route: str
    scratch: str
    table: dict[str, Any]
    hidden: Annotated[str, UntrackedValue]
    answer: Any


class PrivateState(TypedDict, total=False):
    private: str
    route: str


class SubState(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    route: str
    answer: Any
    notes: str


async def work(state: LeakyState) -> dict[str, Any]:
    """Fill the state, the streams and the store, as a node that calls a tool does."""
    route = state.get("route", "")
    get_stream_writer()({"progress": plants.value("stream writer", route)})
    await adispatch_custom_event("progress", {"note": plants.value("custom event", route)})
    await get_store().aput(("notes", "leaky"), route or "none", {"text": plants.value("store put of a node", route)})
    call = {"name": "look_up", "args": {"query": plants.value("tool argument", route)}, "id": f"call-{route}"}
    return {
        "messages": [
            AIMessage(plants.value("plan", route), tool_calls=[call]),
            ToolMessage(
                plants.value("tool result", route),
                tool_call_id=call["id"],
                name="look_up",
                artifact={"row": plants.value("artifact", route)},
                additional_kwargs={"trace": plants.value("additional kwargs", route)},
            ),
        ],
        "scratch": plants.value("state channel", route),
        "table": {plants.value("key of a state channel", route): [plants.value("list in a state channel", route)]},
        "hidden": plants.value("untracked channel", route),
    }


def hide(state: LeakyState) -> PrivateState:
    """Hand something to the next node in a channel that no schema of the graph's shows."""
    return {"private": plants.value("private channel", state.get("route", ""))}


def seek(state: PrivateState) -> LeakyState:
    """Take what `hide` handed over."""
    return {"scratch": f"{state['private']} was hidden."}


async def wait(state: LeakyState) -> dict[str, Any]:
    """Keep the run alive for a while: rows of running runs are on disk then."""
    await asyncio.sleep(
        float(next(step for step in state["steps"] if step.startswith("wait")).removeprefix("wait") or 1)
    )
    return {}


def fail(state: LeakyState) -> dict[str, Any]:
    """Raise what holds values in its message, its cause, its notes and the locals of its frames."""
    route = state.get("route", "")
    secret_local = plants.value("local of a frame", route)
    try:
        _look_up(route)
    except KeyError as error:
        failure = RuntimeError(f"Could not look up {plants.value('exception', route)}.")
        failure.add_note(
            f"While looking up {plants.value('note of an exception', route)}, {len(secret_local)} letters."
        )
        raise failure from error


def _look_up(route: str) -> None:
    raise KeyError(plants.value("cause of an exception", route))


def ask(state: SubState) -> dict[str, Any]:
    """Pause inside a subgraph, and keep what the answer says."""
    route = state.get("route", "")
    question = {"question": f"Is it {plants.value('interrupt payload', route)}?"}
    answer = interrupt(question)
    return {
        "answer": answer,
        "notes": plants.value("channel of a subgraph", route),
        "messages": [AIMessage(f"You said {answer}, {plants.value('message of a subgraph', route)}.")],
    }


def begin_asking(state: SubState) -> dict[str, Any]:
    """Say something in the subgraph before it pauses."""
    return {"messages": [AIMessage(f"I ask about {plants.value('subgraph before pausing', state.get('route', ''))}.")]}


async def reply(state: LeakyState) -> dict[str, Any]:
    """Answer with what the user said and a word that tells that it was the real text."""
    message = await MODEL.ainvoke([m for m in state["messages"] if isinstance(m, HumanMessage)] or [HumanMessage("Hi")])
    return {"messages": [message]}


def echo(messages: list[BaseMessage]) -> AIMessage:
    """Answer as a model that repeats what it read."""
    text = messages[-1].text
    return AIMessage(f"I read {digest(text)}. You wrote: {text} That is all I can say about it.")


def _wants(state: LeakyState, name: str) -> bool:
    return any(step.startswith(name) for step in state.get("steps") or ())


def make_leaky_graph() -> StateGraph[LeakyState]:
    """Return the builder of a graph that knows nothing of privacy."""
    questions = StateGraph(SubState)
    questions.add_node("begin_asking", begin_asking)
    questions.add_node("ask", ask)
    questions.add_edge(START, "begin_asking")
    questions.add_edge("begin_asking", "ask")
    questions.add_edge("ask", END)

    builder = StateGraph(LeakyState)
    builder.add_node("work", work)
    builder.add_node("hide", hide)
    builder.add_node("seek", seek)
    builder.add_node("wait", wait)
    builder.add_node("fail", fail)
    builder.add_node("ask", questions.compile())
    builder.add_node("reply", reply)
    order = ["work", "hide", "wait", "ask", "fail", "reply"]

    def after(name: str):
        rest = order[order.index(name) + 1 :]

        def go(state: LeakyState) -> str:
            return next((step for step in rest if step == "reply" or _wants(state, step)), "reply")

        return go

    def begin(state: LeakyState) -> str:
        return next((step for step in order if step == "reply" or _wants(state, step)), "reply")

    builder.add_conditional_edges(START, begin, order)
    builder.add_conditional_edges("work", after("work"), order)
    builder.add_edge("hide", "seek")
    builder.add_conditional_edges("seek", after("hide"), order)
    builder.add_conditional_edges("wait", after("wait"), order)
    builder.add_conditional_edges("ask", after("ask"), order)
    builder.add_edge("reply", END)
    return builder


@tool
def look_up(query: str) -> str:
    """Look up what is known about a text."""
    route = _route(query)
    return f"The tool read {digest(query)} and found {plants.value('tool result', route)}."


def answer(messages: list[BaseMessage]) -> AIMessage:
    """Call the tool with the user's words, then answer with what both said."""
    said = next(message.text for message in reversed(messages) if isinstance(message, HumanMessage))
    last = messages[-1]
    if isinstance(last, ToolMessage):
        return AIMessage(f"The model read {digest(said)}. You wrote: {said} {last.text} That is all.")
    return AIMessage("", tool_calls=[{"name": "look_up", "args": {"query": said}, "id": f"call-{len(messages)}"}])


def _route(text: str) -> str:
    _, _, rest = text.partition(ROUTE)
    return rest.split(":", 1)[0]


class LeakyChatModel(StrictChatModel):
    """Streams short answers word by word, and long ones in pieces of one length, which cut words and values."""

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        message = self._next(messages, kwargs)
        text = message.text
        if len(text) <= LONG_CHARS:
            yield from stream_chunks(message)
            return
        for start in range(0, len(text), PIECE_CHARS):
            yield ChatGenerationChunk(message=AIMessageChunk(content=text[start : start + PIECE_CHARS]))
        yield from stream_chunks(message.model_copy(update={"content": ""}))


MODEL = LeakyChatModel(answer=echo)
TEMPLATE_MODEL = LeakyChatModel(answer=answer)
