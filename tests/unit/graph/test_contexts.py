"""A context that can't be taken ends a run with an error of ours, whoever gave it."""

import pytest

from discreet.errors import InvalidContextError
from discreet.graph import build_graph
from discreet.graph.guard import guarded
from discreet.redaction import InMemoryTurnVault


@pytest.mark.parametrize("is_guarded", [True, False])
async def test_a_wrong_context_ends_the_run_with_a_sentence_that_names_the_field(is_guarded):
    graph = build_graph(chat_model="offline").compile()
    graph = guarded(graph, vault=InMemoryTurnVault()) if is_guarded else graph
    with pytest.raises(InvalidContextError, match="model must be a text") as caught:
        await graph.ainvoke({"messages": [("user", "Hi")]}, context={"model": 5})
    assert caught.value.fields == (("model", "must be a text"),)
