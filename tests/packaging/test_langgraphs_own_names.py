"""What we use of LangGraph that is not its API, in one table: a release that takes one away is told by the name that went.

`make test-newest` runs this on the newest releases, every night and every week.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from discreet.lazy_names import __file__ as of_package

PACKAGES = frozenset({"langgraph", "langchain", "langchain_core", "langgraph_sdk", "langgraph_api"})
ROOMS = Path(of_package).parent
TOP = ROOMS.parents[1]

PRIVATE = {
    ("langgraph.checkpoint.serde.types", "_DeltaSnapshot"): "how a DeltaChannel's value is stored",
}
"""Names with an underscore, by module, and what they are to us."""

RELIED_ON = {
    ("langgraph.checkpoint.postgres.base", "BasePostgresSaver.MIGRATIONS"): "the tables, by version",
    ("langgraph.checkpoint.postgres.base", "BasePostgresSaver.get_next_version"): "how versions are counted",
    (
        "langgraph.checkpoint.postgres.aio",
        "AsyncPostgresSaver._cursor",
    ): "the one door of its statements to the database",
    ("langgraph.checkpoint.postgres", "PostgresSaver._cursor"): "the same, blocking",
    ("langgraph.checkpoint.postgres.aio", "AsyncPostgresSaver.aget_delta_channel_history"): "values of DeltaChannels",
    ("langgraph.checkpoint.postgres", "PostgresSaver.get_delta_channel_history"): "the same, blocking",
    ("langgraph.checkpoint.base", "writes_sort_key"): "the order in which the writes of a step are applied",
    ("langgraph.checkpoint.base", "BaseCheckpointSaver.with_allowlist"): "which types a saver may load",
    ("langgraph.graph.state", "_coerce_state"): "where a state that lacks a required field fails",
    ("langgraph.checkpoint.memory", "InMemorySaver.storage"): "checkpoints of the open turn",
    ("langgraph.checkpoint.memory", "InMemorySaver.writes"): "writes of the open turn",
    ("langgraph.checkpoint.memory", "InMemorySaver.blobs"): "values of the open turn",
}
"""Attributes that are in no reference, or of classes that we build on, by module."""


def private_imports() -> Iterator[tuple[str, str]]:
    """Yield each name with an underscore that a room imports from LangGraph or LangChain."""
    files = [
        *ROOMS.rglob("*.py"),
        *(file for room in ("graph", "nodes", "state", "prompts") for file in (TOP / room).rglob("*.py")),
    ]
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in PACKAGES:
                for alias in node.names:
                    if any(part.startswith("_") for part in (*node.module.split("."), alias.name)):
                        yield node.module, alias.name


@pytest.mark.parametrize(("module", "name"), [*PRIVATE, *RELIED_ON])
def test_what_we_use_of_langgraph_is_there(module, name):
    found: object = import_module(module)
    for part in name.split("."):
        found = getattr(_made_by(found), part, None)
    assert found is not None, f"{module}.{name} went: {({**PRIVATE, **RELIED_ON})[module, name]}"


def _made_by(found: object) -> object:
    """Return what has the attribute: an InMemorySaver has its own when it is made."""
    return found() if isinstance(found, type) and found.__name__ == "InMemorySaver" else found


def test_the_table_has_all_private_names():
    assert set(private_imports()) == set(PRIVATE)
