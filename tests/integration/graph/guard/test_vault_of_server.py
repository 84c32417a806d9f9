"""A graph of somebody else's, guarded as the page says, gets what a request really said in a server of several processes too."""

from __future__ import annotations

import pytest
from langgraph.graph import END, START, MessagesState, StateGraph

from discreet.graph.guard import guarded
from discreet.redaction import InMemoryTurnVault
from discreet.redaction.vault import default_vault
from discreet.storage.shared import process_storage


@pytest.mark.parametrize("shared", [False, True])
def test_the_vault_is_the_one_that_the_ingress_holds_requests_in(monkeypatch, shared):
    if shared:
        monkeypatch.setenv("DISCREET_TURN_VAULT", "postgres")
    builder = StateGraph(MessagesState)
    builder.add_node("count", lambda state: {"messages": [("ai", str(len(state["messages"])))]})
    builder.add_edge(START, "count")
    builder.add_edge("count", END)
    graph = guarded(builder.compile())
    assert type(graph.guard.vault) is type(process_storage.vault)
    assert (graph.guard.vault is default_vault()) is not shared
    own = InMemoryTurnVault()
    assert guarded(builder.compile(), vault=own).guard.vault is own
