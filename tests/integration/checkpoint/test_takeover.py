"""A turn that waits for a person, paused by one process and resumed by another."""

import asyncio
from uuid import UUID

import psycopg
import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from psycopg_pool import AsyncConnectionPool

from discreet.checkpoint import RedactingSaver, RedactingSyncSaver
from discreet.checkpoint.postgres import CONNECTION
from discreet.checkpoint.spill import Spilled
from discreet.encryption import Keyring, make_key
from discreet.errors import ConfigurationError, TransientStateLostError
from discreet.testing import InMemorySpill, InMemorySyncSpill

THREAD = {"configurable": {"thread_id": "1"}}


@pytest.fixture(params=["memory", "postgres"])
async def replicas(request):
    """Return what makes savers that share rows and spill, and nothing else."""
    if request.param == "memory":
        inner, spill = InMemorySaver(), InMemorySpill()
        yield lambda: RedactingSaver(inner, spill=spill)
        return
    keys = Keyring([make_key()])
    dsn = request.getfixturevalue("database")
    async with AsyncConnectionPool(dsn, min_size=1, max_size=4, kwargs=CONNECTION, open=False) as pool:
        await RedactingSaver.from_pool(pool, keys=keys).setup()
        yield lambda: RedactingSaver.from_pool(pool, keys=keys)


class Careful:
    """A graph whose only node asks twice before it acts."""

    def __init__(self):
        self.done = []

    def act(self, state):
        answers = [interrupt({"step": step, "of": state["messages"][-1].text}) for step in (1, 2)]
        self.done.append(answers)
        return {"messages": [AIMessage(f"done: {answers}")]}

    def over(self, saver):
        builder = StateGraph(MessagesState)
        builder.add_node("act", self.act)
        builder.add_edge(START, "act")
        return builder.compile(checkpointer=saver)


async def test_another_process_sees_the_question_and_resumes_with_any_answer(agent, replicas):
    await agent.compile(replicas()).ainvoke(agent.say("tool, pause"), THREAD)
    there = agent.compile(replicas())
    state = await there.aget_state(THREAD)
    assert state.next == ("tools",)
    assert agent.plant("interrupt") in str(state.interrupts[0].value)
    result = await there.ainvoke(Command(resume="a long free answer"), THREAD)
    assert "a long free answer" in result["messages"][-2].text
    assert agent.tool_runs == 1
    state = await agent.compile(replicas()).aget_state(THREAD)
    assert [message.type for message in state.values["messages"]] == ["human", "ai"]


async def test_an_answer_that_comes_when_another_process_has_finished_is_refused(agent, replicas):
    here, there = agent.compile(replicas()), agent.compile(replicas())
    await here.ainvoke(agent.say("tool, pause"), THREAD)
    await there.ainvoke(Command(resume="yes"), THREAD)
    with pytest.raises(TransientStateLostError):
        await here.ainvoke(Command(resume="yes"), THREAD)
    assert agent.tool_runs == 1


async def test_each_answer_reaches_its_own_question_whoever_takes_it(replicas):
    careful = Careful()
    here, there = careful.over(replicas()), careful.over(replicas())
    await here.ainvoke({"messages": [("user", "go")]}, THREAD)
    paused = await there.ainvoke(Command(resume="first"), THREAD)
    assert paused["__interrupt__"][0].value["step"] == 2
    result = await here.ainvoke(Command(resume="second"), THREAD)
    assert careful.done == [["first", "second"]]
    assert result["messages"][-1].text == "done: ['first', 'second']"


async def test_a_new_message_instead_of_an_answer_moves_the_thread_on(agent, replicas):
    here, there = agent.compile(replicas()), agent.compile(replicas())
    await here.ainvoke(agent.say("hello"), THREAD)
    await here.ainvoke(agent.say("tool, pause"), THREAD)
    await there.ainvoke(agent.say("never mind"), THREAD)
    assert agent.tool_runs == 0
    with pytest.raises(TransientStateLostError):
        await here.ainvoke(Command(resume="yes"), THREAD)
    assert agent.tool_runs == 0


async def test_a_copy_of_a_paused_thread_is_resumed_anywhere(agent, replicas):
    saver = replicas()
    await agent.compile(saver).ainvoke(agent.say("tool, pause"), THREAD)
    await saver.acopy_thread("1", "2")
    result = await agent.compile(replicas()).ainvoke(Command(resume="yes"), {"configurable": {"thread_id": "2"}})
    assert result["messages"][-1].type == "ai"
    assert (await agent.compile(replicas()).aget_state(THREAD)).next == ("tools",)


async def test_nothing_is_left_of_a_turn_that_is_over_or_deleted(agent, database):
    async with RedactingSaver.from_conn_string(database, keys=Keyring([make_key()])) as saver:
        await saver.setup()
        graph = agent.compile(saver)
        for thread_id in ("over", "deleted", "paused"):
            await graph.ainvoke(agent.say("tool, pause"), {"configurable": {"thread_id": thread_id}})
        await graph.ainvoke(Command(resume="yes"), {"configurable": {"thread_id": "over"}})
        await saver.adelete_thread("deleted")
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT thread_id FROM checkpoint_spill").fetchall() == [("paused",)]


def test_the_sync_twin_takes_turns_over_too(agent):
    inner, spill = InMemorySaver(), InMemorySyncSpill()
    agent.compile(RedactingSyncSaver(inner, spill=spill)).invoke(agent.say("tool, pause"), THREAD)
    result = agent.compile(RedactingSyncSaver(inner, spill=spill)).invoke(Command(resume="yes"), THREAD)
    assert "yes" in result["messages"][-2].text
    assert agent.tool_runs == 1


@pytest.mark.parametrize("paused_again", [False, True])
@pytest.mark.parametrize("face", ["async", "sync"])
async def test_the_end_of_a_turn_takes_its_own_pause_away_and_no_later_one(face, paused_again):
    spill = InMemorySyncSpill()

    def act(_):
        interrupt("sure?")
        if paused_again:  # another process was faster
            spill.save("1", Spilled.now("~", b""))

    builder = StateGraph(MessagesState)
    builder.add_node("act", act)
    builder.add_edge(START, "act")
    if face == "sync":
        graph = builder.compile(checkpointer=RedactingSyncSaver(InMemorySaver(), spill=spill))
        for given in ({"messages": [("user", "go")]}, Command(resume="yes")):
            graph.invoke(given, THREAD)
    else:
        graph = builder.compile(checkpointer=RedactingSaver(InMemorySaver(), spill=InMemorySpill(spill)))
        for given in ({"messages": [("user", "go")]}, Command(resume="yes")):
            await graph.ainvoke(given, THREAD)
    left = spill.generation("1")
    assert (left and left.head) == ("~" if paused_again else None)


async def test_a_spill_of_the_other_face_is_refused(agent):
    with pytest.raises(ConfigurationError, match="RedactingSyncSaver"):
        agent.compile(RedactingSaver(InMemorySaver(), spill=InMemorySpill())).invoke(agent.say("hello"), THREAD)


class Told(MessagesState):
    """What a run is told beside the message."""

    seconds: int


async def test_a_run_that_is_begun_anew_elsewhere_takes_its_input_again(replicas):
    """The process that was at it has ended in the middle: of the turn only the message is stored."""
    heard, begun = [], asyncio.Event()

    async def answer(state):
        heard.append((state.get("seconds"), [message.text for message in state["messages"]]))
        if len(heard) == 1:
            begun.set()
            await asyncio.sleep(60)
        return {"messages": [AIMessage("Done.")]}

    def over(saver):
        builder = StateGraph(Told)
        builder.add_node("answer", answer)
        builder.add_edge(START, "answer")
        return builder.compile(checkpointer=saver)

    run = {"run_id": UUID(int=7), "metadata": {"run_id": str(UUID(int=7))}, **THREAD}
    said = {"messages": [("user", "before")], "seconds": 1}
    heard.append(None)
    await over(replicas()).ainvoke(said, THREAD)
    heard.clear()
    message = {"role": "user", "content": "mail ann@example.com", "id": "m-2"}
    lost = asyncio.create_task(over(replicas()).ainvoke({"messages": [message], "seconds": 8}, run))
    await begun.wait()
    there = over(replicas())
    state = await there.ainvoke({"messages": [message], "seconds": 8}, run)
    lost.cancel()
    assert heard == [(8, ["before", "Done.", "mail ann@example.com"])] * 2
    assert [each.text for each in state["messages"]] == ["before", "Done.", "mail ann@example.com", "Done."]
    await asyncio.gather(lost, return_exceptions=True)
