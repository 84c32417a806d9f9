"""Forgetting: one conformance suite for the database and for the memories in RAM."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest
from testkit.keys import USER_KEYS

from discreet.encryption import Keyring, make_key
from discreet.ports import ForgetRequest
from discreet.rights.exporting import begin
from discreet.rights.exporting.format import SessionRow, SessionSummaryRow
from discreet.state.background import SessionSummary
from discreet.state.records import MemoryRecord, Provenance, TurnRecord
from discreet.storage import open_storage
from discreet.storage.background.summaries import write_summary
from discreet.storage.database.keys import digest
from discreet.storage.memories.forgetting import MARKED
from discreet.testing import InMemoryConversationLog, InMemoryMemories, StubEmbeddings

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SAVED = Provenance(source="save_memory")


@pytest.fixture(params=["postgres", "sealed", "memory"])
def place(request):
    """Return what keeps the memories, and the DSN of its database, made before any event loop runs."""
    return request.param, None if request.param == "memory" else request.getfixturevalue("database")


@pytest.fixture
async def kept(place):
    """Return memories and the log beside them."""
    kind, dsn = place
    if kind == "memory":
        log = InMemoryConversationLog()
        yield InMemoryMemories(embeddings=StubEmbeddings(dims=256), log=log), log
        return
    keys = Keyring([make_key()]) if kind == "sealed" else None
    async with open_storage(dsn, embeddings=StubEmbeddings(dims=256), keys=keys) as storage:
        yield storage.memories, storage.log


@pytest.fixture
def memories(kept):
    return kept[0]


@pytest.fixture
def log(kept):
    return kept[1]


def fact(text, request_id="r1", **values):
    return MemoryRecord(text=text, thread_id="a", request_id=request_id, provenance=SAVED, **values)


def turn(request_id, said, *, thread="a", user="ann", intent=None):
    return TurnRecord(
        intent=intent,
        request_id=request_id,
        user_id=user,
        thread_id=thread,
        input_text=said,
        output_text="Noted.",
        started_at=NOON,
        ended_at=NOON,
    )


async def left(memories, user="ann"):
    return {record.text for record in await memories.latest(user, held=False)}


async def test_a_memory_that_is_not_there_changes_nothing(memories):
    (record,) = await memories.save("ann", [fact("Allergic to peanuts")])
    asking = ForgetRequest(thread_id="a", request_id="r9", rounds={"r1": "I am allergic to peanuts"})
    assert await memories.forget("bob", record.entry_id, asking=asking) is None
    assert await memories.forget("ann", uuid4(), asking=asking) is None
    assert await memories.forgotten("ann", "a") == await memories.forgotten("bob", "a") == frozenset()
    assert await left(memories) == {"Allergic to peanuts"}


async def test_the_rounds_that_tell_it_are_marked_in_all_threads_of_the_user(memories, log):
    (record,) = await memories.save("ann", [fact("Allergic to peanuts")])
    for logged in (
        turn("r1", "I am allergic, to peanuts of all things"),
        turn("r2", "I keep a boat"),
        turn("r3", "What is in peanut butter?", thread="b"),
        turn("r4", "Peanuts!", thread="b", user="bob"),
        turn("r5", "Nice weather", thread="c"),
    ):
        await log.append(logged)
    asking = ForgetRequest(thread_id="d", request_id="r9", rounds={"r7": "Peanuts again", "r8": "Hello"})
    gone = await memories.forget("ann", record.entry_id, asking=asking)
    assert gone.rounds == {("a", "r1"), ("b", "r3"), ("d", "r7")}
    assert [await memories.forgotten("ann", thread) for thread in "abcd"] == [{"r1"}, {"r3"}, set(), {"r7", "r9"}]
    assert await memories.forgotten("bob", "b") == frozenset()


async def test_turns_and_summaries_that_tell_it_go(memories):
    (record,) = await memories.save("ann", [fact("Allergic to peanuts")])
    derived = [
        MemoryRecord(text="User: my peanut allergy", type="turn", thread_id="b", position=0, request_id="r3"),
        MemoryRecord(text="Assistant: I see.", type="turn", thread_id="b", position=1, request_id="r3"),
        MemoryRecord(text="User: I bake bread", type="turn", thread_id="b", position=2, request_id="r4"),
        MemoryRecord(text="They spoke of food that is bad for them", type="conversation_summary", thread_id="b"),
        MemoryRecord(text="A peanut allergy came up", type="conversation_summary", thread_id="c"),
        MemoryRecord(text="They spoke of boats", type="conversation_summary", thread_id="d"),
    ]
    await memories.save("ann", derived)
    gone = await memories.forget("ann", record.entry_id)
    assert gone.rounds == {("a", "r1"), ("b", "r3")}
    assert {each.text for each in gone.told} == {each.text for each in derived} - {
        "User: I bake bread",
        "They spoke of boats",
    }
    assert await left(memories) == {"User: I bake bread", "They spoke of boats"}


async def test_all_former_versions_go_and_other_facts_that_ended_stay(memories):
    began, long_ago = NOON - timedelta(days=9), NOON - timedelta(days=99)
    for text, since, until, request_id in [
        ("Ann lives in Rome", long_ago, began, "r3"),
        ("Ann lives in Hanoi", began, NOON, "r2"),
        ("Ann studies physics", long_ago, began - timedelta(days=1), "r4"),
    ]:
        await memories.save("ann", [fact(text, request_id, created_at=since, valid_to=until)])
    await memories.save("ann", [fact("Ann ran a race", "r5", type="event", created_at=began, valid_to=NOON)])
    (record,) = await memories.save("ann", [fact("Ann moved to Berlin", created_at=NOON)])
    gone = await memories.forget("ann", record.entry_id)
    assert [each.text for each in gone.facts] == ["Ann moved to Berlin", "Ann lives in Hanoi", "Ann lives in Rome"]
    assert gone.rounds == {("a", "r1"), ("a", "r2"), ("a", "r3")}
    assert await left(memories) == {"Ann studies physics", "Ann ran a race"}


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("only", [False, True])
async def test_facts_of_the_same_statement_go_unless_one_part_was_named(memories, only):
    named, _, _ = await memories.save("ann", [fact("Called Ann"), fact("Drinks coffee"), fact("Owns a boat", "r2")])
    await memories.save("ann", [MemoryRecord(text="Extracted elsewhere", thread_id="a", request_id="r1")])
    gone = await memories.forget("ann", named.entry_id, only=only)
    assert [each.text for each in gone.facts] == ["Called Ann"] + ([] if only else ["Drinks coffee"])
    assert await left(memories) == {"Owns a boat", "Extracted elsewhere"} | ({"Drinks coffee"} if only else set())


async def test_a_memory_whose_key_is_lost_can_be_forgotten(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), keys=Keyring([make_key()])) as storage:
        (record,) = await storage.memories.save("ann", [fact("Allergic to peanuts")])
        await storage.log.append(turn("r1", "Allergic to peanuts"))
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), keys=Keyring([make_key()])) as storage:
        gone = await storage.memories.forget("ann", record.entry_id)
        assert gone.rounds == {("a", "r1")}
        assert await storage.memories.latest("ann") == []


@pytest.fixture(params=["plain", "sealed"])
async def storage(request, database):
    keys = Keyring([make_key()]) if request.param == "sealed" else None
    async with open_storage(database, embeddings=StubEmbeddings(dims=256), keys=keys) as storage:
        yield storage


async def sum_up(storage, thread, text):
    """Have a session come to `text`, as a worker does."""
    came_to = SessionSummary(
        summary=text, topics=[], key_facts=[], event_count=1, started_at=NOON, ended_at=NOON + timedelta(hours=1)
    )
    key = USER_KEYS.of_user("ann")
    async with storage.pool.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
        await write_summary(cursor, key, digest(thread), thread, app_name="a", summary=came_to, sealer=storage.sealer)


async def sessions(storage):
    """Return what each session of Ann's is about, and what it came to."""
    records = [record async for page in begin(storage, "ann").pages() for record in page.records]
    about = {record.thread_id: record.intent for record in records if isinstance(record, SessionRow)}
    return about, {record.thread_id: record.summary for record in records if isinstance(record, SessionSummaryRow)}


async def test_what_a_session_is_about_and_came_to_goes_with_the_rounds_that_told_it(storage):
    """By its thread, whatever it says; and where the log has no round of it that does, by its words."""
    (record,) = await storage.memories.save("ann", [fact("Allergic to peanuts")])
    for thread, said, intent, came_to in (
        ("a", "I am allergic to peanuts", "what makes me ill", "They spoke of food"),
        ("b", "Hello", "peanut allergy", "They spoke of peanuts"),
        ("c", "I keep a boat", "boat", "They spoke of a boat"),
    ):
        await storage.log.append(turn(f"r-{thread}", said, thread=thread, intent=intent))
        await sum_up(storage, thread, came_to)
    await storage.memories.forget("ann", record.entry_id)
    assert await sessions(storage) == (
        {"a": None, "b": None, "c": "boat"},
        {"c": "They spoke of a boat"},
    )


async def test_a_dry_run_leaves_what_a_session_is_about(storage):
    (record,) = await storage.memories.save("ann", [fact("Allergic to peanuts")])
    await storage.log.append(turn("r1", "I am allergic to peanuts", intent="peanuts"))
    await storage.memories.forget("ann", record.entry_id, dry_run=True)
    assert (await sessions(storage))[0] == {"a": "peanuts"}


async def test_the_marks_hold_no_text_and_go_with_their_user(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        (record,) = await storage.memories.save("ann", [fact("Allergic to peanuts")])
        await storage.memories.forget("ann", record.entry_id)
    with psycopg.connect(database) as connection:
        columns = "thread_key, request_id"
        (mark,) = connection.execute(f"SELECT {columns} FROM discreet.forgotten_round").fetchall()
        assert mark == (digest("a"), "r1")
        connection.execute("DELETE FROM discreet.users")
        assert connection.execute("SELECT count(*) FROM discreet.forgotten_round").fetchone() == (0,)


@pytest.mark.slow
async def test_marks_are_read_by_their_index(database):
    with psycopg.connect(database) as connection:
        connection.execute("INSERT INTO discreet.users (user_key) SELECT gen_random_uuid() FROM generate_series(1, 50)")
        connection.execute(
            "INSERT INTO discreet.forgotten_round SELECT user_key, md5(t::text)::uuid, 'r' || t, now() "
            "FROM discreet.users, generate_series(1, 400) t"
        )
        connection.execute("ANALYZE discreet.forgotten_round")
        asked = {"user_key": USER_KEYS.of_user("user-7"), "thread_key": digest("a")}
        plan = "\n".join(line for (line,) in connection.execute(f"EXPLAIN {MARKED}", asked))
    assert "forgotten_round_pkey" in plan
    assert "Seq Scan on forgotten_round" not in plan


async def test_of_a_summary_the_users_words_say_what_is_to_go(memories, log):
    text = "They spoke of peanuts that make Ann ill, of a boat in Rostock and of jazz."
    (record,) = await memories.save("ann", [MemoryRecord(text=text, type="conversation_summary", thread_id="a")])
    await log.append(turn("r1", "Peanuts make me ill"))
    await log.append(turn("r2", "My boat lies in Rostock"))
    asking = ForgetRequest(thread_id="b", request_id="r9", asked="Forget that peanuts make me ill")
    gone = await memories.forget("ann", record.entry_id, asking=asking)
    assert gone.rounds == {("a", "r1")}


async def test_what_was_said_and_never_kept_is_forgotten_by_its_words(memories, log):
    """The rounds of all threads, turns and summaries go as with a fact; facts that tell it are named and stay."""
    await memories.save("ann", [fact("Bakes bread", "r4"), fact("Buys peanut butter", "r5")])
    derived = [
        MemoryRecord(text="User: peanuts make me ill", type="turn", thread_id="b", position=0, request_id="r3"),
        MemoryRecord(text="They spoke of food", type="conversation_summary", thread_id="b"),
        MemoryRecord(text="They spoke of boats", type="conversation_summary", thread_id="c"),
    ]
    await memories.save("ann", derived)
    await log.append(turn("r3", "Peanuts make me ill", thread="b"))
    await log.append(turn("r6", "Peanuts make me ill", thread="b", user="bob"))
    asking = ForgetRequest(thread_id="a", request_id="r9", rounds={"r1": "May one eat peanuts?", "r2": "Hello"})
    gone = await memories.forget("ann", "I am allergic to peanuts", asking=asking)
    assert (gone.facts, gone.rounds) == ([], {("a", "r1"), ("b", "r3")})
    assert {each.text for each in gone.told} == {"User: peanuts make me ill", "They spoke of food"}
    assert [each.text for each in gone.still] == ["Buys peanut butter"]
    assert await left(memories) == {"Bakes bread", "Buys peanut butter", "They spoke of boats"}
    assert [await memories.forgotten("ann", thread) for thread in "abc"] == [{"r1", "r9"}, {"r3"}, set()]
    assert await memories.forgotten("bob", "b") == frozenset()


async def test_the_request_is_forgotten_though_nothing_is_known_of_the_user(memories):
    asking = ForgetRequest(thread_id="a", request_id="r1")
    gone = await memories.forget("new", "I am pregnant", asking=asking)
    assert (gone.facts, gone.told, gone.rounds, gone.still) == ([], [], frozenset(), [])
    assert await memories.forgotten("new", "a") == {"r1"}


async def test_a_value_in_the_words_is_known_by_its_placeholder(memories, log):
    await log.append(turn("r3", "Write to <EMAIL>", thread="b"))
    asking = ForgetRequest(
        thread_id="a",
        request_id="r9",
        rounds={"r1": "Mail <EMAIL>", "r2": "Mail <EMAIL>"},
        tags={
            "r1": frozenset({"<EMAIL:ONE>"}),
            "r2": frozenset({"<EMAIL:TWO>"}),
            "r9": frozenset({"<EMAIL:ONE>"}),
        },
    )
    gone = await memories.forget("ann", "ann.lee@example.com", asking=asking)
    assert gone.rounds == {("a", "r1"), ("b", "r3")}


async def test_other_current_facts_that_tell_it_are_named_newest_first(memories):
    said = ["Expects a baby in May, twins", "Twins run in the family", "Plays chess"]
    for number, text in enumerate(said):
        await memories.save("ann", [fact(text, f"r{number}", created_at=NOON + timedelta(hours=number))])
    ended = fact("Wished for twins", "r7", created_at=NOON - timedelta(days=9), valid_to=NOON - timedelta(days=5))
    await memories.save("ann", [ended])
    await memories.save("bob", [fact("Has twins")])
    (record,) = await memories.save("ann", [fact("Is going to have twins", "r8", created_at=NOON + timedelta(days=1))])
    gone = await memories.forget("ann", record.entry_id)
    assert [each.text for each in gone.still] == ["Twins run in the family", "Expects a baby in May, twins"]
