"""One argument carries all that an open storage has: its pool, its vault and its keys."""

from contextlib import ExitStack

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from discreet.checkpoint import RedactingSaver, RedactingSyncSaver
from discreet.errors import ConfigurationError, TransientStateLostError
from discreet.settings import Settings
from discreet.storage import open_storage, open_storage_sync
from discreet.testing import InMemoryKeys, StubEmbeddings

ANN = "ann@example.com"
THREAD = {"configurable": {"thread_id": "from-storage"}}
SHARED = Settings(turn_vault="postgres")


def chat(saver):
    def model(state):
        said = state["messages"][-1].text
        answer = interrupt("may I?") if said.startswith("ask") else "ok"
        return {"messages": [AIMessage(f"{answer}: {said}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_edge(START, "model")
    return builder.compile(checkpointer=saver)


def say(text):
    return {"messages": [HumanMessage(text)]}


@pytest.fixture
def keys():
    return InMemoryKeys()


@pytest.fixture
def open_(database, keys):
    """Return what opens the storage of another process: it shares nothing of this one's memory but the keys."""
    return lambda opener=open_storage, **more: opener(
        database, embeddings=StubEmbeddings(dims=16), **{"settings": SHARED, "keys": keys, **more}
    )


async def test_another_process_has_the_values_and_resumes_a_pause(open_, on_disk):
    async with open_() as storage:
        saver = RedactingSaver.from_storage(storage)
        await saver.setup()
        graph = chat(saver)
        await graph.ainvoke(say(f"I am {ANN}"), THREAD)
        await graph.ainvoke(say(f"ask {ANN}"), THREAD)
    assert on_disk(mail=ANN) == set()
    async with open_() as storage:
        graph = chat(RedactingSaver.from_storage(storage))
        state = await graph.aget_state(THREAD)
        assert state.next == ("model",)
        assert [each.value for each in state.interrupts] == ["may I?"]
        result = await graph.ainvoke(Command(resume="yes"), THREAD)
    assert [m.text for m in result["messages"]] == [f"I am {ANN}", f"ok: I am {ANN}", f"ask {ANN}", f"yes: ask {ANN}"]
    assert on_disk(mail=ANN) == set()


def test_a_program_without_an_event_loop_has_the_same(open_, on_disk):
    with open_(open_storage_sync) as storage:
        saver = RedactingSyncSaver.from_storage(storage)
        saver.setup()
        graph = chat(saver)
        graph.invoke(say(f"I am {ANN}"), THREAD)
        graph.invoke(say(f"ask {ANN}"), THREAD)
    with open_(open_storage_sync) as storage:
        saver = RedactingSyncSaver.from_storage(storage)
        graph = chat(saver)
        assert graph.get_state(THREAD).next == ("model",)
        result = graph.invoke(Command(resume="yes"), THREAD)
        assert [m.text for m in result["messages"]][:3] == [f"I am {ANN}", f"ok: I am {ANN}", f"ask {ANN}"]
        saver.delete_thread("from-storage")
    assert on_disk(mail=ANN, may_be_empty=True) == set()


@pytest.mark.parametrize("without", ["keys", "spill"])
async def test_without_keys_or_where_it_is_switched_off_nothing_is_spilt(open_, monkeypatch, without):
    if without == "spill":
        monkeypatch.setenv("DISCREET_SPILL", "false")
    more = {"keys": None, "settings": Settings()} if without == "keys" else {}
    async with open_(**more) as storage:
        saver = RedactingSaver.from_storage(storage)
        await saver.setup()
        await chat(saver).ainvoke(say("ask something"), THREAD)
        other = chat(RedactingSaver.from_storage(storage))
        with pytest.raises(TransientStateLostError):
            await other.ainvoke(Command(resume="yes"), THREAD)


async def test_a_guarded_servers_saver_shows_placeholders(open_):
    async with open_() as storage:
        saver = RedactingSaver.from_storage(storage, restore=False)
        await saver.setup()
        await chat(saver).ainvoke(say(f"I am {ANN}"), THREAD)
        assert ANN not in str((await chat(saver).aget_state(THREAD)).values)


async def test_a_storage_of_another_event_loop_is_refused_with_the_class_that_takes_it(open_):
    async with open_() as storage:
        with pytest.raises(ConfigurationError, match=r"RedactingSaver\.from_storage"):
            RedactingSyncSaver.from_storage(storage)
    with ExitStack() as stack:
        storage = stack.enter_context(open_(open_storage_sync))
        with pytest.raises(ConfigurationError, match=r"RedactingSyncSaver\.from_storage"):
            RedactingSaver.from_storage(storage)
