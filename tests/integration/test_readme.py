"""The README's snippets, run as they stand there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SNIPPETS = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)


def snippet(containing):
    (found,) = [text for text in SNIPPETS if containing in text]
    names = {}
    exec(compile(found, "README.md", "exec"), names)
    return names


@pytest.fixture(autouse=True)
def own_postgres(empty_database, monkeypatch):
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", empty_database)


async def test_the_graph_answers():
    answer = await snippet("build_graph(")["main"]()
    assert "parrots" in answer


async def test_one_node_brings_memories_into_an_existing_graph():
    assert await snippet("class MyState")["main"]() == "I know: ['Ann keeps two African Grey parrots']"
