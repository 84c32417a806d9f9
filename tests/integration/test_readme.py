"""The README's snippets, run as they stand there."""

import re
from pathlib import Path
from uuid import uuid4

import pytest
from langchain_core.tools import tool

from discreet.providers import chat_model

pytestmark = pytest.mark.slow

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def block(language):
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    return found


def run(code):
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    return names


async def test_the_graph_answers(empty_database, monkeypatch):
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", empty_database)
    assert "parrots" in await run(block("python"))["main"]()


@tool
def where(order: str) -> str:
    """Say where an order is."""
    return f"{order} is on its way."


async def test_six_lines_give_an_agent_a_memory_and_a_clean_database(empty_database):
    diff = block("diff").splitlines()
    assert sum(line.startswith("+") for line in diff) == 6
    before, after = ("\n".join(line[1:] for line in diff if line[:1] != left_out) for left_out in "+-")

    async def told(program):
        answer = None
        for text in ("I keep two African Grey parrots. My e-mail is ann@example.com", "Which birds do I have?"):
            config = {"configurable": {"thread_id": str(uuid4()), "user_id": "ann"}}
            answer = await run(program)["chat"](empty_database, chat_model("offline"), [where], text, config)
        return answer["messages"][-1].text

    assert "African Grey parrots" not in await told(before)
    assert "African Grey parrots" in await told(after)
