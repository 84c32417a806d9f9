"""Run one node in a graph of its own, as a user of the nodes would."""

import pytest
from langgraph.graph import END, START, StateGraph

from discreet.state.context import Context
from discreet.state.conversation import ConversationState


@pytest.fixture
def run_node():
    """Return `await run(node, state, **context)`: the state's values after the node ran alone in a graph."""

    async def run(node, state, *, thread_id="thread-1", schema=ConversationState, **context):
        graph = StateGraph(schema, context_schema=Context)
        graph.add_node("node", node)
        graph.add_edge(START, "node")
        graph.add_edge("node", END)
        config = {"configurable": {"thread_id": thread_id}}
        return await graph.compile().ainvoke(state, config, context=Context(**context))

    return run
