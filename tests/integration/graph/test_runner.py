"""Each message once, whatever is down, with the real values for its owner."""

import asyncio
import base64
import hashlib
import secrets
from traceback import format_exception
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg_pool import AsyncConnectionPool

from discreet.checkpoint import RedactingSaver
from discreet.errors import (
    EmptyInputError,
    ProviderError,
    ShortTermError,
    StorageUnavailableError,
    UnsupportedInputError,
)
from discreet.graph import TurnRunner, build_graph
from discreet.graph.deliveries import REQUEST_WINDOW, TURN_LEASE
from discreet.metrics import outage_turns
from discreet.state.context import Context
from discreet.testing import InMemoryMemories, InMemoryShortTermStore, StrictChatModel

EMAIL = "ann.nguyen@example.com"
NOWHERE = "postgresql://127.0.0.1:1/none"
SOUND = secrets.token_bytes(400)


class Clock:
    now = 1_000.0

    def __call__(self):
        return self.now


class Gate:
    """A model that answers when it may."""

    def __init__(self):
        self.calls = 0
        self.asked = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()
        self.error = None

    async def wait(self):
        self.calls += 1
        self.asked.set()
        await self.open.wait()
        if self.error:
            raise self.error


class Down:
    """A short-term store that can't be reached."""

    def __getattr__(self, name):
        async def fail(*args, **kwargs):
            raise ShortTermError

        return fail


class UnreachableSaver(InMemorySaver):
    async def aget_tuple(self, config):
        raise StorageUnavailableError


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def short_term(clock):
    return InMemoryShortTermStore(clock=clock)


@pytest.fixture
def model():
    return Gate()


def make_runner(model, short_term, *, saver=None):
    chat = StrictChatModel(answer=lambda messages: AIMessage(f"Noted: {messages[-1].text[:200]}"))
    builder = build_graph(chat_model=chat, memories=InMemoryMemories(), short_term=short_term, mask=False)

    async def held(state):
        await model.wait()
        return {}

    builder.add_node("held", held)
    builder.edges.discard(("retrieve_memories", "assistant"))
    builder.add_edge("retrieve_memories", "held")
    builder.add_edge("held", "assistant")
    graph = builder.compile(checkpointer=saver or RedactingSaver(InMemorySaver()))
    return TurnRunner(graph, short_term=short_term)


@pytest.fixture
def runner(model, short_term):
    return make_runner(model, short_term)


def text(said, **options):
    return HumanMessage(said, id=str(uuid4()), **options)


def voice():
    block = {
        "type": "audio",
        "base64": base64.b64encode(SOUND).decode(),
        "mime_type": "audio/ogg",
        "transcript": "I remember my parrots.",
    }
    return HumanMessage([block], id=str(uuid4()))


async def deliver(runner, message, *, thread="1", user="ann", **context):
    config = {"configurable": {"thread_id": thread}}
    state = await runner.ainvoke({"messages": [message]}, config, context=Context(user_id=user, **context))
    return state["messages"][-1]


SAID = f"What did I tell you? Write to {EMAIL}"


async def test_the_owner_gets_the_real_values(runner):
    assert (await deliver(runner, text(SAID))).text == f"Noted: {SAID}"


async def test_the_same_within_three_seconds_gets_the_first_answer(runner, model, clock):
    first = await deliver(runner, text(SAID))
    clock.now += REQUEST_WINDOW - 0.01  # an edge of any fixed bucket lies within
    again = await deliver(runner, text(SAID))
    assert again.text == first.text
    assert again.response_metadata["delivery"] == "repeated"
    assert model.calls == 1


async def test_the_same_after_three_seconds_is_a_new_message(runner, model, clock):
    await deliver(runner, text(SAID))
    clock.now += REQUEST_WINDOW
    assert "delivery" not in (await deliver(runner, text(SAID))).response_metadata
    assert model.calls == 2


@pytest.mark.parametrize("other", [{"thread": "2"}, {"user": "bob"}, {"app_name": "shop"}, {"agent_id": "a-2"}])
async def test_the_same_words_elsewhere_are_another_message(runner, model, other):
    await deliver(runner, text(SAID))
    await deliver(runner, text(SAID), **other)
    assert model.calls == 2


@pytest.mark.parametrize("other", [{"user": "bob"}, {"app_name": "shop"}, {"agent_id": "a-2"}])
async def test_a_recording_that_others_sent_too_has_an_answer_for_each(runner, model, other):
    await deliver(runner, voice())
    await deliver(runner, voice(), **other)
    assert model.calls == 2


async def test_while_the_first_runs_others_are_asked_for_patience_in_their_language(runner, model):
    model.open.clear()
    said = "Lần trước mình nói gì?"
    first = asyncio.create_task(deliver(runner, text(said)))
    await model.asked.wait()
    waiting = await deliver(runner, text(said))
    assert waiting.response_metadata["delivery"] == "still_working"
    assert "xử lý" in waiting.text
    model.open.set()
    assert (await first).text.startswith("Noted")
    assert model.calls == 1


async def test_twenty_deliveries_of_a_recording_run_once(runner, model):
    model.open.clear()
    deliveries = [asyncio.create_task(deliver(runner, voice(), thread=str(i % 3))) for i in range(20)]
    await model.asked.wait()
    async with asyncio.timeout(60):
        while sum(delivery.done() for delivery in deliveries) < 19:  # any of them is the one that runs
            await asyncio.sleep(0.01)
    model.open.set()
    answers = await asyncio.gather(*deliveries)
    kinds = [answer.response_metadata.get("delivery") for answer in answers]
    assert model.calls == 1
    assert (kinds.count(None), kinds.count("still_working")) == (1, 19)


async def test_the_answer_to_a_recording_is_kept_for_a_day(runner, model, clock):
    first = await deliver(runner, voice())
    clock.now += 86_000
    assert (await deliver(runner, voice(), thread="9")).text == first.text
    clock.now += 1_000
    await deliver(runner, voice(), thread="9")
    assert model.calls == 2


async def test_a_crashed_holder_frees_the_recording_after_its_lease(runner, model, short_term, clock):
    model.open.clear()
    crashed = asyncio.create_task(deliver(runner, voice()))
    await model.asked.wait()
    clock.now += TURN_LEASE + 1
    model.open.set()
    successor = make_runner(model, short_term)
    late = await deliver(successor, voice(), thread="2")
    assert late.response_metadata.get("delivery") is None
    await crashed
    assert model.calls == 2
    assert (await deliver(runner, voice(), thread="3")).text == late.text


async def test_a_failed_turn_is_run_by_the_next_delivery(runner, model):
    model.error = ProviderError()
    with pytest.raises(ProviderError):
        await deliver(runner, voice())
    model.error = None
    assert (await deliver(runner, voice(), thread="2")).text.startswith("Noted")
    assert model.calls == 2


async def test_a_refused_message_is_refused_each_time(runner):
    for _ in range(2):
        with pytest.raises(EmptyInputError):
            await deliver(runner, text(" "))


@pytest.mark.parametrize("content", [{"text": f"I am {EMAIL}"}, 5, [1], [[EMAIL]], object()])
async def test_what_is_no_message_is_refused_with_a_typed_error_that_repeats_nothing(runner, content):
    said = {"messages": [{"role": "user", "content": content}]}
    with pytest.raises(UnsupportedInputError) as error:
        await runner.ainvoke(said, {"configurable": {"thread_id": "1"}}, context=Context(user_id="ann"))
    assert EMAIL not in "".join(format_exception(error.value))


async def test_nothing_that_the_store_keeps_holds_what_was_said(runner, short_term):
    await deliver(runner, text(SAID))
    await deliver(runner, voice())
    kept = repr((short_term._works, short_term._sessions))
    assert EMAIL not in kept
    assert hashlib.sha256(SOUND).hexdigest() not in kept


async def test_without_the_short_term_store_every_turn_is_answered(model, caplog):
    runner = make_runner(model, Down())
    assert (await deliver(runner, text(SAID))).text == f"Noted: {SAID}"
    assert "short_term_failed doing=claim cause=ShortTermError" in caplog.text
    assert "short_term_failed doing=touch" in caplog.text
    assert EMAIL not in caplog.text


async def test_without_the_checkpointer_the_turn_is_answered_from_the_last_rounds(model, short_term, caplog):
    await deliver(make_runner(model, short_term), text("I remember two parrots"))
    before = outage_turns.labels("thread")._value.get()
    runner = make_runner(model, short_term, saver=UnreachableSaver())
    config = {"configurable": {"thread_id": "1"}}
    state = await runner.ainvoke({"messages": [text(SAID)]}, config, context=Context(user_id="ann"))
    assert [m.text for m in state["messages"]] == [
        "I remember two parrots",
        "Noted: I remember two parrots",
        SAID,
        f"Noted: {SAID}",
    ]
    assert outage_turns.labels("thread")._value.get() == before + 1
    assert "checkpointer_unreachable lost=thread" in caplog.text
    assert EMAIL not in caplog.text


async def test_a_turn_that_was_under_way_when_the_checkpointer_failed_is_not_run_again(model, short_term):
    """Nothing can say what its nodes have done."""
    model.error = StorageUnavailableError()
    with pytest.raises(StorageUnavailableError):
        await deliver(make_runner(model, short_term), text(SAID))
    assert model.calls == 1


async def test_a_stock_saver_whose_database_is_gone_is_survived_too(model, short_term):
    async with AsyncConnectionPool(NOWHERE, open=False, timeout=0.2, min_size=1, reconnect_timeout=0.1) as pool:
        runner = make_runner(model, short_term, saver=AsyncPostgresSaver(pool))
        assert (await deliver(runner, text(SAID))).text == f"Noted: {SAID}"
