"""What must hold for any filter, any namespace and any text: shown with random ones."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import ListNamespacesOp, MatchCondition, PutOp
from psycopg.types.json import Jsonb

from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.store.filters import FITS, conditions_of, filter_parameters, fits
from discreet.testing import StubEmbeddings

NAMES = st.sampled_from(["a", "b", "$eq", "", "a.b", "it's", "%s"])
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(-(10**25), 10**25),
    st.sampled_from([0.1, -0.0, 1.0, 1e22, 1e23, 10**23, 1e-7, 0.30000000000000004, 1.5e300]),
    st.floats(allow_nan=False, allow_infinity=False),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3) | st.sampled_from(
    ["a", "A", "b", "ä", "10", "9", "true", "null", "\ufffd", "🦜"]
)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=4,
)
CONDITIONS = st.dictionaries(
    NAMES,
    JSON.filter(lambda value: not isinstance(value, dict) or not value)
    | st.dictionaries(st.sampled_from(["$eq", "$ne"]), JSON, min_size=1, max_size=2)
    | st.dictionaries(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), NUMBERS | TEXTS, min_size=1, max_size=2),
    max_size=2,
)


@asynccontextmanager
async def opened(dsn):
    async with open_storage(dsn, embeddings=StubEmbeddings(dims=16)) as storage:
        yield storage


@pytest.mark.slow
async def test_a_filter_means_the_same_in_python_and_in_sql(database):
    cases = []

    @settings(database=None)
    @given(st.dictionaries(NAMES, JSON, max_size=3), CONDITIONS, st.data())
    def collect(value, wanted, data):
        if value and data.draw(st.booleans()):  # a filter that meets the value, or nearly
            name = data.draw(st.sampled_from(sorted(value)))
            wanted = wanted | {name: {data.draw(st.sampled_from(["$eq", "$ne"])): value[name]}}
        cases.append((value, wanted))

    collect()
    async with opened(database) as storage, storage.pool.connection() as conn:
        for value, wanted in cases:
            conditions = conditions_of(wanted)
            query = f"SELECT {FITS} AS fits FROM (SELECT %(value)s::jsonb AS value) i"
            row = await (await conn.execute(query, {"value": Jsonb(value), **filter_parameters(conditions)})).fetchone()
            assert row["fits"] is fits(value, conditions), (value, wanted)
    outcomes = {fits(value, conditions_of(wanted)) for value, wanted in cases if wanted}
    assert outcomes == {True, False}


LABELS = st.sampled_from(["a", "b", "ab", "*", "%", "_", " ", "A", "ä", "'; --", "ann", "\u2028", "a b", "~", "\u00ad"])
SPACES = st.lists(LABELS, min_size=1, max_size=4).map(tuple)


@pytest.fixture
def plan():
    """Return namespaces with their items, and what to look for."""
    plans = []

    @settings(max_examples=8, database=None, suppress_health_check=list(HealthCheck))
    @given(st.sets(SPACES, min_size=1, max_size=12), st.lists(SPACES | st.just(()), min_size=3, max_size=6))
    def collect(spaces, prefixes):
        spaces |= {("a",), ("a b",), ("ab", "a")}  # one begins as the other does
        plans.append((sorted(spaces), [*prefixes, ("a",), ()]))

    collect()
    return plans


@pytest.mark.slow
@pytest.mark.dialect
async def test_nothing_of_another_namespace_is_ever_read_nor_a_memory_of_a_person(database, plan):
    injected = ["parrot", "' OR 1=1 --", "%", "\x1f", "\x1fa\x1f", "{1:1}/3"]
    async with opened(database) as storage:
        store = storage.store
        for user in ["a", "ann", "*", "' OR 1=1 --", "a b"]:
            await storage.memories.save(user, [MemoryRecord(text=f"parrot of the person {user}")])
        for spaces, prefixes in plan:
            await store.abatch([PutOp(space, "k", {"text": "parrot", "at": list(space)}) for space in spaces])
            for n, prefix in enumerate(prefixes):
                below = {space for space in spaces if space[: len(prefix)] == prefix}
                text = injected[n % len(injected)]
                found = [
                    await store.asearch(prefix, limit=100),
                    await store.asearch(prefix, query=f"parrot {text}", limit=100),
                    await store.asearch(prefix, filter={"text": {"$gte": "a"}}, limit=100),
                ]
                for items in found:
                    assert {item.namespace for item in items} == below
                    assert all(item.value == {"text": "parrot", "at": list(item.namespace)} for item in items)
                nothing = await store.asearch(prefix, filter={text: text}, query=text, limit=100)
                assert nothing == []
                item = await store.aget(prefix, "k")
                assert (item is not None) is (prefix in below)
                assert await store.aget(prefix, text) is None
            await _check_listing(store, spaces, prefixes)
            await store.abatch([PutOp(space, "k", None) for space in spaces])
        for user in ["a", "ann", "*"]:
            hits = await storage.memories.search(user, "parrot")
            assert [hit.record.text for hit in hits] == [f"parrot of the person {user}"]


async def _check_listing(store, spaces, paths):
    """Compare what is listed with what LangGraph's documentation says, done in Python."""
    assert await store.alist_namespaces() == spaces

    def matches(space, kind, path):
        part = space[: len(path)] if kind == "prefix" else space[max(0, len(space) - len(path)) :]
        return len(part) == len(path) and all(want in ("*", have) for have, want in zip(part, path, strict=True))

    wanted = [(kind, path) for path in paths for kind in ("prefix", "suffix")]
    ops = [ListNamespacesOp((MatchCondition(kind, path),)) for kind, path in wanted]
    for (kind, path), listed in zip(wanted, await store.abatch(ops), strict=True):
        assert listed == [space for space in spaces if matches(space, kind, path)]
    for depth in (1, 2):
        assert await store.alist_namespaces(max_depth=depth) == sorted({space[:depth] for space in spaces})


async def test_a_person_cannot_be_named_to_read_a_namespace(database):
    from discreet.errors import InvalidUserError

    async with opened(database) as storage:
        await storage.store.aput(("notes", "ann"), "1", {"text": "parrot"})
        for user in ["\x1fnotes\x1fann\x1f", "\x1fnotes", "\x1f"]:
            with pytest.raises(InvalidUserError):
                await storage.memories.search(user, "parrot")
        assert await asyncio.gather(*(storage.memories.search(user, "parrot") for user in ("notes", "ann"))) == [[], []]
