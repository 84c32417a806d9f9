"""An erasure that meets what is under way, at any statement of either: the erasure wins."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from testkit.boundaries import at_statement
from testkit.conversations import ScriptedProvider, echo, talk
from testkit.erasing import PLAIN, a_house, ask, found
from testkit.keys import USER_KEYS

from discreet.access.epochs import Beginning, begun
from discreet.encryption import Keyring, make_key
from discreet.errors import CheckpointError, InputError, UserErasedError
from discreet.graph.middleware import MemoryMiddleware
from discreet.ports import FixedSettings, RollingSummary, Round
from discreet.redaction import Redactor
from discreet.rights.erasure import Scope
from discreet.settings import Settings
from discreet.state.context import Context
from discreet.state.memory_settings import MemorySettings
from discreet.state.records import MemoryRecord, TurnRecord
from discreet.storage.database.keys import digest
from discreet.storage.database.users.erasures import ErasureWatch
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.memories.spaces.reembed_user import FIRST_ID, move_rows, rows_to_move
from discreet.storage.memories.spaces.spaces import register_space
from discreet.testing import StubEmbeddings
from discreet.worker import BatchProviders, Worker

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

MOST = 70
"""No work below has more statements."""

EXAMPLES = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


class Who:
    """Somebody whom nothing is known of yet, and the word by which all that they say is found."""

    def __init__(self):
        self.word = "".join(chr(ord("a") + int(digit, 16)) for digit in uuid4().hex)
        name = self.word[::-1]
        self.user, self.thread = f"user-{name}", f"thread-{name}"
        self.began: list[Beginning] = []
        """What each turn's work was known by."""

    @property
    def everything(self):
        """Return the scope of all of theirs."""
        return Scope.everything([("users", self.user), ("shared", self.thread)])

    @property
    def key(self):
        return USER_KEYS.of_user(self.user)

    def epoch(self, dsn):
        """Return the epoch that they have now."""
        with psycopg.connect(dsn) as connection:
            return connection.execute("SELECT epoch FROM discreet.users WHERE user_key = %s", [self.key]).fetchone()[0]

    def hears(self, house):
        """Note what turns are known by."""
        touch = house.storage.short_term.touch

        async def heard(user_id, thread_id):
            told = await touch(user_id, thread_id)
            if user_id == self.user:
                self.began.append(Beginning.of(told))
            return told

        house.storage.short_term.touch = heard
        open_turn = house.storage.memories.open_turn

        async def opened(user_id, *given, **named):
            told = await open_turn(user_id, *given, **named)
            if user_id == self.user and named.get("short_term") is not None:
                self.began.append(Beginning.of(told.began))
            return told

        house.storage.memories.open_turn = opened


async def turn(house, who):
    """A turn that saves a memory."""
    await house.say(f"remember: I own a {who.word}", user=who.user, thread=who.thread)


async def second_turn(house, who):
    """A turn in a thread that has some."""
    await house.say(f"I feed the {who.word}", user=who.user, thread=who.thread)


async def resumed(house, who):
    """A paused turn that is answered."""
    await house.say(Command(resume=f"yes, the {who.word}"), user=who.user, thread=who.thread)


async def pausing(house, who):
    """A turn that comes to wait for a person."""
    await house.say(f"ask: may the {who.word} sing?", user=who.user, thread=who.thread)


async def save(house, who):
    """Memories saved at once."""
    await house.storage.memories.save(who.user, [MemoryRecord(text=f"The {who.word} at {n}") for n in range(3)])


async def brought(house, who):
    """An import in three parts."""
    with begun(await house.storage.memories.begin(who.user)):
        for n in range(3):
            await house.storage.memories.save(who.user, [MemoryRecord(text=f"The {who.word} of {n}")])
            await house.storage.log.append(logged(who, f"{who.thread}-{n}"))


async def items(house, who):
    """Items of the store, under their name."""
    await house.storage.store.aput(("users", who.user, "notes"), "1", {"text": f"The {who.word}"})


async def a_turns_items(house, who):
    """An item that a turn puts where nothing says whose it is."""
    with begun(await house.storage.memories.begin(who.user)):
        await house.storage.memories.search(who.user, "Which birds?")
        await house.storage.store.aput(("shared", who.thread), "1", {"text": f"The {who.word}"})


async def a_turns_sessions(house, who):
    """What a turn keeps of its thread."""
    with begun(await house.storage.log.begin(who.user)):
        said = Round(request_id="r", input_text=f"The {who.word}", output_text="Yes", said_at=NOON)
        await house.storage.short_term.append_round(who.user, who.thread, said)
        new = RollingSummary(text=f"About the {who.word}", rounds=3, last_message_id="m")
        await house.storage.summaries.commit(who.user, who.thread, expected=RollingSummary(), new=new)
        await house.storage.log.append(logged(who, f"{who.thread}-r"))


async def reembedded(house, who):
    """Memories that are moved to another embedding space."""
    pool, locks = house.storage.pool, UserLocks(house.storage.pool)
    space = await register_space(pool, StubEmbeddings(dims=32))
    rows = await rows_to_move(pool, [who.key], first=FIRST_ID, space_key=space.key, limit=10)
    vectors = await StubEmbeddings(dims=32).aembed_documents([row["text"] for row in rows])
    await move_rows(
        locks,
        who.key,
        [(row, space.checked([v])[0]) for row, v in zip(rows, vectors, strict=True)],
        space_key=space.key,
    )


async def worked(house, who):
    """A worker that extracts facts and hands them to review, or keeps them."""
    live = FixedSettings(MemorySettings(memory_extraction_provider="openai"))
    providers = BatchProviders(Settings(**PLAIN), make=lambda _name, _model: ScriptedProvider(echo))
    await Worker(house.storage.background, memory_settings=live, providers=providers, redactor=Redactor()).once()


def logged(who, request_id):
    return TurnRecord(
        request_id=request_id,
        user_id=who.user,
        thread_id=who.thread,
        input_text=f"The {who.word}",
        output_text="Yes",
        started_at=NOON,
        ended_at=NOON,
    )


WORK = [turn, second_turn, pausing, resumed, save, brought, items, a_turns_items, a_turns_sessions, reembedded, worked]


async def prepare(house, who, work):
    """Have what `work` begins with, if it needs some."""
    if work is second_turn:
        await turn(house, who)
    if work is resumed:
        await pausing(house, who)
    if work is reembedded:
        await save(house, who)
    if work is worked:
        await talk(house.storage, f"I own a {who.word}", user=who.user, thread=who.thread)
        await house.storage.background.sessions.take(who.key, digest(who.thread), "manual", kinds=["extraction"])


async def is_settled(house, who, database):
    """Tell whether nothing is left, or what is there was said by work that began when the erasure was over."""
    if not found(database, who.word):
        return True
    return bool(who.began) and who.began[-1].epoch == who.epoch(database)


REFUSALS = (UserErasedError, CheckpointError, InputError)

BY_ITSELF = (save, brought, items, a_turns_items, a_turns_sessions)
"""Begins with its first statement."""


@pytest.mark.slow
@EXAMPLES
@given(work=st.sampled_from(WORK), at=st.integers(1, MOST), preload=st.booleans())
@example(work=turn, at=3, preload=False)
@example(work=turn, at=4, preload=True)
async def test_an_erasure_at_any_statement_of_what_is_under_way(database, work, at, preload):
    who = Who()
    async with a_house(database, preload=preload) as house, a_house(database) as other:
        await prepare(house, who, work)
        who.hears(house)
        with at_statement(at, lambda: other.erasures.erase(who.user, who.everything)) as boundary, suppress(*REFUSALS):
            await work(house, who)
        if boundary.task is None:
            return  # it was over before
        await boundary.end()
        came_after = at == 1 and work in BY_ITSELF
        assert came_after or await is_settled(house, who, database), found(database, who.word)


@pytest.mark.slow
@EXAMPLES
@given(work=st.sampled_from(WORK), at=st.integers(1, 2 * MOST), preload=st.booleans())
@example(work=resumed, at=10, preload=False)
async def test_what_is_under_way_at_any_statement_of_an_erasure(database, work, at, preload):
    who = Who()
    async with a_house(database, preload=preload) as house, a_house(database) as other:
        await prepare(house, who, work)
        who.hears(house)
        began = asyncio.Event()

        async def under_way():
            with suppress(*REFUSALS):
                began.set()
                await work(house, who)

        with at_statement(at, under_way) as boundary:
            await other.erasures.erase(who.user, who.everything)
        if boundary.task is None:
            return  # the erasure was over before
        await boundary.end()
        # What is no turn has no beginning but its own: what it stored after the erasure came after it.
        if work not in BY_ITSELF:
            assert await is_settled(house, who, database), found(database, who.word)


@pytest.mark.parametrize(
    "at", [pytest.param(at, marks=[] if at in (4, 5, 8) else pytest.mark.slow) for at in range(2, 12)]
)
@pytest.mark.parametrize("said", ["What did I tell you about it?", "Hello!"], ids=["retrieving", "skipping"])
async def test_an_erasure_before_any_statement_of_a_turn_that_is_opened_at_once(database, said, at):
    """Not what `save_input` asks: the turn is known by what the memories bring, after its input was stored."""
    who = Who()
    async with a_house(database, preload=True) as house, a_house(database) as other:
        await house.say(f"I own a {who.word}", user=who.user, thread=who.thread)
        who.hears(house)
        with at_statement(at, lambda: other.erasures.erase(who.user, who.everything)) as boundary, suppress(*REFUSALS):
            await house.say(f"{said} {who.word}", user=who.user, thread=who.thread)
        if boundary.task is not None:
            await boundary.end()
            assert await is_settled(house, who, database), found(database, who.word)


@pytest.mark.slow
@pytest.mark.parametrize("seconds_later", ["at once", "when all have heard of it"])
async def test_a_paused_turn_is_refused_by_name_or_lost_by_name(database, seconds_later):
    who = Who()
    async with a_house(database) as house, a_house(database) as other:
        await pausing(house, who)
        await other.erasures.erase(who.user, who.everything)
        if seconds_later != "at once":
            await ErasureWatch(house.storage.pool, USER_KEYS).look()
        with pytest.raises(REFUSALS) as refused:
            await resumed(house, who)
        assert who.word not in str(refused.value)
        assert found(database, who.word) == set()
        await second_turn(house, who)
        assert (await house.told(user=who.user, thread=who.thread))[0] == f"I feed the {who.word}"


@pytest.mark.slow
async def test_a_paused_turn_that_another_process_resumes_is_refused(database):
    who, keys = Who(), Keyring([make_key()])
    async with a_house(database, keys=keys) as house:
        await pausing(house, who)
    async with a_house(database, keys=keys) as other:
        await other.erasures.erase(who.user, who.everything)
    async with a_house(database, keys=keys) as third:
        with suppress(*REFUSALS):
            await resumed(third, who)
        assert found(database, who.word) == set()


@pytest.mark.slow
@pytest.mark.parametrize("graph", ["the template", "an agent"])
async def test_a_turn_that_paused_under_another_checkpointer_is_refused_by_name(database, graph):
    who = Who()
    async with a_house(database) as house, a_house(database) as other:
        house.graph = house.built.compile(checkpointer=InMemorySaver())
        if graph == "an agent":
            stored = house.storage
            middleware = MemoryMiddleware(memories=stored.memories, log=stored.log, preload=False, model=house.model)
            house.graph = create_agent(
                house.model, [ask], middleware=[middleware], checkpointer=InMemorySaver(), context_schema=Context
            )
        await pausing(house, who)
        await other.erasures.erase(who.user, who.everything)
        with pytest.raises(UserErasedError):
            await resumed(house, who)
        assert found(database, who.word) == set()


@pytest.mark.slow
@pytest.mark.parametrize("answered", ["there", "elsewhere"])
@pytest.mark.parametrize("scope", ["all", "the thread"])
async def test_an_answer_to_a_turn_whose_thread_is_gone_is_refused_by_name(database, answered, scope):
    who, keys = Who(), Keyring([make_key()])
    async with a_house(database, keys=keys) as house, a_house(database, keys=keys) as other:
        await pausing(house, who)
        await other.erasures.erase(
            who.user, who.everything if scope == "all" else Scope(name="thread", thread_id=who.thread)
        )
        with pytest.raises(UserErasedError):
            await resumed(house if answered == "there" else other, who)
        with pytest.raises(UserErasedError):
            await house.say(Command(resume={"0" * 32: "yes"}), user=who.user, thread=who.thread)
        with pytest.raises(InputError) as refused:
            await house.say(" ", user=who.user, thread=who.thread)
        assert refused.value.code == "input_empty"


async def test_an_answer_where_nothing_was_erased_is_no_message(database):
    async with a_house(database) as house:
        with pytest.raises(InputError) as refused:
            await house.say(Command(resume="yes"), thread="never spoken in")
        assert refused.value.code == "input_empty"
