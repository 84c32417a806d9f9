"""Turns of one thread that come at the same time wait for each other, and none is lost from it."""

import asyncio

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from discreet.errors import ShortTermError, ThreadBusyError
from discreet.graph import TurnRunner, drain
from discreet.graph.deliveries import TURN_LEASE, Deliveries, thread_work
from discreet.nodes.run import Run
from discreet.ports import Started
from discreet.state.context import Context
from discreet.testing import InMemoryShortTermStore

HELD = "Hold on, please."
RUN = Run(user_id="ann", thread_id="1", context=Context())


class Clock:
    now = 1_000.0

    def __call__(self):
        return self.now


class Down:
    """A short-term store that can't be reached."""

    def __getattr__(self, name):
        async def fail(*args, **kwargs):
            raise ShortTermError

        return fail


class Service:
    """Two runners over one store and one saver, as two processes have them."""

    def __init__(self, short_term):
        self.asked, self.go = asyncio.Event(), asyncio.Event()
        graph = StateGraph(MessagesState, Context)
        graph.add_node("assistant", self._answer)
        graph.add_edge(START, "assistant")
        compiled = graph.compile(checkpointer=InMemorySaver())
        self.runners = [TurnRunner(compiled, short_term=short_term, one_at_a_time=True) for _ in range(2)]

    async def _answer(self, state):
        said = state["messages"][-1].text
        if said == HELD:
            self.asked.set()
            await self.go.wait()
        await asyncio.sleep(0.01)
        return {"messages": [AIMessage(f"Noted: {said}")]}

    async def say(self, said, *, at=0, thread="1", user="ann"):
        config = {"configurable": {"thread_id": thread}}
        given = {"messages": [("user", said)]}
        return (await self.runners[at].ainvoke(given, config, context=Context(user_id=user)))["messages"]

    async def hold(self):
        """Begin a turn that ends when it may."""
        turn = asyncio.create_task(self.say(HELD))
        await self.asked.wait()
        return turn


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def short_term(clock):
    return InMemoryShortTermStore(clock=clock)


@pytest.fixture
def service(short_term):
    return Service(short_term)


@pytest.mark.slow
async def test_turns_at_the_same_time_all_stay_in_the_thread(service):
    texts = [f"Parrot {number}" for number in range(6)]
    await asyncio.gather(*(service.say(text, at=number % 2) for number, text in enumerate(texts)))
    said = [message.text for message in await service.say("And?")]
    assert sorted(said[:-2:2]) == texts
    assert said[1::2] == [f"Noted: {text}" for text in said[::2]]


async def test_other_threads_and_users_do_not_wait(service):
    held = await service.hold()
    assert await service.say("Hello!", thread="2")
    assert await service.say("Hello!", user="bob")
    assert not held.done()
    service.go.set()
    await held


async def test_who_waits_too_long_is_refused_and_answered_when_they_ask_again(service, short_term):
    held = await service.hold()
    with pytest.raises(ThreadBusyError):
        async with Deliveries(short_term).thread(RUN, patience=0.0):
            raise AssertionError("the thread is held")
    service.go.set()
    await held
    assert [message.text for message in await service.say("Parrot 1", at=1)][1:] == [
        f"Noted: {HELD}",
        "Parrot 1",
        "Noted: Parrot 1",
    ]


@pytest.mark.parametrize("cancel_twice", [False, True])
async def test_a_turn_that_is_cancelled_gives_its_thread_back(service, cancel_twice):
    held = await service.hold()
    waiting = asyncio.create_task(service.say("Parrot 1", at=1))
    await asyncio.sleep(0)
    for turn in (waiting, held):
        turn.cancel()
        if cancel_twice:  # as the groups of tasks of anyio do, until it has ended
            await asyncio.sleep(0)
            turn.cancel()
    await asyncio.gather(waiting, held, return_exceptions=True)
    assert await service.say("Parrot 2")


async def test_a_stream_that_is_given_up_gives_its_thread_back(service):
    config, given = {"configurable": {"thread_id": "1"}}, {"messages": [("user", "Parrot 1")]}
    stream = service.runners[0].astream(given, config, context=Context(user_id="ann"), stream_mode="values")
    await anext(stream)
    await stream.aclose()
    assert await service.say("Parrot 2", at=1)


async def test_the_thread_of_a_holder_that_crashed_is_free_after_its_lease(service, short_term, clock):
    work = thread_work("ann", "1")
    assert isinstance(await short_term.claim(work, lease=TURN_LEASE), Started)
    clock.now += TURN_LEASE + 1
    assert await service.say("Parrot 1")


async def test_without_the_store_turns_are_answered():
    assert await Service(Down()).say("Parrot 1")
    assert await Service(None).say("Parrot 1")


async def test_a_thread_that_is_claimed_when_nobody_waits_any_more_is_given_back(short_term):
    asked, go, claim = asyncio.Event(), asyncio.Event(), short_term.claim

    async def slow(work, *, lease):
        claimed = await claim(work, lease=lease)
        asked.set()
        await go.wait()
        return claimed

    short_term.claim = slow
    turn = asyncio.create_task(hold_thread(short_term))
    await asked.wait()
    turn.cancel()
    await asyncio.sleep(0)
    turn.cancel()
    await asyncio.gather(turn, return_exceptions=True)
    go.set()
    assert await drain() == 0
    assert isinstance(await claim(thread_work("ann", "1"), lease=1.0), Started)


async def hold_thread(short_term):
    async with Deliveries(short_term).thread(RUN):
        raise AssertionError("nobody waits for it any more")
