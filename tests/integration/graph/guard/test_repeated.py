"""Two runs of a server with one message: one has the turn, the other gives its answer, whichever begins first."""

import asyncio

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from discreet.graph.deliveries import AGAIN, Deliveries, Delivery
from discreet.graph.guard import guarded
from discreet.ports import Work
from discreet.state.request_ref import REQUEST_DELIVERY
from discreet.storage.shared import process_storage
from discreet.testing import InMemoryShortTermStore

SAID = {"messages": [{"role": "user", "content": "Hello", "id": "m-1"}]}
MODES = ["values", "updates", "messages"]


class BrokenError(Exception):
    """What a node may raise."""


class House:
    """A guarded graph that answers after a while, and what a server does with it."""

    def __init__(self):
        self.short_term = InMemoryShortTermStore()
        self.deliveries = Deliveries(self.short_term, max_media_bytes=1_000)
        self.calls = 0
        self.fails = 0
        builder = StateGraph(MessagesState)
        builder.add_node("answer", self._answer)
        builder.add_edge(START, "answer")
        builder.add_edge("answer", END)
        self.graph = guarded(builder.compile(checkpointer=InMemorySaver()), short_term=self.short_term)

    async def _answer(self, state):
        self.calls += 1
        await asyncio.sleep(0.5)
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

    async def names(self, count=2):
        delivery = Delivery(work=Work(kind="request", user_id="ann", ref="r"), lease=3, keep=None)
        return [await self.deliveries.name(delivery) for _ in range(count)]

    async def run(self, name, thread="t", said=SAID, modes=MODES, run_id=None):
        config = {"configurable": {"user_id": "ann", "thread_id": thread, REQUEST_DELIVERY: name, "run_id": run_id}}
        return [event async for event in self.graph.astream(said, config, stream_mode=modes)]


@pytest.fixture
def house():
    return House()


def answers(events):
    return [data["messages"][-1].text for mode, data in events if mode == "values"][-1]


@pytest.mark.parametrize("first_begins", [True, False])
async def test_one_turn_whichever_of_the_two_begins_first(house, first_begins):
    first, again = await house.names()
    assert again.startswith(AGAIN)
    order = [first, again] if first_begins else [again, first]
    tasks = []
    for number, name in enumerate(order):
        tasks.append(asyncio.create_task(house.run(name, thread=f"t{number}")))
        await house.answers_by_now()
    events = await asyncio.gather(*tasks)
    assert {answers(each) for each in events} == {"Answer 1"}
    assert house.calls == 1


async def test_a_run_that_is_begun_anew_after_a_kill_has_the_turn_still(house):
    first, again = await house.names()
    running = asyncio.create_task(house.run(first, run_id="1"))
    await house.answers_by_now()
    begun_anew = await house.run(first, run_id="1")  # by another process; of the first nothing more is heard
    running.cancel()
    assert answers(begun_anew) == "Answer 2"
    await asyncio.gather(running, return_exceptions=True)
    assert "Answer" in answers(await house.run(again))
    assert house.calls == 2


@pytest.mark.slow
async def test_a_run_that_failed_gives_the_turn_to_the_second(house):
    house.fails = 1
    first, again = await house.names()
    with pytest.raises(Exception, match=r"BrokenError|internal|failed"):
        await house.run(first)
    assert answers(await house.run(again)) == "Answer 2"


async def test_a_run_that_never_begins_leaves_the_turn_to_the_second(house):
    """The server refused it, or it was stopped while it stood in the queue."""
    _, again = await house.names()
    assert answers(await house.run(again)) == "Answer 1"


async def test_the_second_that_begins_first_has_the_turn_also_after_a_kill(house):
    first, again = await house.names()
    running = asyncio.create_task(house.run(again, run_id="2"))
    await house.answers_by_now()
    queued = asyncio.create_task(house.run(first, run_id="1", thread="other"))
    assert answers(await house.run(again, run_id="2")) == "Answer 2"
    running.cancel()
    assert answers(await queued) == "Answer 2"
    await asyncio.gather(running, return_exceptions=True)
    assert house.calls == 2


@pytest.mark.slow
async def test_a_run_that_is_dead_loses_the_turn_after_a_while(house, monkeypatch):
    """The server that was killed has forgotten it, and the client sends its recording again."""
    monkeypatch.setattr("discreet.graph.deliveries.BEGUN_KEEP", 0.3)
    first, again = await house.names()
    await house.deliveries.claim_named("ann", first, "1")
    assert answers(await house.run(again, run_id="2")) == "Answer 1"


@pytest.mark.slow
async def test_the_state_ends_with_the_answer_when_other_turns_came_since(house):
    first, again = await house.names()
    await house.run(first)
    config = {"configurable": {"user_id": "ann", "thread_id": "t"}}
    await house.graph.ainvoke({"messages": [{"role": "user", "content": "And now?", "id": "m-2"}]}, config)
    repeated = [data for mode, data in await house.run(again) if mode == "values"][-1]
    assert [message.text for message in repeated["messages"]] == ["Hello", "Answer 1"]
    assert len((await house.graph.aget_state(config)).values["messages"]) == 4


@pytest.mark.slow
async def test_a_turn_that_waits_for_a_person_shows_its_question_again(house):
    first, again = await house.names()
    said = {"messages": [{"role": "user", "content": "approve it", "id": "m-1"}]}
    asked = await house.run(first, said=said)
    repeated = await house.run(again, said=said)
    for events in (asked, repeated):
        assert [part["__interrupt__"][0].value for mode, part in events if "__interrupt__" in part] == ["May I?"] * 2
    assert [mode for mode, _ in repeated] == ["values", "updates"]  # as a server wants it: what comes last is shown
    assert house.calls == 1
    config = {"configurable": {"user_id": "ann", "thread_id": "t"}}
    assert (await house.graph.ainvoke(Command(resume="yes"), config))["messages"][-1].text == "Answer 2"


async def test_callback_events_bring_the_answer_again(house):
    first, again = await house.names()
    await house.run(first)
    config = {"run_id": "7", "configurable": {"user_id": "ann", "thread_id": "t", REQUEST_DELIVERY: again}}
    events = [event async for event in house.graph.astream_events(SAID, config, version="v2", stream_mode=MODES)]
    assert {event["event"] for event in events} == {"on_chain_stream"}
    assert {event["run_id"] for event in events} == {"7"}
    chunks = {event["data"]["chunk"][0]: event["data"]["chunk"][1] for event in events}
    assert chunks["values"]["messages"][-1].text == "Answer 1"
    assert chunks["messages"][0].text == "Answer 1"
    assert house.calls == 1


@pytest.mark.parametrize("marked", [True, False])
async def test_a_graph_of_ones_own_needs_no_more_than_the_guard(database, monkeypatch, marked):
    """With the storage of the process open, as a server has it."""
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", database)
    async with process_storage.lease() as storage:
        house = House()
        house.graph = guarded(house.graph)
        house.deliveries = Deliveries(storage.short_term, max_media_bytes=1_000)
        names = await house.names() if marked else ["none", "none"]
        events = [await house.run(name) for name in names]
    assert [answers(each) for each in events] == ["Answer 1"] * 2
    assert house.calls == 1


async def test_one_whose_messages_have_no_ids_is_known_by_the_mark(database, monkeypatch):
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", database)
    said = {"messages": [{"role": "user", "content": "Hello"}]}
    async with process_storage.lease() as storage:
        house = House()
        house.graph = guarded(house.graph)
        house.deliveries = Deliveries(storage.short_term, max_media_bytes=1_000)
        events = [await house.run(name, said=said) for name in await house.names()]
    assert [answers(each) for each in events] == ["Answer 1"] * 2
    assert house.calls == 1
