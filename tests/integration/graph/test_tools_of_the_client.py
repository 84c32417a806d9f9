"""What is kept of a turn that ends in a call of one of the client's tools: once, whether its result comes or not."""

from __future__ import annotations

import psycopg
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph
from discreet.graph.extraction import build_extraction_graph
from discreet.graph.middleware import MemoryMiddleware
from discreet.nodes.sinks import TurnSink
from discreet.settings import Settings
from discreet.state.context import Context
from discreet.state.records import MemoryFilters
from discreet.storage import open_storage
from discreet.testing import StrictChatModel, StubEmbeddings

SAID = ("I keep two African Grey parrots.", "My daughter Lan starts school in September.")


@tool
def note(text: str) -> str:
    """Note it on the server."""
    return "noted on the server"


class Frontend(AgentMiddleware):
    """Ends the run at a call of the client's tool."""

    @hook_config(can_jump_to=["end"])
    def after_model(self, state, runtime):
        """End it."""
        return {"jump_to": "end"} if any(c["name"] == "look" for c in state["messages"][-1].tool_calls) else None


def answer(messages):
    asked = max(at for at, message in enumerate(messages) if isinstance(message, HumanMessage))
    given = [message for message in messages[asked:] if isinstance(message, ToolMessage)]
    if "first" in messages[asked].text and not given:
        return AIMessage("", id="a0", tool_calls=[{"name": "note", "args": {"text": "it"}, "id": "c0"}])
    if "parrots" in messages[asked].text and not any(each.tool_call_id == "c1" for each in given):
        return AIMessage("Let me look.", id="a1", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])
    return AIMessage(f"Answer after {len(given)} results.", id=f"a-{asked}-{len(given)}")


def template(storage, saver):
    """Return it without tools of its own: a call of another is the client's then."""
    options = {"log": storage.log, "sinks": [TurnSink(storage.memories)], "summaries": storage.summaries}
    return build_graph(chat_model=StrictChatModel(answer=answer), **options).compile(checkpointer=saver)


def agent(storage, saver):
    options = {"memories": storage.memories, "log": storage.log, "summaries": storage.summaries}
    with pytest.warns(UserWarning, match="Turns are remembered"):
        middleware = [MemoryMiddleware(model="offline", remember="turns", **options), Frontend()]
    return create_agent(StrictChatModel(answer=answer), [note], middleware=middleware, checkpointer=saver)


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=256)) as storage:
        yield storage


SAVERS = {"stock": InMemorySaver, "redacting": lambda: RedactingSaver(InMemorySaver())}
HOUSES = {"template": template, "middleware": agent}


@pytest.fixture(params=SAVERS)
def saver(request):
    return SAVERS[request.param]()


@pytest.fixture(params=HOUSES)
def chat(request, storage, saver):
    graph = HOUSES[request.param](storage, saver)

    async def send(*messages):
        config = {"configurable": {"thread_id": "1", "user_id": "ann"}}
        state = await graph.ainvoke({"messages": list(messages)}, config)
        return [(m.type, m.text) for m in state["messages"]]

    return send


async def kept(storage):
    """Return the rows of the log, the remembered turns, and the rounds that the session counts."""
    rows = await storage.log.read("ann", thread_id="1")
    turns = await storage.memories.latest("ann", filters=MemoryFilters(types=["turn"]))
    async with await psycopg.AsyncConnection.connect(storage.dsn) as connection:
        (counted,) = await (await connection.execute("SELECT rounds FROM discreet.session_record")).fetchone()
    said = sorted((turn.position, turn.text) for turn in turns)
    return [(row.input_text, row.output_text) for row in rows], said, counted


async def facts(storage):
    graph = build_extraction_graph(storage, settings=Settings()).compile()
    done = (await graph.ainvoke({}, context=Context(user_id="ann")))["done"]
    return done["turns"], done.get("added", 0)


async def test_what_was_said_is_kept_while_no_result_has_come(storage, chat):
    await chat(HumanMessage(SAID[0], id="m1"))
    assert await kept(storage) == (
        [(SAID[0], "Let me look.")],
        [(0, f"User: {SAID[0]}"), (1, "Assistant: Let me look.")],
        1,
    )
    assert await facts(storage) == (1, 1)


@pytest.mark.parametrize("extracted", [False, True])
async def test_the_whole_turn_takes_its_place_once_the_result_has_come(storage, chat, saver, extracted):
    await chat(HumanMessage(SAID[0], id="m1"))
    if extracted:
        assert await facts(storage) == (1, 1)
    said = await chat(ToolMessage("a page", tool_call_id="c1"))
    steps = [("ai", "Let me look."), ("tool", "a page")] if isinstance(saver, RedactingSaver) else []
    assert said == [("human", SAID[0]), *steps, ("ai", "Answer after 1 results.")]
    assert await kept(storage) == (
        [(SAID[0], "Answer after 1 results.")],
        [(0, f"User: {SAID[0]}"), (1, "Assistant: Answer after 1 results.")],
        1,
    )
    assert (await facts(storage))[0] == (0 if extracted else 1)


@pytest.mark.parametrize(
    ("chat", "saver"), [("template", "stock"), ("template", "redacting"), ("middleware", "redacting")], indirect=True
)
async def test_a_turn_that_the_user_leaves_stays_beside_the_next(storage, chat):
    """Of an agent under a stock checkpointer the state stays as it is: there the model is sent a call without a result."""
    await chat(HumanMessage(SAID[0], id="m1"))
    said = await chat(HumanMessage(SAID[1], id="m2"))
    assert said == [
        ("human", SAID[0]),
        ("ai", "Let me look."),
        ("human", SAID[1]),
        ("ai", "Answer after 0 results."),
    ]
    assert await kept(storage) == (
        [(SAID[0], "Let me look."), (SAID[1], "Answer after 0 results.")],
        [
            (0, f"User: {SAID[0]}"),
            (1, "Assistant: Let me look."),
            (2, f"User: {SAID[1]}"),
            (3, "Assistant: Answer after 0 results."),
        ],
        2,
    )
    assert (await facts(storage))[0] == 2


async def test_of_the_servers_tools_in_a_turn_that_is_left_nothing_is_stored(storage):
    """While it runs the state has them, as under the stock checkpointer; only the call that has no result is gone."""
    saver = RedactingSaver(InMemorySaver())
    graph, config = agent(storage, saver), {"configurable": {"thread_id": "1", "user_id": "ann"}}
    asked = HumanMessage(f"Note first: {SAID[0]}", id="m1")
    await graph.ainvoke({"messages": [asked]}, config)
    await graph.ainvoke({"messages": [HumanMessage(SAID[1], id="m2")]}, config)
    stored = saver.inner.get_tuple(config).checkpoint["channel_values"]["messages"]
    assert [(m.type, m.text) for m in stored][:3] == [
        ("human", asked.text),
        ("ai", "Let me look."),
        ("human", SAID[1]),
    ]
    assert not any(getattr(m, "tool_calls", ()) for m in stored)
    assert [text for text, _ in (await kept(storage))[0]] == [asked.text, SAID[1]]
