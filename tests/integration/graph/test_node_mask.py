"""Whoever shows a graph's answers has the vault of its nodes without being told."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from discreet.graph import TurnRunner, build_graph
from discreet.graph.guard import guarded
from discreet.graph.middleware import MemoryMiddleware
from discreet.redaction.vault import InMemoryTurnVault
from discreet.settings import Settings
from discreet.state.context import Context
from discreet.testing import ScriptedChatModel

THREAD: Any = {"configurable": {"thread_id": "1"}}


def echo() -> ScriptedChatModel:
    return ScriptedChatModel(responses=[lambda prompt: AIMessage(f"You said: {prompt[-1].text}")])


def template(vault: InMemoryTurnVault) -> Any:
    return build_graph(chat_model=echo(), vault=vault).compile(checkpointer=InMemorySaver())


def agent(vault: InMemoryTurnVault) -> Any:
    middleware = MemoryMiddleware(vault=vault, model="offline")
    return create_agent(echo(), middleware=[middleware], checkpointer=InMemorySaver())


def subgraph(vault: InMemoryTurnVault) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("assistant", build_graph(chat_model=echo(), vault=vault).compile())
    builder.add_edge(START, "assistant")
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("house", [template, agent, subgraph])
def test_a_runner_shows_the_values_of_the_graphs_own_vault(house):
    runner = TurnRunner(house(InMemoryTurnVault()))
    state = runner.invoke({"messages": [("user", "I am ann@example.com")]}, THREAD, context=Context(user_id="ann"))
    assert "ann@example.com" in state["messages"][-1].text


def test_a_guard_has_the_vault_of_its_graph():
    vault = InMemoryTurnVault()
    assert guarded(template(vault)).guard.vault is vault
    assert guarded(template(vault), vault=(other := InMemoryTurnVault())).guard.vault is other


def test_a_shared_vault_that_was_not_handed_over_is_told():
    with pytest.warns(UserWarning, match=r"DISCREET_TURN_VAULT=postgres.*vault=storage\.vault"):
        build_graph(chat_model=echo(), settings=Settings(turn_vault="postgres", _env_file=None))
