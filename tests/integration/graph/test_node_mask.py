"""A server's guard has the vault of its graph's nodes without being told."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from discreet.graph import build_graph
from discreet.graph.guard import guarded
from discreet.graph.middleware import MemoryMiddleware
from discreet.providers import chat_model
from discreet.redaction.vault import InMemoryTurnVault


def template(vault: InMemoryTurnVault) -> Any:
    return build_graph(chat_model="offline", vault=vault).compile(checkpointer=InMemorySaver())


def agent(vault: InMemoryTurnVault) -> Any:
    middleware = MemoryMiddleware(vault=vault, model="offline")
    return create_agent(chat_model("offline"), middleware=[middleware], checkpointer=InMemorySaver())


def subgraph(vault: InMemoryTurnVault) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("assistant", build_graph(chat_model="offline", vault=vault).compile())
    builder.add_edge(START, "assistant")
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("house", [template, agent, subgraph])
def test_a_guard_has_the_vault_of_its_graph(house):
    vault = InMemoryTurnVault()
    assert guarded(house(vault)).guard.vault is vault
    assert guarded(house(vault), vault=(other := InMemoryTurnVault())).guard.vault is other
