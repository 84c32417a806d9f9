"""Agents of create_agent: structured responses, and people who approve."""

import asyncio
import json
from dataclasses import dataclass
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from discreet.checkpoint import RedactingSaver
from discreet.graph.guard import guarded
from discreet.graph.middleware import MemoryMiddleware
from discreet.redaction import InMemoryTurnVault, resolve
from discreet.state.request_ref import REQUEST_REF, values_ref
from discreet.testing import InMemoryConversationLog, ScriptedChatModel

EMAIL = "ann.nguyen@example.com"
OTHER = "support.desk@example.org"
SAID = "Write to me, please. You know my address."
"""A stock checkpointer keeps the input as it came, so what is planted comes from the model."""
THREAD = {"configurable": {"thread_id": "1", "user_id": "ann"}}
SAVERS = {"stock": InMemorySaver, "redacting": lambda: RedactingSaver(InMemorySaver())}


class Contact(BaseModel):
    """Somebody's address."""

    email: str
    floor: int = 0


@dataclass
class Address:
    """Somebody's address."""

    email: str
    floor: int = 0


JSON_SCHEMA = {
    "title": "Contact",
    "description": "Somebody's address.",
    "type": "object",
    "properties": {"email": {"type": "string"}, "floor": {"type": "integer"}},
    "required": ["email"],
}


@pytest.fixture(params=SAVERS)
def saver(request):
    return SAVERS[request.param]()


def said(text=SAID):
    return {"messages": [HumanMessage(text, id=str(uuid4()))]}


def kept(saver):
    """Return all that is stored of the thread, writes that are under way too."""
    return repr(list((saver.inner if isinstance(saver, RedactingSaver) else saver).list(THREAD)))


def asked_for(schema, strategy):
    args = {"email": EMAIL, "floor": 3}
    if strategy is ProviderStrategy:
        return ScriptedChatModel(responses=[AIMessage(json.dumps(args))], profile={"structured_output": True})
    name = schema["title"] if isinstance(schema, dict) else schema.__name__
    return ScriptedChatModel(responses=[AIMessage("", tool_calls=[{"name": name, "args": args, "id": "c1"}])])


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
@pytest.mark.parametrize("schema", [Contact, Address, JSON_SCHEMA], ids=["pydantic", "dataclass", "json"])
@pytest.mark.parametrize("face", ["async", "blocking"])
def test_a_structured_response_is_the_answer_and_nothing_of_its_values_is_stored(saver, strategy, schema, face):
    log = InMemoryConversationLog()

    def run(saver, *middleware):
        agent = create_agent(
            asked_for(schema, strategy), middleware=middleware, response_format=strategy(schema), checkpointer=saver
        )
        return asyncio.run(agent.ainvoke(said(), THREAD)) if face == "async" else agent.invoke(said(), THREAD)

    state = run(saver, MemoryMiddleware(vault=InMemoryTurnVault(), log=log, model="offline"))
    if isinstance(saver, RedactingSaver):
        stock = run(InMemorySaver())
        assert state["structured_response"] == stock["structured_response"]
        assert [(m.type, m.content) for m in state["messages"]] == [(m.type, m.content) for m in stock["messages"]]
    else:
        assert [m.type for m in state["messages"]] == ["human", "ai"]
        assert json.loads(state["messages"][-1].text)["email"].startswith("<EMAIL:")
    assert EMAIL not in kept(saver)
    assert json.loads(log.turns[0].output_text) == {"email": "<EMAIL>", "floor": 3}


def test_a_structured_response_of_an_earlier_turn_is_no_answer_to_this_one():
    log = InMemoryConversationLog()
    model = ScriptedChatModel(
        responses=[
            AIMessage("", tool_calls=[{"name": "Contact", "args": {"email": EMAIL}, "id": "c1"}]),
            AIMessage("Good bye."),
        ]
    )
    agent = create_agent(
        model,
        middleware=[MemoryMiddleware(vault=InMemoryTurnVault(), log=log, model="offline")],
        response_format=ToolStrategy(Contact),
        checkpointer=InMemorySaver(),
    )
    agent.invoke(said(), THREAD)
    state = agent.invoke(said("Bye!"), THREAD)
    assert [m.type for m in state["messages"]] == ["human", "ai", "human", "ai"]
    assert state["messages"][-1].text == log.turns[-1].output_text == "Good bye."


@pytest.fixture
def sent():
    return []


@pytest.fixture
def send(sent):
    @tool
    def send(to: str) -> str:
        """Send a message."""
        sent.append(to)
        return f"sent to {to}"

    return send


def supervised(send, saver, vault, *, first="approval", mode="batched"):
    call = {"name": "send", "args": {"to": EMAIL}, "id": "call_1"}
    model = ScriptedChatModel(responses=[AIMessage("", tool_calls=[call]), AIMessage("Done.")])
    approval = HumanInTheLoopMiddleware(interrupt_on={"send": True}, interrupt_mode=mode)
    memory = MemoryMiddleware(vault=vault, model="offline")
    middleware = [approval, memory] if first == "approval" else [memory, approval]
    return model, create_agent(model, tools=[send], middleware=middleware, checkpointer=saver)


def resumed(pause, decision, mode):
    return Command(resume={"decisions": [decision]} if mode == "batched" else {pause.id: decision})


ORDERS = [("approval", "batched"), ("memory", "batched"), ("approval", "per_call")]
HOUSES = [(*order, face) for order in ORDERS for face in ("async", "blocking")]
DECISIONS = [
    ({"type": "approve"}, [EMAIL]),
    ({"type": "edit", "edited_action": {"name": "send", "args": {"to": OTHER}}}, [OTHER]),
    ({"type": "reject", "message": f"Ask {OTHER} first."}, []),
    ({"type": "respond", "message": f"I told {OTHER} myself."}, []),
]


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("house", HOUSES, ids="-".join)
@pytest.mark.parametrize("decided", DECISIONS, ids=[decision["type"] for decision, _ in DECISIONS])
def test_who_approves_sees_real_values_and_none_of_them_is_stored(send, sent, house, decided):
    first, mode, face = house
    decision, reached = decided
    saver = RedactingSaver(InMemorySaver())
    model, agent = supervised(send, saver, InMemoryTurnVault(), first=first, mode=mode)

    def run(given):
        return asyncio.run(agent.ainvoke(given, THREAD)) if face == "async" else agent.invoke(given, THREAD)

    (pause,) = run(said())["__interrupt__"]
    asked = pause.value["action_requests"][0] if mode == "batched" else pause.value
    assert asked["args"] == {"to": EMAIL}
    assert EMAIL in asked["description"]
    assert EMAIL not in kept(saver)
    state = run(resumed(pause, decision, mode))
    assert sent == reached
    assert state["messages"][-1].text == "Done."
    assert OTHER not in kept(saver)
    if decision["type"] in ("reject", "respond"):
        assert OTHER in model.prompts[-1][-1].text


@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_an_edit_with_a_placeholder_runs_nothing(send, sent, saver, mode):
    model, agent = supervised(send, saver, InMemoryTurnVault(), mode=mode)
    (pause,) = agent.invoke(said(), THREAD)["__interrupt__"]
    edit = {"type": "edit", "edited_action": {"name": "send", "args": {"to": "<EMAIL>"}}}
    agent.invoke(resumed(pause, edit, mode), THREAD)
    assert sent == []
    assert "unresolved_placeholder" in model.prompts[-1][-1].text


def test_an_answer_of_another_form_reaches_its_node_as_it_is(saver):
    heard = []

    @tool
    def ask() -> str:
        """Ask the person."""
        heard.append(interrupt("Where to?"))
        return "told"

    call = {"name": "ask", "args": {}, "id": "c1"}
    model = ScriptedChatModel(responses=[AIMessage("", tool_calls=[call]), AIMessage("Done.")])
    agent = create_agent(
        model,
        tools=[ask],
        middleware=[MemoryMiddleware(vault=InMemoryTurnVault(), model="offline")],
        checkpointer=saver,
    )
    agent.invoke(said(), THREAD)
    agent.invoke(Command(resume={"to": EMAIL}), THREAD)
    assert heard == [{"to": EMAIL}]


async def test_on_a_server_who_approves_is_shown_the_values_of_their_request(send):
    """Its answer puts back what the vault has under the request's name."""
    vault = InMemoryTurnVault()
    _, agent = supervised(send, InMemorySaver(), vault)
    config = {"configurable": {**THREAD["configurable"], REQUEST_REF: "ref-1"}}
    stream = guarded(agent, vault=vault).astream(said(), config, stream_mode="updates")
    pauses = [event["__interrupt__"] async for event in stream if "__interrupt__" in event]
    ((pause,),) = pauses
    asked = json.dumps(pause.value)
    assert EMAIL not in asked
    assert EMAIL in resolve(asked, vault.values(values_ref("ref-1")))


@pytest.mark.parametrize("given", [None, Command(resume={"decisions": [{"type": "approve"}]})])
async def test_on_a_server_a_turn_that_goes_on_shows_the_values_of_its_thread(send, given):
    """The request that goes on says nothing of what the first one said."""
    vault = InMemoryTurnVault()
    _, agent = supervised(send, InMemorySaver(), vault)
    graph = guarded(agent, vault=vault)
    first, second = ({"configurable": {**THREAD["configurable"], REQUEST_REF: ref}} for ref in ("ref-1", "ref-2"))
    await graph.ainvoke(said(), first)
    vault.drop(values_ref("ref-1"))
    events = [repr(event) async for event in graph.astream(given, second, stream_mode="values")]
    assert "<EMAIL:" in events[0]
    assert not [event for event in events if "<EMAIL:" in resolve(event, vault.values(values_ref("ref-2")))]
