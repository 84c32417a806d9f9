import json
from typing import Annotated, TypedDict
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import ToolException, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode

from discreet.background_loop import wait_for
from discreet.nodes.tools import MemoryForget, MemoryRecall, MemorySave, make_tools
from discreet.nodes.tools.memory_save import copied_from
from discreet.state.context import Context
from discreet.state.records import MemoryRecord
from discreet.testing import InMemoryMemories


@pytest.fixture
def memories():
    return InMemoryMemories()


@pytest.fixture
def call(run_node, memories):
    """Return `await call(name, args, …)`: the tool's message, as the assistant gets it."""
    node = make_tools([MemorySave(memories=memories), MemoryRecall(memories=memories), MemoryForget(memories=memories)])

    async def call(name, arguments, *, before=(), said="I keep two parrots", **context):
        request = AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "c1"}])
        state = await run_node(node, {"messages": [HumanMessage(said), *before, request]}, **context)
        return state["messages"][-1]

    return call


async def test_what_is_saved_is_found_by_the_same_user_only(call):
    saved = await call("save_memory", {"text": "Keeps two parrots", "tags": ["pets"]}, user_id="ann")
    assert json.loads(saved.content)["saved"] is True
    found = json.loads((await call("recall_memory", {"query": "parrots"}, user_id="ann")).content)["memories"]
    assert [m["text"] for m in found] == ["Keeps two parrots"]
    other = json.loads((await call("recall_memory", {"query": "parrots"}, user_id="bob")).content)
    assert other == {"memories": []}


async def test_a_record_tells_where_it_comes_from(call, memories):
    await call("save_memory", {"text": "Keeps parrots"}, user_id="ann", agent_id="helper", model="offline")
    (hit,) = await memories.search("ann", "parrots")
    assert hit.record.thread_id == "thread-1"
    assert (hit.record.agent_id, hit.record.provenance.source, hit.record.provenance.model) == (
        "helper",
        "save_memory",
        "offline",
    )


async def test_forgetting_takes_the_users_own_record_only(call, memories):
    (record,) = await memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    arguments = {"entry_id": str(record.entry_id)}
    assert json.loads((await call("forget_memory", arguments, user_id="bob")).content)["deleted"] is False
    assert json.loads((await call("forget_memory", arguments, user_id="ann")).content)["deleted"] is True
    assert await memories.search("ann", "parrots") == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("save_memory", {"text": "x"}), ("recall_memory", {"query": "x"}), ("forget_memory", {"entry_id": str(uuid4())})],
)
async def test_without_a_user_the_tools_decline(call, name, arguments):
    message = await call(name, arguments)
    assert message.status == "error"
    assert "names no user_id" in message.content


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("save_memory", {"text": ""}),
        ("save_memory", {"text": "x", "type": "turn"}),
        ("save_memory", {"text": "x", "importance": 99}),
        ("recall_memory", {"query": "x", "limit": 1000}),
        ("forget_memory", {"entry_id": "not-an-id"}),
        ("save_memory", {}),
    ],
)
async def test_bad_arguments_come_back_to_the_model_as_an_error(call, memories, name, arguments):
    assert (await call(name, arguments, user_id="ann")).status == "error"


async def test_a_user_named_by_the_model_is_ignored(call, memories):
    await call("save_memory", {"text": "Keeps parrots", "user_id": "bob"}, user_id="ann")
    assert await memories.search("bob", "parrots") == []
    assert "user_id" not in MemorySave(memories=memories).tool_call_schema.model_json_schema()["properties"]
    assert "runtime" not in MemorySave(memories=memories).tool_call_schema.model_json_schema()["properties"]


async def test_a_secret_is_refused(call, memories):
    secret = "sk-" + "a1B2" * 12
    message = await call("save_memory", {"text": f"My key is {secret}"}, user_id="ann", said=f"My key is {secret}")
    assert message.status == "error"
    assert "Secrets are never kept" in message.content
    assert secret not in message.content
    assert await memories.search("ann", "key") == []


async def test_text_copied_from_a_tools_result_is_refused(call, memories):
    result = ToolMessage("Balance of the account: 1,204 euros", tool_call_id="c0", name="bank")
    copied = {"text": "The user's balance of the account is 1,204 euros"}
    message = await call("save_memory", copied, before=[result], said="What is my balance?", user_id="ann")
    assert message.status == "error"
    assert "never kept as a memory" in message.content
    own = await call("save_memory", {"text": "Keeps two parrots"}, before=[result], user_id="ann")
    assert json.loads(own.content)["saved"]


@pytest.mark.parametrize(
    ("text", "result", "said", "copied"),
    [
        ("lives in Hanoi", "weather for someone who lives in Hanoi today", "tell me the weather", True),
        ("lives in Hanoi", "weather: Hanoi lives in rain", "I live there", False),
        (
            "I live in New York City now",
            "New York City: 12 °C, I live in New York City now",
            "I live in New York City now",
            False,
        ),
        ("余额是一千两百元", "账户余额是一千两百元整", "我的余额是多少", True),
        ("我喜欢喝茶", "天气晴朗", "我喜欢喝茶", False),
        ("", "anything", "", False),
        ("…", "…", "", False),
    ],
)
def test_copied_text_is_told_from_the_users_own(text, result, said, copied):
    assert copied_from(text, [result], said=said) is copied


async def test_the_tools_serve_a_graph_with_a_state_of_its_own(run_node, memories):
    class Theirs(TypedDict):
        chat: Annotated[list[AnyMessage], add_messages]

    node = make_tools([MemorySave(memories=memories, default_user="ann")], messages_key="chat")
    request = AIMessage("", tool_calls=[{"name": "save_memory", "args": {"text": "Likes tea"}, "id": "c1"}])
    await run_node(node, {"chat": [HumanMessage("I like tea"), request]}, schema=Theirs)
    assert len(await memories.search("ann", "tea")) == 1


async def test_a_tool_that_fails_answers_with_its_error(run_node):
    @tool
    def broken() -> str:
        """Fail."""
        raise OSError("disk full")

    request = AIMessage("", tool_calls=[{"name": "broken", "args": {}, "id": "c1"}])
    state = await run_node(make_tools([broken]), {"messages": [HumanMessage("Go"), request]})
    answer = json.loads(state["messages"][-1].content)
    assert answer == {"error": {"code": "tool_failed", "message": "The tool failed: OSError.", "retryable": False}}
    assert state["messages"][-1].status == "error"


def test_the_tools_work_without_an_event_loop(memories):
    saved = MemorySave(memories=memories, default_user="ann").invoke({"text": "Keeps two parrots"})
    (found,) = MemoryRecall(memories=memories, default_user="ann").invoke({"query": "parrots"})["memories"]
    assert found["entry_id"] == saved["entry_id"]
    assert MemoryForget(memories=memories, default_user="ann").invoke({"entry_id": saved["entry_id"]})["deleted"]


def test_the_tools_know_the_user_of_a_graph_that_runs_by_invoke(memories):
    """Somebody else's graph: LangGraph's own tool node, which calls the tools in threads."""
    graph = StateGraph(MessagesState, context_schema=Context)
    graph.add_node("tools", ToolNode([MemorySave(memories=memories), MemoryRecall(memories=memories)]))
    graph.add_edge(START, "tools")
    call = {"name": "save_memory", "args": {"text": "Keeps two parrots"}, "id": "c1"}
    messages = [HumanMessage("I keep two parrots"), AIMessage("", tool_calls=[call])]
    state = graph.compile().invoke({"messages": messages}, context=Context(user_id="ann"))
    assert json.loads(state["messages"][-1].content)["saved"] is True
    assert [hit.record.text for hit in wait_for(memories.search("ann", "parrots"))] == ["Keeps two parrots"]


async def test_a_tool_that_is_called_by_hand_knows_no_user(memories):
    with pytest.raises(ToolException, match="names no user_id"):
        await MemoryRecall(memories=memories).ainvoke({"query": "parrots"})
