"""Erasing a part: what is recent, one thread, one memory, or what the user said. The rest stays and goes on."""

from __future__ import annotations

import psycopg
import pytest
from kit.places import snapshot
from langgraph.types import Command
from pydantic import ValidationError
from testkit.erasing import found
from testkit.keys import USER_KEYS

from discreet.errors import CheckpointError, InputError, InvalidUserError, UserErasedError
from discreet.graph import drain
from discreet.rights.erasure import Scope
from discreet.state.records import MemoryRecord
from discreet.storage.database.keys import digest

ANN = USER_KEYS.of_user("ann")

LONG_AGO = "'2026-01-01T12:00:00Z'"

MOVE_BACK = (
    f"UPDATE discreet.conversation_log SET started_at = {LONG_AGO}, ended_at = {LONG_AGO}",
    f"UPDATE discreet.session_record SET started_at = {LONG_AGO}, ended_at = {LONG_AGO}",
    f"UPDATE discreet.memory SET created_at = {LONG_AGO}",
    f"UPDATE checkpoint_messages SET created_at = {LONG_AGO}",
    "UPDATE checkpoints SET checkpoint = jsonb_set(checkpoint, '{ts}', '\"2026-01-01T12:00:00+00:00\"')",
)


async def months_go_by(dsn):
    """Let all that was said so far be of long ago."""
    await drain()  # the log is written beside the turns
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in MOVE_BACK:
            connection.execute(statement)


async def said(house, thread="t"):
    """Return what Ann's log has of a thread."""
    await drain()
    return [turn.input_text for turn in await house.storage.log.read("ann", thread_id=thread)]


@pytest.mark.slow
@pytest.mark.dialect
async def test_what_is_recent_goes_and_the_rest_goes_on(house, database):
    await house.say("remember: I own a goldcrest")
    await months_go_by(database)
    await house.say("remember: I sold a zebrafinch")
    await house.say("A zebrafinch sings", thread="new")
    await house.say("ask: may the zebrafinch sing?", thread="paused")
    counts = await house.erasures.preview("ann", Scope.recent())
    assert counts["database"]["conversation_log"] == 2
    receipt = await house.erasures.erase("ann", Scope.recent())
    assert found(database, "zebrafinch") == set()
    assert await said(house) == ["remember: I own a goldcrest"]
    assert await house.told() == ["remember: I own a goldcrest", "It is done: " + (await house.told())[1][12:]]
    [kept] = await house.storage.memories.latest("ann")
    assert "goldcrest" in kept.text
    assert receipt.counts["database"]["conversation_log"] == 2
    await house.say("It sings again")
    assert next(text for text in await house.told() if "sings" in text) == "It sings again"
    assert (await said(house))[-1] == "It sings again"


@pytest.mark.slow
async def test_a_paused_turn_of_the_time_is_refused(house, database):
    await house.say("ask: may the zebrafinch sing?", thread="paused")
    await house.erasures.erase("ann", Scope.recent())
    with pytest.raises((UserErasedError, CheckpointError, InputError)):
        await house.say(Command(resume="yes"), thread="paused")
    assert found(database, "zebrafinch") == set()


@pytest.mark.slow
async def test_one_thread_goes_with_what_came_of_it(house, database):
    for number in range(6):
        await house.say(f"The zebrafinch at {number}", thread="gone")
    await house.say("remember: I own a zebrafinch", thread="gone")
    await house.say("remember: I own a goldcrest", thread="kept")
    receipt = await house.erasures.erase("ann", Scope(name="thread", thread_id="gone"))
    assert found(database, "zebrafinch") == set()
    assert await house.told(thread="gone") == []
    assert await said(house, "kept") == ["remember: I own a goldcrest"]
    assert len(await house.told(thread="kept")) == 2
    assert receipt.threads == [USER_KEYS.of_thread("gone")]


@pytest.mark.slow
@pytest.mark.dialect
@pytest.mark.direct("names the schema")
async def test_somebody_elses_thread_is_not_touched(house, database):
    await house.say("My nightingale", user="bob", thread="bobs")
    before = snapshot(database)["discreet.checkpoint_messages"]
    await house.erasures.erase("ann", Scope(name="thread", thread_id="bobs"))
    assert snapshot(database)["discreet.checkpoint_messages"] == before
    assert await house.told(thread="bobs") == ["My nightingale", "I heard: My nightingale"]


@pytest.mark.slow
@pytest.mark.dialect
async def test_one_memory_goes_and_what_tells_it_from_memory(house):
    await house.say("remember: I own a zebrafinch")
    [memory] = await house.storage.memories.latest("ann", filters=None)
    await house.erasures.erase("ann", Scope(name="memory", entry_id=memory.entry_id))
    assert await house.storage.memories.latest("ann") == []
    assert await said(house) == ["remember: I own a zebrafinch"], "the log stays"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["by its words", "by a memory of it"])
async def test_what_was_said_goes_in_depth(house, database, how):
    await house.say("I like rain")
    await house.say("remember: I keep a zebrafinch")
    await house.say("What do zebrafinch eat?")
    for number in range(5):
        await house.say(f"It rains, says the goldcrest {number}")
    await house.say("My zebrafinch is asleep", thread="other")
    if how == "by its words":
        scope = Scope(name="said", text="I keep a zebrafinch")
    else:
        memory = next(m for m in await house.storage.memories.latest("ann") if m.type == "user_fact")
        scope = Scope(name="said", entry_id=memory.entry_id)
    counts = await house.erasures.preview("ann", scope)
    before = snapshot(database)
    assert snapshot(database) == before
    receipt = await house.erasures.erase("ann", scope)
    assert found(database, "zebrafinch") == set()
    assert receipt.counts["database"]["conversation_log"] == counts["database"]["conversation_log"] == 3
    assert await said(house, "other") == []
    told = await house.told()
    assert told[0] == "I like rain"
    assert sum("goldcrest" in text for text in told) == 10
    await house.say("And now?")
    assert (await house.told())[-2:] == ["And now?", "I heard: And now?"]


SAID = [
    ("I am allergic to peanuts", "Allergic to peanuts", "Likes rain"),
    ("Tôi bị dị ứng với đậu phộng", "Bị dị ứng với đậu phộng", "Thích mưa"),
    ("У меня аллергия на арахис", "Аллергия на арахис", "Любит дождь"),
    ("我对花生过敏", "对花生过敏", "喜欢下雨"),
]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(("text", "fact", "other"), SAID)
async def test_facts_that_tell_what_was_said_go_and_others_stay(house, text, fact, other):
    await house.storage.memories.save("ann", [MemoryRecord(text=each) for each in (text, fact, other)], dedup=False)
    scope = Scope(name="said", text=text)
    assert (await house.erasures.preview("ann", scope))["database"]["memory"] == 2
    receipt = await house.erasures.erase("ann", scope)
    assert receipt.counts["database"]["memory"] == 2
    assert [memory.text for memory in await house.storage.memories.latest("ann")] == [other]


@pytest.mark.dialect
async def test_turns_that_shared_a_prompt_with_what_went_are_taken_again(house, database):
    await house.say("I keep a zebrafinch")
    await house.say("I live in Rostock")
    await house.storage.background.sessions.take(ANN, digest("t"), "manual", kinds=["extraction"])
    await house.erasures.erase("ann", Scope(name="said", text="I keep a zebrafinch"))
    assert await house.storage.background.sessions.pending(limit=10)
    [request] = await house.storage.background.sessions.take(ANN, digest("t"), "manual", kinds=["extraction"])
    assert len(request.request_ids) == 1


@pytest.mark.slow
async def test_prompts_of_turns_that_stay_are_worked_on(house, database):
    await house.say("I live in Rostock", thread="kept")
    [request] = await house.storage.background.sessions.take(ANN, digest("kept"), "manual", kinds=["extraction"])
    await house.erasures.erase("ann", Scope(name="thread", thread_id="gone"))
    with psycopg.connect(database) as connection:
        [(epoch, now)] = connection.execute(
            "SELECT r.epoch, u.epoch FROM discreet.batch_requests r JOIN discreet.users u USING (user_key)"
        ).fetchall()
    assert epoch == now > request.epoch


async def test_moments_of_the_time_stay_without_their_user(house):
    await house.storage.memories.save("ann", [MemoryRecord(text="She was born", type="important_moment")])
    await house.erasures.erase("ann", Scope.recent())
    assert [moment.text for moment in await house.erasures.moments.list(limit=9)] == ["She was born"]
    assert await house.storage.memories.latest("ann") == []


@pytest.mark.slow
async def test_a_thread_without_a_user_can_be_erased(house, database):
    await house.graph.ainvoke({"messages": [("user", "A zebrafinch")]}, {"configurable": {"thread_id": "nobodys"}})
    assert found(database, "zebrafinch")
    await house.erasures.erase(None, Scope(name="thread", thread_id="nobodys"))
    assert found(database, "zebrafinch") == set()


async def test_without_user_and_thread_there_is_nothing_to_erase(house):
    with pytest.raises(InvalidUserError):
        await house.erasures.erase(None, Scope.everything())


@pytest.mark.parametrize(
    "given",
    [
        {"name": "recent"},
        {"name": "thread"},
        {"name": "memory"},
        {"name": "said"},
        {"name": "said", "text": "x", "entry_id": ANN},
        {"name": "some"},
    ],
)
def test_what_is_not_clear_is_refused(given):
    with pytest.raises(ValidationError):
        Scope.model_validate(given)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["recent", "thread", "memory", "said"])
async def test_new_threads_begin_right_after_a_part_was_erased(house, name):
    await house.say("remember: I own a goldcrest")
    [kept] = await house.storage.memories.latest("ann")
    scopes = {
        "recent": Scope.recent(),
        "thread": Scope(name="thread", thread_id="t"),
        "memory": Scope(name="memory", entry_id=kept.entry_id),
        "said": Scope(name="said", entry_id=kept.entry_id),
    }
    await house.erasures.erase("ann", scopes[name])
    await house.say("Hello again", thread="new")
    assert await said(house, "new") == ["Hello again"]
