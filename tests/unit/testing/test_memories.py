from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from discreet.errors import InvalidUserError
from discreet.state.records import MemoryFilters, MemoryRecord, TurnRecord
from discreet.testing import InMemoryConversationLog, InMemoryMemories

DAY = datetime(2026, 1, 10, tzinfo=UTC)


async def texts(memories, user_id, query, **options):
    return [hit.record.text for hit in await memories.search(user_id, query, **options)]


@pytest.fixture
def memories():
    return InMemoryMemories()


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Ann keeps two parrots", "Which parrots?"),
        ("Ann nuôi hai con vẹt", "con vẹt nào"),
        ("Анна держит попугаев", "какие попугаи"),
        ("安养了两只鹦鹉", "鹦鹉呢"),
    ],
)
async def test_a_memory_is_found_by_its_own_user_only(memories, text, query):
    await memories.save("ann", [MemoryRecord(text=text), MemoryRecord(text="42 <PHONE>")])
    assert (await texts(memories, "ann", query))[0] == text
    assert await texts(memories, "bob", query) == []


async def test_text_is_redacted_before_it_is_kept(memories):
    (stored,) = await memories.save("ann", [MemoryRecord(text="Write to ann@example.com")])
    assert stored.text == "Write to <EMAIL>"
    assert await texts(memories, "ann", "write") == ["Write to <EMAIL>"]


async def test_the_best_come_first_and_the_limit_holds(memories):
    await memories.save(
        "ann", [MemoryRecord(text=text) for text in ("parrots", "grey parrots", "grey African parrots")]
    )
    assert await texts(memories, "ann", "grey African parrots", limit=2) == ["grey African parrots", "grey parrots"]


async def test_a_threshold_removes_what_shares_no_word(memories):
    await memories.save("ann", [MemoryRecord(text="parrots"), MemoryRecord(text="a long note about banks and parrots")])
    await memories.save("ann", [MemoryRecord(text="Lyon")])
    assert "Lyon" in await texts(memories, "ann", "parrots")
    assert sorted(await texts(memories, "ann", "parrots", threshold=0.9)) == [
        "a long note about banks and parrots",
        "parrots",
    ]


@pytest.mark.parametrize("query", ["", " \n"])
async def test_a_blank_query_finds_nothing(memories, query):
    await memories.save("ann", [MemoryRecord(text="parrots")])
    assert await memories.search("ann", query) == []


@pytest.mark.parametrize(
    "filters",
    [
        {"app_name": "shop"},
        {"thread_id": "t1"},
        {"agent_id": "helper"},
        {"types": ["event", "preference"]},
        {"tags": ["pets"]},
        {"after": DAY},
        {"before": DAY + timedelta(days=1), "after": DAY},
    ],
)
async def test_every_filter_narrows(memories, filters):
    wanted = MemoryRecord(
        text="parrot one", app_name="shop", thread_id="t1", agent_id="helper", type="event", tags=["pets", "x"],
        created_at=DAY,
    )  # fmt: skip
    other = MemoryRecord(text="parrot two", created_at=DAY - timedelta(days=1))
    await memories.save("ann", [wanted, other])
    assert await texts(memories, "ann", "parrot", filters=MemoryFilters(**filters)) == ["parrot one"]


async def test_what_holds_no_longer_is_not_found(memories):
    await memories.save("ann", [MemoryRecord(text="parrots", valid_to=DAY), MemoryRecord(text="cats")])
    assert await texts(memories, "ann", "parrots") == ["cats"]


async def test_a_turn_replaces_the_one_at_its_place(memories):
    def turn(text, position):
        return MemoryRecord(text=text, type="turn", thread_id="t1", position=position)

    (first,) = await memories.save("ann", [turn("parrots draft", 0)])
    (again, _) = await memories.save("ann", [turn("parrots final", 0), turn("parrots more", 1)])
    assert again.entry_id == first.entry_id
    assert sorted(await texts(memories, "ann", "parrots")) == ["parrots final", "parrots more"]


async def test_deleting_takes_the_users_own_only(memories):
    (stored,) = await memories.save("ann", [MemoryRecord(text="parrots")])
    assert not await memories.delete("bob", stored.entry_id)
    assert not await memories.delete("ann", uuid4())
    assert await memories.delete("ann", stored.entry_id)
    assert await texts(memories, "ann", "parrots") == []


async def test_a_number_is_its_digits(memories):
    (stored,) = await memories.save(7, [MemoryRecord(text="parrots")])
    assert await texts(memories, "7", "parrots") == await texts(memories, 7, "parrots") == ["parrots"]
    assert await memories.delete("7", stored.entry_id)


async def test_a_user_id_that_can_key_nothing_is_refused(memories):
    for call in (memories.save(" ", []), memories.search("", "x"), memories.delete("a\0b", uuid4())):
        with pytest.raises(InvalidUserError):
            await call


async def test_the_log_keeps_each_turn_once_with_its_later_answer():
    log = InMemoryConversationLog()
    turn = TurnRecord(
        request_id="r1",
        user_id="ann",
        thread_id="t1",
        input_text="Hi",
        output_text="Hello",
        started_at=DAY,
        ended_at=DAY,
    )
    assert await log.append(turn)
    again = turn.model_copy(update={"output_text": "Hello again"})
    assert not await log.append(again)
    assert log.turns == [again]
