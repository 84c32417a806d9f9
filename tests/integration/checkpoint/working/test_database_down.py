"""The database can't be reached, at any point of a turn: a clear error, nothing raw written, no finished turn lost.

A relay on loopback stands between the saver and the server; taken down, it drops its connections and refuses new ones.
"""

import asyncio
import threading
from contextlib import suppress

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from discreet.checkpoint import RedactingSaver, turn_ends
from discreet.errors import StorageUnavailableError, TransientStateLostError
from discreet.state.conversation import InputState

ROWS = ["relay:async", "relay:sync"]
THREAD = {"configurable": {"thread_id": "1"}}


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """An outage of these tests ends when they say so."""
    monkeypatch.setattr(turn_ends, "PATIENCE_SECONDS", 0.1)


async def test_nothing_starts_while_the_first_read_fails(rows, relay, shop, durability):
    talk = rows.talk(shop.guarded)
    relay.down()
    with pytest.raises(StorageUnavailableError):
        await talk.invoke(shop.say("gate:note one"), **durability)
    assert (shop.runs, shop.model.prompts) == ([], [])
    with pytest.raises(StorageUnavailableError):
        await talk.state()
    relay.up()
    await talk.invoke(shop.say("gate:note one"), **durability)
    assert shop.runs == ["gate"]
    assert await rows.talk(shop.guarded).texts() == ["h:gate:note one", "a:answer to"]


@pytest.mark.parametrize("durability", ["sync", "exit"])  # with "async" the outage may come before the input is stored
@pytest.mark.parametrize("earlier", [0, 1], ids=["first-turn", "later-turn"])
async def test_a_turn_whose_end_could_not_be_stored_is_stored_with_the_next(rows, relay, shop, durability, earlier):
    durability = {"durability": durability}
    talk = rows.talk(shop.loop)
    for _ in range(earlier):
        await talk.invoke(shop.say("first one"), **durability)
    shop.in_tool = relay.down
    with pytest.raises(StorageUnavailableError, match="is another turn"):
        await talk.invoke(shop.say("use:note one"), **durability)
    shop.in_tool = lambda: None
    relay.up()
    first = ["h:first one", "a:answer to"] * earlier
    assert (await talk.state()).next == ()
    assert (await talk.texts())[-1] == "a:answer to"
    await talk.invoke(shop.say("and now"), **durability)
    expected = [*first, "h:use:note one", "a:answer to", "h:and now", "a:answer to"]
    assert await talk.texts() == expected
    assert await rows.talk(shop.loop).texts() == expected
    assert (shop.runs, shop.model.refused) == (["note"], 0)


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["sync", "exit"])  # as above
async def test_an_outage_at_the_end_of_a_turn_is_waited_for(rows, relay, shop, durability, monkeypatch):
    monkeypatch.setattr(turn_ends, "PATIENCE_SECONDS", 60)
    talk, back = rows.talk(shop.loop), threading.Timer(1, relay.up)

    def fall():
        relay.down()
        back.start()

    shop.in_tool = fall
    await talk.invoke(shop.say("use:note one"), durability=durability)
    assert back.finished.is_set()
    assert await rows.talk(shop.loop).texts() == ["h:use:note one", "a:answer to"]


@pytest.mark.slow
async def test_an_outage_writes_nothing_raw(rows, relay, shop, durability, on_disk):
    talk = rows.talk(shop.loop)
    shop.in_tool = relay.down
    with pytest.raises(StorageUnavailableError):
        await talk.invoke(shop.say("use:note one"), **durability)
    shop.in_tool = lambda: None
    relay.up()
    await talk.invoke(shop.say("and now"), **durability)
    assert on_disk(**shop.hidden()) == set()


async def test_an_outage_that_ends_within_the_turn_is_not_noticed(rows, relay, shop):
    """Between a turn's input and its end the saver needs no database."""

    def flicker():
        relay.down()
        relay.up()

    shop.in_tool = flicker
    talk = rows.talk(shop.loop)
    try:
        await talk.invoke(shop.say("use:note one"), durability="sync")
    except StorageUnavailableError:  # the pool handed out the connection that was cut; the end is in RAM
        shop.in_tool = lambda: None
        await talk.invoke(shop.say("and now"), durability="sync")
    assert (await rows.talk(shop.loop).texts())[:2] == ["h:use:note one", "a:answer to"]
    assert shop.runs == ["note"]


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["sync", "exit"])  # as above
async def test_an_outage_over_several_turns_loses_none_that_was_finished(rows, relay, shop, durability):
    durability = {"durability": durability}
    talk = rows.talk(shop.loop)
    await talk.invoke(shop.say("first one"), **durability)
    shop.in_tool = relay.down
    with pytest.raises(StorageUnavailableError):
        await talk.invoke(shop.say("use:note one"), **durability)
    for _ in range(2):
        with pytest.raises(StorageUnavailableError):
            await talk.invoke(shop.say("refused"), **durability)
    shop.in_tool = lambda: None
    relay.up()
    await talk.invoke(shop.say("and now"), **durability)
    texts = await rows.talk(shop.loop).texts()
    assert texts[:4] == ["h:first one", "a:answer to", "h:use:note one", "a:answer to"]
    assert texts[-2:] == ["h:and now", "a:answer to"]
    assert shop.model.refused == 0


async def test_a_process_that_dies_before_the_database_is_back_has_lost_no_users_text(rows, relay, shop):
    """The end of the turn was in RAM only: another process runs it again from its message, or goes on after it."""
    shop.in_tool = relay.down
    with pytest.raises(StorageUnavailableError):
        await rows.talk(shop.loop).invoke(shop.say("use:note one"), durability="sync")
    shop.in_tool = lambda: None
    relay.up()
    there = rows.talk(shop.loop)
    assert (await there.texts()) == ["h:use:note one"]
    await there.invoke(None)
    assert shop.runs == ["note", "note"]
    assert await there.texts() == ["h:use:note one", "a:answer to"]


def asking_after_an_outage(shop, relay):
    """The database is lost in the node that asks, so that the question reaches the user and its stub no disk."""

    def ask(_):
        relay.down()
        shop.runs.append(f"ask {interrupt(shop.raw('question'))}")

    builder = StateGraph(InputState)
    builder.add_node("prepare", lambda _: {})
    builder.add_node("ask", ask)
    builder.add_node("model", shop._call_model)
    builder.add_edge(START, "prepare")
    builder.add_edge("prepare", "ask")
    builder.add_edge("ask", "model")
    builder.add_edge("model", END)
    return lambda saver: builder.compile(checkpointer=saver)


async def ask_and_crash(rows, relay, shop, **options):
    """Let the question be asked while its stub can't be stored; return what the user saw of it."""
    shown = []
    with pytest.raises(StorageUnavailableError):
        await collect(shown, rows.talk(asking_after_an_outage(shop, relay)).stream(shop.say("one"), **options))
    return [chunk for chunk in shown if "__interrupt__" in chunk]


async def collect(shown, stream):
    async for chunk in stream:
        shown.append(chunk)


@pytest.mark.slow
async def test_an_answer_to_a_question_whose_stub_was_lost_never_acts(rows, relay, shop, durability, on_disk):
    await ask_and_crash(rows, relay, shop, **durability)
    relay.up()
    relay.down = lambda: None
    there = rows.talk(asking_after_an_outage(shop, relay))
    with suppress(TransientStateLostError):
        result = await there.invoke(Command(resume="yes"), **durability)
        assert shop.raw("question") in str(result["__interrupt__"])
    assert shop.runs == []
    # Where writes follow their step, the outage may come before the first.
    assert on_disk(mail=shop.email, question=shop.raw("question"), may_be_empty=True) == set()


async def test_the_process_that_asked_can_be_answered_after_the_outage(rows, relay, shop, durability):
    talk = rows.talk(asking_after_an_outage(shop, relay))
    with pytest.raises(StorageUnavailableError):
        await talk.invoke(shop.say("one"), **durability)
    relay.up()
    relay.down = lambda: None
    with suppress(TransientStateLostError):
        await talk.invoke(Command(resume="yes"), **durability)
    assert shop.runs in ([], ["ask yes"])
    await talk.invoke(shop.say("two"), **durability)
    await talk.invoke(Command(resume="yes"), **durability)
    assert shop.runs[-1:] == ["ask yes"]
    assert shop.model.refused == 0


@pytest.mark.slow
async def test_an_answer_during_an_outage_is_not_lost(rows, relay, shop):
    talk = rows.talk(shop.loop)
    await talk.invoke(shop.say("use:ask one"))
    relay.down()
    with pytest.raises(StorageUnavailableError):
        await talk.invoke(Command(resume="yes"))
    relay.up()
    if not shop.runs:
        await talk.invoke(Command(resume="yes"))
    await talk.invoke(shop.say("and now"))
    assert shop.runs == ["ask yes"]
    assert await rows.talk(shop.loop).texts() == ["h:use:ask one", "a:answer to", "h:and now", "a:answer to"]


@pytest.mark.slow
async def test_connections_cut_by_the_server_are_replaced(rows, shop, relay):
    """As after a restart of the server: the pool's connections are dead, new ones are welcome."""
    talk = rows.talk(shop.loop)
    await talk.invoke(shop.say("first one"))
    relay.down()
    relay.up()
    try:
        await talk.invoke(shop.say("second one"))
    except StorageUnavailableError:
        await talk.invoke(shop.say("second one"))
    assert await rows.talk(shop.loop).texts() == ["h:first one", "a:answer to", "h:second one", "a:answer to"]


@pytest.mark.slow
async def test_other_operations_fail_as_clearly(rows, relay, shop):
    saver = rows.open()
    talk = rows.talk(shop.loop, saver)
    await talk.invoke(shop.say("first one"))
    relay.down()
    for call in (
        talk.state(),
        talk.history(),
        talk.update({"messages": []}, as_node="model"),
        rows.on_saver(saver, "delete_thread")("1"),
        rows.on_saver(saver, "copy_thread")("1", "2"),
        rows.on_saver(saver, "prune")(["1"]),
        rows.on_saver(saver, "delete_for_runs")(["1"]),
    ):
        with pytest.raises(StorageUnavailableError):
            await call
    relay.up()
    assert (await rows.talk(shop.loop).texts())[:2] == ["h:first one", "a:answer to"]


async def test_the_error_says_no_user_text(rows, relay, shop):
    shop.in_tool = relay.down
    with pytest.raises(StorageUnavailableError) as caught:
        await rows.talk(shop.loop).invoke(shop.say("use:note one"))
    error: BaseException | None = caught.value
    while error is not None:
        assert shop.word not in str(error)
        error = error.__cause__ or error.__context__


@pytest.mark.slow
async def test_opening_a_saver_gives_up_in_bounded_time(relay):
    relay.down()
    async with asyncio.timeout(30):
        with pytest.raises(StorageUnavailableError):
            async with RedactingSaver.from_conn_string(relay.dsn):
                pass
