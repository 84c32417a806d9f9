"""What a search finds, whose, and in what order."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from testkit.keys import USER_KEYS

from discreet.providers import embedding_provider
from discreet.settings import Settings
from discreet.state.records import MemoryFilters, MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

DAY = datetime(2026, 3, 1, tzinfo=UTC)


async def found(memories, user_id, query, **options):
    return [hit.record.text for hit in await memories.search(user_id, query, **options)]


async def test_recall_is_scoped_to_the_user(memories):
    [record] = await memories.save("ann", [MemoryRecord(text="Keeps two parrots", tags=["pets"])])
    for stranger in ("bob", "Ann", "ann ", "ann' OR '1'='1", "ann%", "a_n", "*", "àнн"):
        assert await memories.search(stranger, "parrots") == []
        assert await memories.search(stranger, "parrots", filters=MemoryFilters(tags=["pets"])) == []
        assert not await memories.delete(stranger, record.entry_id)
    assert await found(memories, "ann", "parrots") == ["Keeps two parrots"]


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("user_id", ["Аня", "安妮", "🦜", "ann|1", "'; --", "%s", "é", "e\u0301"])
async def test_any_user_id_finds_its_own_only(memories, user_id):
    await memories.save(user_id, [MemoryRecord(text="Keeps two parrots")])
    await memories.save("somebody else", [MemoryRecord(text="Keeps parrots too")])
    assert await found(memories, user_id, "parrots") == ["Keeps two parrots"]


async def test_deleting_is_once(memories):
    [record] = await memories.save("ann", [MemoryRecord(text="Keeps two parrots")])
    assert await memories.delete("ann", record.entry_id)
    assert not await memories.delete("ann", record.entry_id)
    assert await memories.search("ann", "parrots") == []


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("fusion", ["convex", "rrf"])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Which parrots do I keep?", "Keeps two African Grey parrots"),
        ("К каким врачам я хожу?", "Ходит к врачу в Казани"),
        ("Tôi dị ứng với gì?", "Bị dị ứng đậu phộng"),
        ("我的猫叫什么名字？", "养了一只猫，叫小白"),
        ("猫", "养了一只猫，叫小白"),
    ],
)
async def test_four_languages_are_found_by_word(database, fusion, query, expected):
    texts = ["Keeps two African Grey parrots", "Ходит к врачу в Казани", "Bị dị ứng đậu phộng", "养了一只猫，叫小白"]
    records = [MemoryRecord(text=text) for text in [*texts, "Likes tea", "住在北京", "Живёт один"]]
    async with open_storage(database, settings=Settings(fusion=fusion), embeddings=StubEmbeddings(dims=256)) as storage:
        await storage.memories.save("ann", records)
        assert (await found(storage.memories, "ann", query))[0] == expected
        assert await found(storage.memories, "ann", query, threshold=1.0) == [expected]


@pytest.mark.slow
async def test_meaning_finds_what_shares_no_word(database):
    async with open_storage(database, embeddings=embedding_provider("local")) as storage:
        texts = [
            "Keeps an African Grey parrot",
            "Works as a nurse in Leeds",
            "Is allergic to peanuts",
            "Plays chess on Sundays",
            "Has a sister called Olga",
        ]
        await storage.memories.save("ann", [MemoryRecord(text=text) for text in texts])
        assert (await found(storage.memories, "ann", "that flying animal"))[0] == texts[0]
        assert (await found(storage.memories, "ann", "что мне нельзя есть?"))[0] == texts[2]
        [same, *_] = await storage.memories.search("ann", texts[3])
        assert same.similarity > 0.8


async def test_a_threshold_never_removes_a_memory_with_a_matching_word(memories):
    await memories.save(
        "ann",
        [MemoryRecord(text=f"turn {n} about parrots", type="turn", thread_id="t", position=2 * n) for n in range(9)],
    )
    await memories.save("ann", [MemoryRecord(text="Likes tea")])
    assert len(await found(memories, "ann", "parrots", threshold=1.0, limit=50)) == 9
    assert len(await found(memories, "ann", "parrots", threshold=None, limit=50)) == 10
    assert await memories.search("ann", "submarine", threshold=0.9) == []


async def test_a_threshold_keeps_what_is_near_enough(memories):
    await memories.save("ann", [MemoryRecord(text="Likes green tea")])
    [hit] = await memories.search("ann", "Likes green tea", threshold=0.99)
    assert hit.similarity == pytest.approx(1.0, abs=1e-3)


@pytest.mark.slow
async def test_a_word_of_the_turn_before_finds_the_answer_but_does_not_pass_a_threshold(memories):
    said = ["Which animals do you keep?", "Zwei Graupapageien", "How lovely"]
    await memories.save(
        "ann",
        [MemoryRecord(text=text, type="turn", thread_id="t", position=n) for n, text in enumerate(said)]
        + [MemoryRecord(text="Plays chess on Sundays")],
    )
    assert (await found(memories, "ann", "animals"))[:2] == said[:2]
    assert await found(memories, "ann", "animals", threshold=1.0) == said[:1]


@pytest.mark.dialect
async def test_filters_narrow_and_all_must_hold(memories):
    records = [
        MemoryRecord(
            text="parrot one", app_name="a", thread_id="t1", agent_id="x", tags=["pets", "home"], created_at=DAY
        ),
        MemoryRecord(text="parrot two", app_name="b", thread_id="t2", type="event", created_at=DAY + timedelta(days=1)),
        MemoryRecord(text="parrot three", app_name="a", tags=["pets"], created_at=DAY + timedelta(days=2)),
    ]
    await memories.save("ann", records)

    async def numbers(**filters):
        hits = await found(memories, "ann", "parrot", filters=MemoryFilters(**filters))
        return {text.removeprefix("parrot ") for text in hits}

    assert await numbers() == {"one", "two", "three"}
    assert await numbers(app_name="a") == {"one", "three"}
    assert await numbers(app_name="c") == set()
    assert await numbers(thread_id="t2") == {"two"}
    assert await numbers(agent_id="x") == {"one"}
    assert await numbers(types=["event", "turn"]) == {"two"}
    assert await numbers(types=[]) == set()
    assert await numbers(tags=["pets"]) == {"one", "three"}
    assert await numbers(tags=["pets", "home"]) == {"one"}
    assert await numbers(after=DAY + timedelta(days=1)) == {"two", "three"}
    assert await numbers(before=DAY + timedelta(days=1)) == {"one"}
    assert await numbers(app_name="a", after=DAY + timedelta(days=1)) == {"three"}
    assert await numbers(tags=["pets' OR true --"], thread_id="t1' OR true --") == set()


async def test_superseded_memories_are_not_found(memories):
    now = datetime.now(UTC)
    await memories.save(
        "ann",
        [
            MemoryRecord(text="parrot of old", valid_to=now - timedelta(seconds=1)),
            MemoryRecord(text="parrot of today", valid_to=now + timedelta(hours=1)),
        ],
    )
    assert await found(memories, "ann", "parrot") == ["parrot of today"]


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("query", ["", "   ", "\0", "\n\t"])
async def test_a_blank_query_finds_nothing(memories, query):
    await memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    assert await memories.search("ann", query) == []


async def test_a_limit_is_kept_and_none_is_nothing(memories):
    await memories.save("ann", [MemoryRecord(text=f"parrot {n}") for n in range(9)])
    assert len(await memories.search("ann", "parrot")) == 5
    assert len(await memories.search("ann", "parrot", limit=7)) == 7
    assert await memories.search("ann", "parrot", limit=0) == []


HARD_QUERIES = {
    "a megabyte": "parrot " * 150_000,
    "a megabyte in Chinese": "猫" * 350_000,
    "nul": "parrot\0",
    "surrogate": "parrot \ud800",
    "sql": "parrot'); DROP TABLE discreet.memory; --",
    "percent": "%s %(x)s % parrot",
    "punctuation": "?!…",
    "stop words": "what is the",
}


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("query", HARD_QUERIES.values(), ids=HARD_QUERIES)
async def test_hard_queries_are_answered(memories, query):
    await memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    assert await found(memories, "ann", query) == ["Keeps parrots"]


async def test_scores_fall_and_similarities_are_calibrated(memories):
    await memories.save("ann", [MemoryRecord(text=text) for text in ("green tea", "green rock", "black rock")])
    hits = await memories.search("ann", "green tea")
    assert [hit.record.text for hit in hits] == ["green tea", "green rock", "black rock"]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert [round(hit.similarity, 2) for hit in hits] == [1.0, 0.5, 0.0]


@pytest.mark.slow
@pytest.mark.dialect
async def test_vectors_of_another_model_are_not_compared_and_their_words_still_count(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots"), MemoryRecord(text="Likes tea")])
    for dims in (128, 1536):
        settings = Settings(reembed=False)  # or they are of this model soon
        async with open_storage(database, embeddings=StubEmbeddings(dims=dims), settings=settings) as storage:
            [hit] = await storage.memories.search("ann", "parrots")
            assert (hit.record.text, hit.similarity) == ("Keeps parrots", 0.0)


@pytest.mark.slow
async def test_wide_vectors_are_ranked_exactly(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=1536)) as storage:
        await storage.memories.save("ann", [MemoryRecord(text=f"topic{n} detail{n % 7}") for n in range(300)])
        [best, *_] = await storage.memories.search("ann", "topic123 detail4")
        assert best.record.text == "topic123 detail4"
        assert best.similarity == pytest.approx(1.0, abs=1e-3)


@pytest.mark.slow
@pytest.mark.one_server("reads a plan, which is a node's")
async def test_a_search_reads_the_covering_index_only(storage):
    words = [f"word{n}" for n in range(500)]
    for user in ("ann", "bob", "eve"):
        await storage.memories.save(
            user, [MemoryRecord(text=" ".join(words[n : n + 12]), tags=[user]) for n in range(400)]
        )
    filters = MemoryFilters(app_name="default", types=["user_fact"], after=DAY - timedelta(days=9_000))
    vector = StubEmbeddings(dims=256).embed_query("word7")
    async with storage.pool.connection() as connection:
        await connection.execute("VACUUM ANALYZE")
        for given in (None, filters):
            search = await storage.memories.plan(
                USER_KEYS.of_user("ann"), "word7 word8", vector, limit=5, filters=given
            )
            cursor = await connection.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + search.statement, search.parameters)
            row = await cursor.fetchone()
            scans = [node for node in nodes(row["QUERY PLAN"]) if node.get("Relation Name") == "memory"]
            assert {(scan["Node Type"], scan.get("Heap Fetches")) for scan in scans if scan["Actual Loops"]} == {
                ("Index Only Scan", 0),
                ("Index Scan", None),
            }, json.dumps(row["QUERY PLAN"], indent=1)


def nodes(plan):
    """Yield every node of a plan in JSON."""
    if isinstance(plan, list):
        for item in plan:
            yield from nodes(item)
    elif isinstance(plan, dict):
        yield plan
        for value in plan.values():
            yield from nodes(value)


async def test_deleting_an_unknown_memory_is_false(memories):
    assert not await memories.delete("nobody", uuid4())
