"""A message that comes twice to a server is one turn: its thread knows it by the id under which it came first."""

import asyncio

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from discreet.graph.deliveries import Deliveries, Delivery
from discreet.graph.guard import guarded
from discreet.ports import Work
from discreet.state.request_ref import REQUEST_DELIVERY, REQUEST_MESSAGE
from discreet.storage.shared import process_storage
from discreet.testing import InMemoryShortTermStore

MODES = ["values", "updates", "messages"]


class BrokenError(Exception):
    """What a node may raise."""


class House:
    """A guarded graph that answers after a while, and what a server does with it."""

    def __init__(self, short_term=None):
        self.calls = 0
        self.fails = 0
        builder = StateGraph(MessagesState)
        builder.add_node("answer", self._answer)
        builder.add_edge(START, "answer")
        builder.add_edge("answer", END)
        self.graph = guarded(builder.compile(checkpointer=InMemorySaver()), short_term=short_term)

    async def _answer(self, state):
        self.calls += 1
        await asyncio.sleep(0.3)
        if self.calls <= self.fails:
            raise BrokenError
        if "approve" in state["messages"][-1].text:
            interrupt("May I?")
        return {"messages": [AIMessage(f"Answer {self.calls}")]}

    async def answers_by_now(self):
        """Wait until a run has begun."""
        async with asyncio.timeout(10):
            while not self.calls:  # counted where the graph runs, which may have a loop of its own
                await asyncio.sleep(0.005)

    async def run(self, own_id, text="Hello", modes=MODES, thread="t", **names):
        """Run a message that the ingress has under an id of its own; `names` are what it names the message by."""
        said = {"messages": [{"role": "user", "content": text, "id": own_id}]}
        config = {"configurable": {"user_id": "ann", "thread_id": thread, REQUEST_MESSAGE: "m-1", **names}}
        return [event async for event in self.graph.astream(said, config, stream_mode=modes)]


@pytest.fixture
def house():
    return House(InMemoryShortTermStore())


def answers(events):
    return [data["messages"][-1].text for mode, data in events if mode == "values"][-1]


async def test_one_turn_whichever_of_the_two_begins_first(house):
    events = [await house.run(own_id) for own_id in ("m-2", "m-1")]
    assert [answers(each) for each in events] == ["Answer 1"] * 2
    assert house.calls == 1


async def test_a_run_that_failed_gives_the_turn_to_the_second(house):
    house.fails = 1
    with pytest.raises(Exception, match=r"BrokenError|internal|failed"):
        await house.run("m-1")
    assert answers(await house.run("m-2")) == "Answer 2"


@pytest.mark.slow
async def test_the_state_ends_with_the_answer_when_other_turns_came_since(house):
    await house.run("m-1")
    config = {"configurable": {"user_id": "ann", "thread_id": "t"}}
    await house.graph.ainvoke({"messages": [{"role": "user", "content": "And now?", "id": "m-3"}]}, config)
    repeated = [data for mode, data in await house.run("m-2") if mode == "values"][-1]
    assert [message.text for message in repeated["messages"]] == ["Hello", "Answer 1"]
    assert len((await house.graph.aget_state(config)).values["messages"]) == 4


@pytest.mark.slow
async def test_a_turn_that_waits_for_a_person_shows_its_question_again(house):
    asked = await house.run("m-1", "approve it")
    repeated = await house.run("m-2", "approve it")
    for events in (asked, repeated):
        assert [part["__interrupt__"][0].value for mode, part in events if "__interrupt__" in part] == ["May I?"] * 2
    assert [mode for mode, _ in repeated] == ["values", "updates"]  # as a server wants it: what comes last is shown
    assert house.calls == 1
    config = {"configurable": {"user_id": "ann", "thread_id": "t"}}
    assert (await house.graph.ainvoke(Command(resume="yes"), config))["messages"][-1].text == "Answer 2"


async def test_callback_events_bring_the_answer_again(house):
    await house.run("m-1")
    said = {"messages": [{"role": "user", "content": "Hello", "id": "m-2"}]}
    config = {"run_id": "7", "configurable": {"user_id": "ann", "thread_id": "t", REQUEST_MESSAGE: "m-1"}}
    events = [event async for event in house.graph.astream_events(said, config, version="v2", stream_mode=MODES)]
    chunks = [event["data"]["chunk"] for event in events if event["event"] == "on_chain_stream"]
    told = dict(chunks)
    assert told["values"]["messages"][-1].text == "Answer 1"
    assert told["messages"][0].text == "Answer 1"
    assert house.calls == 1


async def test_a_recording_that_came_first_in_another_thread_is_a_turn_of_this_one(house):
    await house.run("m-1", thread="other")
    assert answers(await house.run("m-2")) == "Answer 2"
    assert answers(await house.run("m-3")) == "Answer 2"


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("modes", [MODES, "values"])
async def test_of_runs_without_a_thread_the_second_gets_the_first_ones_answer(house, at_once, modes):
    """The server gives each a thread that is gone when it ends."""
    tasks = []
    for number in (1, 2):
        names = {REQUEST_DELIVERY: "m-1", "modes": modes}
        tasks.append(asyncio.create_task(house.run(f"m-{number}", thread=f"t{number}", **names)))
        await house.answers_by_now() if at_once else await asyncio.gather(*tasks)
    first, second = await asyncio.gather(*tasks)
    told = [answers(each) if modes == MODES else each[-1]["messages"][-1].text for each in (first, second)]
    assert told == ["Answer 1"] * 2
    assert house.calls == 1


async def test_a_run_without_a_thread_that_failed_gives_the_turn_to_the_second(house):
    house.fails = 1
    with pytest.raises(Exception, match=r"BrokenError|internal|failed"):
        await house.run("m-1", thread="t1", **{REQUEST_DELIVERY: "m-1"})
    assert answers(await house.run("m-2", thread="t2", **{REQUEST_DELIVERY: "m-1"})) == "Answer 2"


async def test_a_delivery_has_the_name_of_the_first():
    deliveries = Deliveries(InMemoryShortTermStore())
    one = Delivery(work=Work(kind="request", user_id="ann", ref="r"), lease=3, keep=None)
    assert [await deliveries.first_name(one, name) for name in ("m-1", "m-2")] == ["m-1", "m-1"]
    assert set(await asyncio.gather(*(Deliveries(None).first_name(one, name) for name in "ab"))) == {"a", "b"}


async def test_a_graph_of_ones_own_needs_no_more_than_the_guard(database, monkeypatch):
    """With the storage of the process open, as a server has it."""
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", database)
    async with process_storage.lease():
        house = House()
        runs = [await house.run(f"m-{n}", thread=f"t{n}", **{REQUEST_DELIVERY: "m-1"}) for n in (1, 2)]
        runs += [await house.run(f"m-{n}") for n in (1, 2)]
    assert [answers(each) for each in runs] == ["Answer 1"] * 2 + ["Answer 2"] * 2
