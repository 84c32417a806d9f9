"""What `discreet chat` says beside the answers, and how it ends."""

import asyncio
import io
import json

import pytest
from langchain_core.messages import ToolMessage
from rich.console import Console

from discreet.cli.chat import _notes, finish, run_chat
from discreet.nodes.background_tasks import BackgroundTasks

MEMORY = {"entry_id": "0f8fad5b-d9cb-469f-a165-70867728950e", "text": "Keeps parrots. " * 10, "relevance": 0.87}


def notes(name, text, **fields):
    message = ToolMessage(text, name=name, tool_call_id="c1", **fields)
    return list(_notes({"tools": {"messages": [message]}}))


def test_memories_of_a_recall_are_told():
    told = notes("recall_memory", json.dumps({"memories": [MEMORY] * 3}))
    assert told == [("recalled", f"{MEMORY['text']} (0.87)")] * 3


@pytest.mark.parametrize(
    ("name", "result", "told"),
    [
        ("save_memory", {"saved": True, "text": "Keeps parrots"}, [("stored", "Keeps parrots")]),
        (
            "save_memory",
            {"saved": True, "text": "Called Linh", "also": [{"entry_id": "2", "text": "Lives in Hanoi"}]},
            [("stored", "Called Linh"), ("stored", "Lives in Hanoi")],
        ),
        ("update_memory", {"updated": True, "entry_id": "1", "text": "Keeps owls"}, [("updated", "Keeps owls")]),
        ("update_memory", {"updated": False, "entry_id": "1"}, []),
        ("forget_memory", {"deleted": True, "entry_id": "1"}, [("forgotten", "1")]),
        (
            "forget_memory",
            {"deleted": True, "entry_id": "1", "also": [{"entry_id": "2", "type": "fact"}]},
            [("forgotten", "1"), ("forgotten", "2")],
        ),
        ("forget_memory", {"deleted": False, "entry_id": "1"}, []),
        ("forget_memory", {"deleted": False, "still": []}, []),
        ("forget_memory", {"deleted": True, "rounds": 3}, [("forgotten", "what was said of it (rounds: 3)")]),
        ("weather", {"hanoi": 31}, []),
    ],
)
def test_what_a_tool_did_is_a_line(name, result, told):
    assert notes(name, json.dumps(result)) == told


@pytest.mark.parametrize("name", ["save_memory", "update_memory", "recall_memory", "forget_memory"])
@pytest.mark.parametrize("text", ["", "not found", '{"memories": [', "[]", "7", '{"memories": 7, "also": "x"}'])
def test_a_result_that_can_not_be_read_ends_nothing(name, text):
    assert notes(name, text) == []


def test_a_refusal_is_told():
    assert notes("save_memory", "It is a secret.", status="error") == [("refused", "It is a secret.")]


def test_other_updates_of_the_tools_are_passed_over():
    assert list(_notes({"tools": [object()]})) == []
    assert list(_notes({"tools": None})) == []


def test_work_under_way_is_finished_at_the_end_with_a_line_that_says_so():
    said, done = io.StringIO(), []

    async def work():
        await asyncio.sleep(0.05)
        done.append(1)

    tasks = BackgroundTasks(limit=1)

    async def begin():
        tasks.start("k", work)

    with asyncio.Runner() as runner:
        finish(Console(file=said), runner)
        assert said.getvalue() == ""
        runner.run(begin())
        finish(Console(file=said), runner)
    assert done == [1]
    assert "Finishing the summary" in said.getvalue()


def test_ctrl_c_around_the_chat_is_a_line_and_no_traceback(monkeypatch, capsys):
    def interrupted(_console):
        raise KeyboardInterrupt

    # nobody presses a key just while the storage opens or closes
    monkeypatch.setattr("discreet.cli.chat.opened_storage", interrupted)
    run_chat(user="ann", thread=None, model=None)
    assert capsys.readouterr().out == "Stopped.\n"
