"""A state of required fields, over turns that don't send all of them: the error says which rule of the policy keeps the field."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from pydantic import BaseModel, ValidationError

from discreet.checkpoint import KEEP, CheckpointPolicy, RedactingSaver
from discreet.graph import TurnRunner

THREAD: Any = {"configurable": {"thread_id": "shop"}}
Said = Annotated[list[AnyMessage], add_messages]


class Modelled(BaseModel):
    messages: Said
    cart: list[str]
    locale: str = "en"


@dataclass
class Plain:
    messages: Said
    cart: list[str]
    locale: str = "en"


def shop(schema: type) -> StateGraph[Any, Any, Any, Any]:
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(schema)
    builder.add_node("say", lambda state: {"messages": [AIMessage(f"{len(state.cart)} items, {state.locale}")]})
    builder.add_edge(START, "say")
    return builder


async def awaited(graph: Any, given: Any) -> Any:
    return await graph.ainvoke(given, THREAD)


async def blocking(graph: Any, given: Any) -> Any:
    return graph.invoke(given, THREAD)


@pytest.mark.parametrize(("schema", "error"), [(Modelled, ValidationError), (Plain, TypeError)])
@pytest.mark.parametrize("turn", [awaited, blocking])
async def test_a_field_that_is_not_kept_is_named_with_its_rule(
    schema: type, error: type[Exception], turn: Callable[..., Any]
) -> None:
    graph = shop(schema).compile(checkpointer=RedactingSaver(InMemorySaver()))
    await turn(graph, {"messages": [("user", "one")], "cart": ["pear"]})
    with pytest.raises(error) as caught:
        await turn(graph, {"messages": [("user", "two")]})
    [note] = [each for each in caught.value.__notes__ if "CheckpointPolicy" in each]
    assert 'CheckpointPolicy(channels={"cart": REDACT})' in note
    assert "locale" not in note


@pytest.mark.parametrize("schema", [Modelled, Plain])
async def test_one_that_is_kept_is_there(schema: type) -> None:
    saver = RedactingSaver(InMemorySaver(), policy=CheckpointPolicy(channels={"cart": KEEP}))
    graph = shop(schema).compile(checkpointer=saver)
    await graph.ainvoke({"messages": [("user", "one")], "cart": ["pear"]}, THREAD)
    assert (await graph.ainvoke({"messages": [("user", "two")]}, THREAD))["messages"][-1].text == "1 items, en"


async def test_an_error_of_a_node_s_own_models_has_no_note() -> None:
    class Order(BaseModel):
        cart: list[str]

    def order(_: Any) -> Any:
        return Order()  # type: ignore[call-arg]  # what a node of somebody's may do

    graph = StateGraph(Plain).add_node("order", order).add_edge(START, "order")
    with pytest.raises(ValidationError) as caught:
        await graph.compile(checkpointer=RedactingSaver(InMemorySaver())).ainvoke(
            {"messages": [("user", "one")], "cart": []}, THREAD
        )
    assert not any("CheckpointPolicy" in note for note in getattr(caught.value, "__notes__", ()))


@pytest.mark.parametrize("schema", [Modelled, Plain])
def test_a_runner_tells_so_before_the_first_turn(schema: type, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "discreet.checkpoint"):
        TurnRunner(shop(schema).compile(checkpointer=RedactingSaver(InMemorySaver())))
    [told] = [each for each in caplog.records if "required_channel_not_kept" in each.message]
    assert told.channel == "cart"  # type: ignore[attr-defined]  # of the event
    assert 'channels={"cart": REDACT}' in told.message
