"""A server without the layers leaks everywhere that is looked at, so that the other tests can fail."""

import pytest
from leak_suite.play import play

UNSEEN = {
    "counted metadata of thread life",
}
"""What a server without any layer leaves nowhere: it is looked at and forgotten."""


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    return play(tmp_path_factory.mktemp("bare") / "project", layers=(), webhooks=True)


@pytest.mark.slow
def test_without_layers_values_are_found_in_every_place(played):
    where = {place.split("/")[0] for places in played.leaks.values() for place in places}
    assert {"log", ".langgraph_ops.pckl", "table checkpoint_blobs", "table checkpoint_writes", "table store"} <= where
