import asyncio
import json
from typing import Annotated

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt
from pydantic import AfterValidator, BaseModel, Field

from discreet.errors import ConfigurationError, SecretRefusedError, StorageUnavailableError
from discreet.metrics import tool_errors
from discreet.nodes.tools import MemorySave
from discreet.nodes.tools.errors import tool_error
from discreet.testing import InMemoryMemories

SECRET = "planted-7c1e"


def graph_of(*tools):
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode(list(tools), handle_tool_errors=tool_error))
    graph.add_edge(START, "tools")
    return graph


def asking(name, **arguments):
    call = {"name": name, "args": arguments, "id": "c1"}
    return {"messages": [HumanMessage("Go"), AIMessage("", tool_calls=[call])]}


def failing(error):
    @tool
    def broken() -> str:
        """Fail."""
        raise error

    return broken


async def answer(some_tool, **arguments):
    state = await graph_of(some_tool).compile().ainvoke(asking(some_tool.name, **arguments))
    message = state["messages"][-1]
    assert message.status == "error"
    (told,) = json.loads(message.content).values()
    return told


@pytest.mark.parametrize(
    ("error", "code", "message", "retryable"),
    [
        (SecretRefusedError(), "memory_secret", "Secrets are never kept", False),
        (StorageUnavailableError(), "storage_unavailable", "can't be reached", True),
        (ConfigurationError("Set X."), "configuration", "Set X.", False),
        (ToolException("No such city. Ask the user."), "tool_failed", "No such city. Ask the user.", False),
        (ToolException(), "tool_failed", "The tool failed.", False),
        (TimeoutError(SECRET), "timeout", "took too long", True),
        (OSError(f"postgres://{SECRET}@db.internal"), "tool_failed", "The tool failed: OSError.", False),
        (KeyError(SECRET), "tool_failed", "The tool failed: KeyError.", False),
        (ExceptionGroup(SECRET, [ValueError(SECRET)]), "tool_failed", "The tool failed: ExceptionGroup.", False),
    ],
)
async def test_a_failed_tool_tells_a_code_and_what_to_do(error, code, message, retryable):
    before = tool_errors.labels(code)._value.get()
    told = await answer(failing(error))
    assert (told["code"], told["retryable"]) == (code, retryable)
    assert message in told["message"]
    assert SECRET not in json.dumps(told)
    assert tool_errors.labels(code)._value.get() == before + 1


def _odd(number: int) -> int:
    if number % 2 == 0:
        raise ValueError(f"{number} is even")
    return number


def _short(text: str) -> str:
    if len(text) > 3:
        raise ValueError("write three letters")
    return text


class Party(BaseModel):
    guests: Annotated[int, AfterValidator(_odd)] = 1
    code: Annotated[str, AfterValidator(_short)] = "abc"
    size: int = Field(default=1, le=9)


@tool(args_schema=Party)
def invite(guests: int, code: str, size: int) -> str:
    """Invite."""
    return "done"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"guests": SECRET}, "guests: Input should be a valid integer, unable to parse string as an integer"),
        ({"size": "99"}, "size: Input should be less than or equal to 9"),
        ({"guests": 4242}, "guests: This value can't be taken"),
        ({"code": SECRET}, "code: Value error, write three letters"),
        (
            {"size": 10, "code": "abcd"},
            "code: Value error, write three letters; size: Input should be less than or equal to 9",
        ),
    ],
)
async def test_invalid_arguments_are_named_and_their_values_are_not(arguments, told):
    found = await answer(invite, **arguments)
    assert found == {"code": "invalid_arguments", "message": told, "retryable": False}


async def test_what_the_tool_node_puts_in_is_not_held_against_the_model():
    found = await answer(MemorySave(memories=InMemoryMemories()), type="turn")
    assert found["code"] == "invalid_arguments"
    assert found["message"].startswith("text: Field required; type: Input should be 'user_fact'")
    assert "runtime" not in found["message"]


async def test_a_validation_error_outside_a_tool_node_is_told_in_the_same_way():
    with pytest.raises(ValueError, match="guests") as caught:
        Party(guests=SECRET)
    told = json.loads(tool_error(caught.value))["error"]
    assert told["code"] == "invalid_arguments"
    assert SECRET not in told["message"]


async def test_letters_outside_ascii_stay_readable():
    assert "Không có thành phố này" in tool_error(ToolException("Không có thành phố này"))


@pytest.mark.parametrize("error", [GraphBubbleUp(), GraphInterrupt()])
async def test_a_signal_of_langgraphs_is_no_failure(error):
    with pytest.raises(GraphBubbleUp):
        tool_error(error)


async def test_a_tool_that_pauses_pauses_the_graph():
    @tool
    def confirm() -> str:
        """Ask a person."""
        return str(interrupt("Really?"))

    graph = graph_of(confirm).compile(InMemorySaver())
    state = await graph.ainvoke(asking("confirm"), {"configurable": {"thread_id": "t"}})
    assert [paused.value for paused in state["__interrupt__"]] == ["Really?"]


async def test_cancelling_the_run_cancels_the_tool():
    begun, ended = asyncio.Event(), []

    @tool
    async def waits() -> str:
        """Wait."""
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    running = asyncio.create_task(graph_of(waits).compile().ainvoke(asking("waits")))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended == ["cancelled"]


def test_an_interrupt_from_the_keyboard_passes():
    with pytest.raises(KeyboardInterrupt):
        graph_of(failing(KeyboardInterrupt())).compile().invoke(asking("broken"))
