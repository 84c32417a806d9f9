"""The same discretion for agents of `langchain.agents.create_agent`."""

import asyncio
import json

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from discreet.graph.middleware import MemoryMiddleware
from discreet.nodes.assistant import UNFINISHED
from discreet.prompts.texts import prompt_id
from discreet.redaction import InMemoryTurnVault
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.testing import InMemoryConversationLog, InMemoryMemories, ScriptedChatModel

EMAIL = "ann.nguyen@example.com"
SAID = f"Which parrots do I keep? Mail it to {EMAIL}"
THREAD = {"configurable": {"thread_id": "1", "user_id": "ann"}}


@pytest.fixture(params=["async", "blocking"])
def ask(request):
    def run(agent, text, config=THREAD):
        given = {"messages": [HumanMessage(text, id="m1")]}
        return asyncio.run(agent.ainvoke(given, config)) if request.param == "async" else agent.invoke(given, config)

    return run


@pytest.fixture
def memories():
    memories = InMemoryMemories()
    asyncio.run(memories.save("ann", [MemoryRecord(text="Ann keeps two African Grey parrots")]))
    return memories


def written(state):
    return json.dumps({k: repr(v) for k, v in state.items()})


def test_the_agent_has_memory_and_its_state_has_placeholders(memories, ask):
    sent = []

    @tool
    def send(to: str) -> str:
        """Send a message."""
        sent.append(to)
        return f"sent to {to}"

    call = {"name": "send", "args": {"to": EMAIL}, "id": "c1"}
    model = ScriptedChatModel(responses=[AIMessage("", tool_calls=[call]), AIMessage(f"Sent to {EMAIL}.")])
    log = InMemoryConversationLog()
    middleware = MemoryMiddleware(memories=memories, log=log, vault=InMemoryTurnVault(), model="offline")
    agent = create_agent(
        model, tools=[send], system_prompt="Be brief.", middleware=[middleware], checkpointer=InMemorySaver()
    )
    state = ask(agent, SAID)
    system, said = model.prompts[0]
    assert system.text.startswith("Be brief.")
    assert "two African Grey parrots" in system.text
    assert said.text == SAID
    assert sent == [EMAIL]
    assert model.prompts[1][-1].text == f"sent to {EMAIL}"
    assert set(model.tools[0]) == {"send", "save_memory", "recall_memory", "update_memory", "forget_memory"}
    assert [m.type for m in state["messages"]] == ["human", "ai"]
    assert EMAIL not in written(state)
    assert "memories" not in state
    assert [turn.output_text for turn in log.turns] == ["Sent to <EMAIL>."]


def test_between_the_steps_the_latest_state_has_placeholders_too(memories, ask):
    @tool
    def send(to: str) -> str:
        """Send a message."""
        return f"sent to {to}"

    call = {"name": "send", "args": {"to": EMAIL}, "id": "c1"}
    model = ScriptedChatModel(responses=[AIMessage("", tool_calls=[call]), AIMessage("Done.")])
    middleware = MemoryMiddleware(memories=memories, vault=InMemoryTurnVault(), model="offline")
    agent = create_agent(
        model, tools=[send], middleware=[middleware], checkpointer=InMemorySaver(), interrupt_after="*"
    )
    ask(agent, SAID)
    steps = 0
    while agent.get_state(THREAD).next:
        assert EMAIL not in written(agent.get_state(THREAD).values)
        agent.invoke(None, THREAD)
        steps += 1
    assert steps >= 4


def test_a_greeting_skips_the_retrieval(memories, ask):
    model = ScriptedChatModel(responses=[AIMessage("Hello.")])
    agent = create_agent(model, middleware=[MemoryMiddleware(memories=memories, model="offline")])
    ask(agent, "Hi!")
    assert "parrots" not in model.prompts[0][0].text


def test_in_a_masked_state_a_tool_that_fails_tells_the_model_a_typed_error(ask):
    @tool
    def broken() -> str:
        """Fail."""
        raise OSError("secret host name")

    call = {"name": "broken", "args": {}, "id": "c1"}
    model = ScriptedChatModel(responses=[AIMessage("", tool_calls=[call]), AIMessage("Sorry.")])
    agent = create_agent(model, tools=[broken], middleware=[MemoryMiddleware(mask=True, model="offline")])
    assert ask(agent, "Go on, please do it")["messages"][-1].text == "Sorry."
    assert json.loads(model.prompts[1][-1].text)["error"]["code"] == "tool_failed"
    agent = create_agent(
        ScriptedChatModel(responses=[AIMessage("", tool_calls=[call])]), [broken], middleware=[MemoryMiddleware()]
    )
    with pytest.raises(OSError, match="secret host name"):
        ask(agent, "Go on, please do it")


def test_the_tool_loop_of_a_managed_conversation_ends_with_an_answer(ask):
    @tool
    def look_up() -> str:
        """Look something up."""
        return "found"

    def answer(messages):
        rounds = sum(m.type == "tool" for m in messages)
        asked = AIMessage("", tool_calls=[{"name": "look_up", "args": {}, "id": f"c{rounds}"}])
        return asked if "limit of tool calls" not in messages[0].text else AIMessage("This is all I found.")

    model = ScriptedChatModel(responses=[answer] * 4)
    middleware = MemoryMiddleware(conversation="managed", settings=Settings(tool_loop_limit=3), model="offline")
    agent = create_agent(model, tools=[look_up], middleware=[middleware])
    assert ask(agent, "Look it up for me")["messages"][-1].text == "This is all I found."
    assert model.tools == [["look_up"]] * 3 + [[]]


def test_an_agent_that_never_ends_is_ended_flagged_and_told_apart_by_model_and_instructions(memories, ask):
    @tool
    def look_up() -> str:
        """Look something up."""
        return "found"

    def asks(messages):
        number = sum(m.type == "tool" for m in messages)
        call = {"name": "look_up", "args": {}, "id": f"c{number}"}
        return AIMessage("", tool_calls=[call], response_metadata={"model_name": "small-2026"})

    log = InMemoryConversationLog()
    middleware = MemoryMiddleware(
        conversation="managed", memories=memories, log=log, settings=Settings(tool_loop_limit=2), model="offline"
    )
    model = ScriptedChatModel(responses=[asks] * 9)
    agent = create_agent(model, tools=[look_up], system_prompt="Be brief.", middleware=[middleware])
    assert ask(agent, "I can't breathe")["messages"][-1].text == UNFINISHED
    (turn,) = log.turns
    assert (turn.loop_flag, turn.is_emergency, turn.locale) == (True, True, "en")
    assert turn.provenance.model_dump(exclude_none=True) == {
        "model": "ScriptedChatModel",
        "model_version": "small-2026",
        "prompt": prompt_id("assistant", "Be brief."),
        "source": "turns",
    }
