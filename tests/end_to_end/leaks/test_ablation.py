"""Without any one of the layers, values are found where that layer kept them from."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from leak_suite.layers import ALL, AUTH, CHECKPOINTER, GUARD, INGRESS, STORE
from leak_suite.play import play

pytestmark = pytest.mark.slow

SCENES = ("template", "wait", "background", "failing", "pauses", "state updates", "store", "crons", "assistants")


@dataclass(frozen=True)
class Missing:
    """What is found without a layer."""

    leaks: dict[str, str] = field(default_factory=dict)
    """Some of the values, and where they are."""
    given_away: frozenset[str] = frozenset()


WITHOUT = {
    INGRESS: Missing(
        {
            "input of background": ".langgraph_ops.pckl",
            "metadata of wait": ".langgraph_ops.pckl",
            "configurable of wait": ".langgraph_ops.pckl",
            "context of background": ".langgraph_ops.pckl",
            "tag of wait": ".langgraph_ops.pckl",
            "resume value, wait of pauses": ".langgraph_ops.pckl",
            "thread input of crons": ".langgraph_ops.pckl",
            "name of assistants": ".langgraph_ops.pckl",
            "context of assistants": ".langgraph_ops.pckl",
        }
    ),
    GUARD: Missing(
        {
            "tool result of wait": ".langgraph_ops.pckl",
            "private channel of wait": ".langgraph_ops.pckl",
            "untracked channel of background": ".langgraph_ops.pckl",
            "interrupt payload of pauses": ".langgraph_ops.pckl",
            "subgraph before pausing of pauses": ".langgraph_ops.pckl",
            "exception of failing": ".langgraph_ops.pckl",
        }
    ),
    CHECKPOINTER: Missing(
        {
            "tool result of wait": "table checkpoint_blobs",
            "private channel of wait": "table checkpoint_writes",
            "interrupt payload of pauses": "table checkpoint_writes",
            "exception of failing": "table checkpoint_writes",
        }
    ),
    STORE: Missing({"store put of a node of wait": "table store"}),
    AUTH: Missing(
        {"identity, owner of wait": ".langgraph_ops.pckl"},
        frozenset({"GET /threads/…", "GET /threads/…/state", "GET /runs/crons/…", "PATCH /assistants/…"}),
    ),
}


def test_there_is_an_ablation_of_every_layer():
    assert WITHOUT.keys() == ALL


@pytest.mark.parametrize("layer", sorted(ALL))
def test_without_a_layer_values_are_found(tmp_path, layer):
    played = play(tmp_path / "project", ALL - {layer}, scenes=SCENES)
    missing = WITHOUT[layer]
    assert {name: where for name, where in missing.leaks.items() if where not in played.leaks.get(name, ())} == {}
    assert missing.given_away <= played.given_away
    assert layer == AUTH or not played.given_away
