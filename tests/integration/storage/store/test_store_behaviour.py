"""What code written for LangGraph's Postgres store relies on, shown for that store and for ours."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
)

SPACE = ("notes", "user-7")


def keys(items):
    return [item.key for item in items]


async def in_thread(function, *args, **options):
    with ThreadPoolExecutor(max_workers=1) as pool:
        return await asyncio.wrap_future(pool.submit(lambda: function(*args, **options)))


async def put_all(store, values, space=SPACE, **options):
    """Put one after the other, so that the last is the newest."""
    for key, value in values.items():
        await store.aput(space, key, value, **options)


VALUES = {
    "empty": {},
    "texts": {"text": "Zwei Papageien 🦜", "empty": "", "quotes": 'it\'s "here" \\ %s {}', "lines": "a\n\tb"},
    "numbers": {"int": 7, "float": 4.5, "negative": -3, "zero": 0, "small": 1e-7},
    "literals": {"yes": True, "no": False, "none": None},
    "nested": {"list": [1, [2, {"deep": [3]}]], "dict": {"a": {"b": {}}}},
    "odd names": {"": 1, "a.b": 2, "$gt": 3, "'; --": 4},
}


@pytest.mark.dialect
async def test_values_come_back_as_they_were_put(store):
    await put_all(store, VALUES)
    for key, value in VALUES.items():
        item = await store.aget(SPACE, key)
        assert (item.namespace, item.key, item.value) == (SPACE, key, value)
    assert {item.key: item.value for item in await store.asearch(SPACE)} == VALUES


@pytest.mark.slow
async def test_any_key_names_an_item(store):
    for key in ["", "a.b", "%", "_", "k" * 500, "ключ", "'; DROP TABLE store; --", "\x1f"]:
        await put_all(store, {key: {"n": 1}, key + "x": {"n": 2}})
        assert (await store.aget(SPACE, key)).value == {"n": 1}
        await store.adelete(SPACE, key)
        assert await store.aget(SPACE, key) is None
        assert (await store.aget(SPACE, key + "x")).value == {"n": 2}


async def test_what_is_not_there_is_none_and_deleting_it_is_no_error(store):
    assert await store.aget(SPACE, "1") is None
    await store.adelete(SPACE, "1")
    assert await store.asearch(SPACE) == []
    assert await store.alist_namespaces() == []


async def test_putting_again_replaces_the_value_and_keeps_when_it_was_made(store):
    await store.aput(SPACE, "1", {"a": 1, "b": 1})
    first = await store.aget(SPACE, "1")
    await store.aput(SPACE, "1", {"a": 2})
    second = await store.aget(SPACE, "1")
    assert second.value == {"a": 2}
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at


@pytest.mark.dialect
async def test_the_same_key_in_another_namespace_is_another_item(store):
    await store.aput(SPACE, "1", {"n": 1})
    await store.aput((*SPACE, "sub"), "1", {"n": 2})
    assert [(await store.aget(space, "1")).value["n"] for space in (SPACE, (*SPACE, "sub"))] == [1, 2]
    both = await store.abatch([GetOp(SPACE, "1"), GetOp((*SPACE, "sub"), "1")])
    assert [item.value["n"] for item in both] == [1, 2]
    await store.adelete(SPACE, "1")
    assert await store.aget(SPACE, "1") is None
    assert (await store.aget((*SPACE, "sub"), "1")).value == {"n": 2}


@pytest.mark.dialect
async def test_a_batch_answers_in_order_and_reads_what_was_there_before_it(store):
    await store.aput(SPACE, "1", {"n": 1})
    results = await store.abatch(
        [
            GetOp(SPACE, "2"),
            PutOp(SPACE, "2", {"n": 2}),
            SearchOp(SPACE, filter={"n": {"$gte": 1}}),
            GetOp(SPACE, "1"),
            ListNamespacesOp(),
            PutOp(("other",), "3", {"n": 3}),
            GetOp(SPACE, "2"),
        ]
    )
    assert [type(result).__name__ for result in results] == [
        "NoneType",
        "NoneType",
        "list",
        "Item",
        "list",
        "NoneType",
        "NoneType",
    ]
    assert keys(results[2]) == ["1"]
    assert results[4] == [SPACE]
    assert (await store.aget(SPACE, "2")).value == {"n": 2}


async def test_an_empty_batch_has_no_results(store):
    assert await store.abatch([]) == []


async def test_of_several_puts_of_one_item_in_a_batch_the_last_counts(store):
    await store.abatch([PutOp(SPACE, "1", {"n": 1}), PutOp(SPACE, "2", {"n": 1}), PutOp(SPACE, "1", {"n": 2})])
    assert (await store.aget(SPACE, "1")).value == {"n": 2}
    await store.abatch([PutOp(SPACE, "1", {"n": 3}), PutOp(SPACE, "1", None)])
    await store.abatch([PutOp(SPACE, "2", None), PutOp(SPACE, "2", {"n": 4})])
    assert await store.aget(SPACE, "1") is None
    assert (await store.aget(SPACE, "2")).value == {"n": 4}


async def test_writes_that_are_gathered_are_done_in_their_order(store):
    await asyncio.gather(*(store.aput(SPACE, "1", {"n": n}) for n in range(50)))
    assert (await store.aget(SPACE, "1")).value == {"n": 49}


@pytest.mark.dialect
async def test_calls_of_all_kinds_may_run_at_once(store):
    async def use(n):
        await store.aput(("at once", str(n % 4)), str(n), {"n": n, "text": f"note {n}"})
        assert (await store.aget(("at once", str(n % 4)), str(n))).value["n"] == n
        assert len(await store.asearch(("at once",), query="note")) > 0
        assert ("at once", str(n % 4)) in await store.alist_namespaces()

    await asyncio.gather(*map(use, range(24)))
    assert len(await store.asearch(("at once",), limit=100)) == 24


SPACES = [
    ("a",),
    ("a", "b"),
    ("a", "b", "c"),
    ("a", "bb"),
    ("aa", "b"),
    ("a_", "b"),
    ("a%", "b"),
    ("A", "b"),
    ("ä", "b"),
    ("a b", "*"),
]


@pytest.mark.dialect
async def test_a_search_finds_what_is_in_a_namespace_and_below(store):
    await store.abatch([PutOp(space, "k", {}) for space in SPACES])
    for prefix in [(), *SPACES, ("nobody",), ("b",), ("a", "b", "c", "d")]:
        found = {item.namespace for item in await store.asearch(prefix, limit=100)}
        assert found == {space for space in SPACES if space[: len(prefix)] == prefix}


async def test_a_search_lists_what_was_written_last_first_page_by_page(store):
    await put_all(store, {str(n): {"n": n} for n in range(5)})
    await store.aput(SPACE, "1", {"n": 1})
    order = ["1", "4", "3", "2", "0"]
    assert keys(await store.asearch(SPACE)) == order
    assert keys(await store.asearch(SPACE, limit=2)) == order[:2]
    assert keys(await store.asearch(SPACE, limit=2, offset=2)) == order[2:4]
    assert keys(await store.asearch(SPACE, limit=2, offset=4)) == order[4:]
    assert await store.asearch(SPACE, limit=2, offset=9) == []
    assert await store.asearch(SPACE, limit=0) == []
    assert len(await store.asearch(("notes",), filter={"n": {"$gt": 0}}, limit=3)) == 3


BIRDS = {
    "owl": {"legs": 2, "name": "owl", "wild": True, "size": 4.5, "tags": ["night", "big"], "owner": None},
    "hen": {"legs": 2, "name": "hen", "wild": False, "size": 3.0, "tags": [], "home": {"town": "Hue"}},
    "bat": {"legs": 4, "name": "bat", "wild": True, "size": 1.5, "it's": "no bird"},
}

FILTERS = {
    "plain text": ({"name": "owl"}, {"owl"}),
    "plain number": ({"legs": 2}, {"owl", "hen"}),
    "an integer as a float": ({"legs": 2.0}, {"owl", "hen"}),
    "plain bool": ({"wild": True}, {"owl", "bat"}),
    "a bool is no number": ({"wild": 1}, set()),
    "plain none": ({"owner": None}, {"owl"}),
    "plain list": ({"tags": ["night", "big"]}, {"owl"}),
    "a list in another order": ({"tags": ["big", "night"]}, set()),
    "eq": ({"name": {"$eq": "hen"}}, {"hen"}),
    "eq of a dict": ({"home": {"$eq": {"town": "Hue"}}}, {"hen"}),
    "eq none": ({"owner": {"$eq": None}}, {"owl"}),
    "ne": ({"name": {"$ne": "hen"}}, {"owl", "bat"}),
    "ne of what only one has": ({"home": {"$ne": 1}}, {"hen"}),
    "gt": ({"size": {"$gt": 1.5}}, {"owl", "hen"}),
    "gte": ({"size": {"$gte": 3.0}}, {"owl", "hen"}),
    "lt": ({"size": {"$lt": 3.0}}, {"bat"}),
    "lte": ({"size": {"$lte": 3.0}}, {"hen", "bat"}),
    "a range": ({"size": {"$gt": 1.5, "$lt": 4.5}}, {"hen"}),
    "order of texts": ({"name": {"$gte": "hen"}}, {"owl", "hen"}),
    "two fields": ({"legs": 2, "wild": True}, {"owl"}),
    "nobody has it": ({"feathers": 1}, set()),
    "a quote in the name": ({"it's": "no bird"}, {"bat"}),
    "sql in the name": ({"legs' = 2 OR '1'='1": 2}, set()),
    "sql in the value": ({"name": "owl' OR '1'='1"}, set()),
    "no condition": ({}, {"owl", "hen", "bat"}),
}


@pytest.mark.dialect
@pytest.mark.parametrize("query", [None, "owl hen bat"])
async def test_a_filter_narrows_a_search(store, query):
    await put_all(store, BIRDS)
    found = {
        name: set(keys(await store.asearch(SPACE, filter=wanted, query=query))) for name, (wanted, _) in FILTERS.items()
    }
    assert found == {name: expected for name, (_, expected) in FILTERS.items()}


async def test_an_unknown_operator_is_refused(store):
    with pytest.raises(ValueError, match=r"\$|perator"):
        await store.asearch(SPACE, filter={"legs": {"$near": 2}})


LISTED = [
    ("a", "b", "c"),
    ("a", "b", "d", "e"),
    ("a", "b", "d", "i"),
    ("a", "b", "f"),
    ("a", "c", "f"),
    ("b", "a", "f"),
]

LISTINGS = {
    "all": ({}, LISTED),
    "prefix": ({"prefix": ("a", "b")}, LISTED[:4]),
    "prefix of a label": ({"prefix": ("a", "")[:1]}, LISTED[:5]),
    "the whole namespace": ({"prefix": ("a", "b", "f")}, [LISTED[3]]),
    "suffix": ({"suffix": ("f",)}, LISTED[3:]),
    "long suffix": ({"suffix": ("d", "e")}, [LISTED[1]]),
    "prefix and suffix": ({"prefix": ("a",), "suffix": ("f",)}, LISTED[3:5]),
    "they may overlap": ({"prefix": ("a", "b", "c"), "suffix": ("b", "c")}, [LISTED[0]]),
    "wildcard": ({"prefix": ("a", "*", "f")}, LISTED[3:5]),
    "wildcard first": ({"prefix": ("*", "a")}, [LISTED[5]]),
    "wildcard last is a label": ({"prefix": ("a", "b", "f", "*")}, []),
    "wildcard in a suffix": ({"suffix": ("*", "f")}, LISTED[3:]),
    "depth": ({"max_depth": 2}, [("a", "b"), ("a", "c"), ("b", "a")]),
    "depth and prefix": ({"prefix": ("a", "b"), "max_depth": 3}, [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]),
    "depth beyond": ({"max_depth": 9}, LISTED),
    "limit": ({"limit": 2}, LISTED[:2]),
    "offset": ({"offset": 4}, LISTED[4:]),
    "page": ({"prefix": ("a",), "limit": 2, "offset": 1}, LISTED[1:3]),
    "page of truncated ones": ({"max_depth": 1, "limit": 1, "offset": 1}, [("b",)]),
    "nobody": ({"prefix": ("x",)}, []),
    "no regular expression": ({"prefix": ("a", "[bc]")}, []),
    "no pattern": ({"prefix": ("a", "%")}, []),
}


@pytest.mark.dialect
async def test_namespaces_are_listed_in_order(store):
    await store.abatch([PutOp(space, str(n), {}) for n, space in enumerate([*LISTED, LISTED[0]])])
    listed = {name: await store.alist_namespaces(**options) for name, (options, _) in LISTINGS.items()}
    assert listed == {name: expected for name, (_, expected) in LISTINGS.items()}


@pytest.mark.dialect
async def test_several_conditions_of_one_kind_must_all_hold(store):
    await store.abatch([PutOp(space, "k", {}) for space in LISTED])
    conditions = (MatchCondition("prefix", ("a", "*", "f")), MatchCondition("prefix", ("*", "b")))
    assert await store.abatch([ListNamespacesOp(match_conditions=conditions)]) == [[("a", "b", "f")]]


async def test_a_namespace_without_items_is_not_listed(store):
    await store.aput(SPACE, "1", {})
    await store.adelete(SPACE, "1")
    assert await store.alist_namespaces() == []


@pytest.mark.parametrize("space", [("a.b",), ("a", ""), ("a", 1), ("a\0b",)])
async def test_a_label_that_cannot_be_one_is_refused_and_nothing_of_its_batch_is_done(store, space):
    for op in [
        GetOp(space, "k"),
        PutOp(space, "k", {"n": 1}),
        PutOp(space, "k", None),
        SearchOp(space),
        ListNamespacesOp((MatchCondition("prefix", space),)),
        ListNamespacesOp((MatchCondition("suffix", space),)),
    ]:
        with pytest.raises(InvalidNamespaceError):
            await store.abatch([PutOp(SPACE, "1", {}), op])
    assert await store.aget(SPACE, "1") is None


async def test_the_methods_refuse_what_a_namespace_cannot_be(store):
    for space in [(), ("langgraph", "x"), ("a.b",), ("a", "")]:
        with pytest.raises(InvalidNamespaceError):
            await store.aput(space, "1", {})
    with pytest.raises(InvalidNamespaceError):
        await store.aget(("a.b",), "1")
    assert await store.alist_namespaces() == []


async def test_blocking_methods_work_in_another_thread(store):
    assert await in_thread(store.put, SPACE, "1", {"text": "two parrots"}) is None
    assert (await in_thread(store.get, SPACE, "1")).value == {"text": "two parrots"}
    assert keys(await in_thread(store.search, SPACE, query="parrots")) == ["1"]
    assert await in_thread(store.list_namespaces, prefix=("notes",)) == [SPACE]
    assert len(await in_thread(store.batch, [GetOp(SPACE, "1"), GetOp(SPACE, "2")])) == 2
    await in_thread(store.delete, SPACE, "1")
    assert await in_thread(store.get, SPACE, "1") is None


async def test_blocking_methods_are_refused_on_the_event_loop(store):
    calls = [
        lambda: store.put(SPACE, "1", {}),
        lambda: store.get(SPACE, "1"),
        lambda: store.search(SPACE),
        lambda: store.delete(SPACE, "1"),
        store.list_namespaces,
        lambda: store.batch([GetOp(SPACE, "1")]),
    ]
    for call in calls:
        with pytest.raises(asyncio.InvalidStateError):
            call()


TEXTS = {
    "parrots": {"text": "keeps two grey parrots"},
    "tea": {"text": "drinks green tea in the morning"},
    "rain": {"text": "walks in the rain"},
}


async def test_a_question_ranks_items_and_scores_them(store):
    await put_all(store, TEXTS)
    found = await store.asearch(("notes",), query="grey parrots")
    assert found[0].key == "parrots"
    assert set(keys(found)) == set(TEXTS)
    assert all(isinstance(item, SearchItem) for item in found)
    scores = [item.score for item in found]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[1]


async def test_the_score_tells_how_near_an_item_is_to_different_questions(store):
    await store.aput(SPACE, "1", {"text": "two grey parrots"}, index=["text"])
    scores = [
        (await store.asearch(SPACE, query=query))[0].score
        for query in ("two grey parrots", "grey parrots", "parrots", "rain")
    ]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 4
    assert scores[0] == pytest.approx(1.0, abs=0.01)
    assert scores[-1] == pytest.approx(0.0, abs=0.01)


async def test_without_a_question_there_is_no_score(store):
    await put_all(store, TEXTS)
    for query in (None, ""):
        assert [item.score for item in await store.asearch(SPACE, query=query)] == [None] * 3


async def test_a_question_has_pages(store):
    await put_all(store, {str(n): {"text": "parrot " * (n + 1) + "and tea"} for n in range(5)})
    whole = keys(await store.asearch(SPACE, query="parrot"))
    assert len(set(whole)) == 5
    pages = [keys(await store.asearch(SPACE, query="parrot", limit=2, offset=offset)) for offset in (0, 2, 4)]
    assert pages == [whole[:2], whole[2:4], whole[4:]]


async def test_new_text_replaces_the_old_one(store):
    await put_all(store, TEXTS)
    await store.aput(SPACE, "parrots", {"text": "sold all birds"})
    before = (await store.asearch(SPACE, query="grey parrots"))[0].score
    assert before < 0.5
    assert (await store.asearch(SPACE, query="sold birds"))[0].key == "parrots"


async def test_an_item_that_is_not_indexed_is_read_and_listed_but_answers_no_question(store):
    await put_all(store, TEXTS, index=False)
    assert await store.asearch(SPACE, query="parrots") == []
    assert len(await store.asearch(SPACE)) == 3
    assert (await store.aget(SPACE, "tea")).value == TEXTS["tea"]


async def test_an_item_is_found_by_the_paths_that_a_put_names(store):
    value = {
        "title": "parrots",
        "hidden": "owls",
        "parts": [{"text": "rain"}, {"text": "snow"}],
        "tags": ["tea", "coffee"],
        "last": ["x", "wine"],
        "number": 42,
    }
    paths = ["title", "parts[*].text", "tags[0]", "last[-1]", "number", "not there"]
    await store.aput(SPACE, "1", value, index=paths)
    for query in ("parrots", "rain", "snow", "tea", "wine", "42"):
        [found] = await store.asearch(SPACE, query=query)
        assert found.score > 0.9, query
    for query in ("owls", "coffee"):
        [found] = await store.asearch(SPACE, query=query)
        assert found.score < 0.1, query


async def test_default_paths_are_used_where_a_put_names_none(make_store):
    store = await make_store(fields=["a", "b"])
    await store.aput(SPACE, "both", {"a": "parrots", "b": "tea", "c": "rain"})
    await store.aput(SPACE, "one", {"b": "rain"})
    await store.aput(SPACE, "none", {"c": "rain"})
    assert (await store.asearch(SPACE, query="parrots"))[0].key == "both"
    assert (await store.asearch(SPACE, query="tea"))[0].key == "both"
    assert keys(await store.asearch(SPACE, query="rain"))[0] == "one"
    assert set(keys(await store.asearch(SPACE, query="rain"))) == {"one", "both"}


@pytest.mark.dialect
async def test_an_item_of_many_texts_is_found_once_by_its_nearest(store):
    await store.aput(SPACE, "many", {"texts": [f"parrot number {n}" for n in range(4)]}, index=["texts[*]"])
    await store.aput(SPACE, "one", {"texts": ["tea"]}, index=["texts[*]"])
    assert keys(await store.asearch(SPACE, query="parrot number 3", limit=2)) == ["many", "one"]


@pytest.mark.dialect
async def test_questions_search_below_a_namespace_and_nowhere_else(store):
    for space in SPACES:
        await store.aput(space, "k", {"text": "two parrots"})
    found = await store.asearch(("a", "b"), query="parrots", limit=100)
    assert {item.namespace for item in found} == {("a", "b"), ("a", "b", "c")}
    assert len(await store.asearch((), query="parrots", limit=100)) == len(SPACES)


async def test_an_item_expires_for_every_reader_and_is_swept_later(store, time_passes):
    await store.aput(SPACE, "short", {"text": "parrots"}, ttl=10)
    await store.aput(SPACE, "long", {"text": "parrots"})
    time_passes(9)
    assert await store.aget(SPACE, "short", refresh_ttl=False) is not None
    time_passes(2)
    assert await store.aget(SPACE, "short") is None
    assert keys(await store.asearch(SPACE)) == ["long"]
    assert keys(await store.asearch(SPACE, query="parrots")) == ["long"]
    assert keys(await store.asearch(SPACE, filter={"text": "parrots"})) == ["long"]
    assert await store.sweep_ttl() == 1
    assert await store.sweep_ttl() == 0
    assert (await store.aget(SPACE, "long")).value == {"text": "parrots"}


@pytest.mark.dialect
async def test_a_namespace_whose_items_expired_is_not_listed(store, time_passes):
    await store.aput(SPACE, "1", {}, ttl=1)
    assert await store.alist_namespaces() == [SPACE]
    time_passes(2)
    assert await store.alist_namespaces() == []


@pytest.mark.dialect
async def test_reading_lets_an_item_live_on(store, time_passes):
    reads = {
        "get": lambda: store.aget(SPACE, "get"),
        "list": lambda: store.asearch(SPACE, filter={"n": "list"}),
        "ask": lambda: store.asearch(SPACE, query="ask", filter={"n": "ask"}),
        "batch": lambda: store.abatch([GetOp(SPACE, "batch")]),
    }
    await put_all(store, {key: {"n": key} for key in [*reads, "unread"]}, ttl=10)
    time_passes(6)
    for read in reads.values():
        await read()
    time_passes(6)
    assert set(keys(await store.asearch(SPACE, refresh_ttl=False))) == set(reads)


@pytest.mark.dialect
async def test_reading_can_leave_the_time_as_it_is(store, time_passes):
    await store.aput(SPACE, "1", {"text": "parrots"}, ttl=10)
    time_passes(6)
    await store.aget(SPACE, "1", refresh_ttl=False)
    await store.asearch(SPACE, refresh_ttl=False)
    await store.asearch(SPACE, query="parrots", refresh_ttl=False)
    time_passes(6)
    assert await store.aget(SPACE, "1") is None


async def test_the_configuration_decides_whether_reading_counts(make_store, time_passes):
    store = await make_store(ttl={"refresh_on_read": False})
    await put_all(store, {"1": {}, "2": {}}, ttl=10)
    time_passes(6)
    await store.aget(SPACE, "1")
    await store.aget(SPACE, "2", refresh_ttl=True)
    time_passes(6)
    assert keys(await store.asearch(SPACE)) == ["2"]


async def test_a_default_time_holds_unless_a_put_says_otherwise(make_store, time_passes):
    store = await make_store(ttl={"default_ttl": 10})
    await store.aput(SPACE, "default", {})
    await store.aput(SPACE, "longer", {}, ttl=100)
    await store.aput(SPACE, "for ever", {}, ttl=None)
    time_passes(11)
    assert set(keys(await store.asearch(SPACE))) == {"longer", "for ever"}


async def test_writing_again_sets_the_time_anew(store, time_passes):
    await put_all(store, {"renewed": {}, "kept": {}}, ttl=10)
    await store.aput(SPACE, "kept", {})
    time_passes(6)
    await store.aput(SPACE, "renewed", {}, ttl=10)
    time_passes(6)
    assert set(keys(await store.asearch(SPACE))) == {"renewed", "kept"}


@pytest.mark.dialect
async def test_what_expired_can_be_put_again(store, time_passes):
    await store.aput(SPACE, "1", {"n": 1}, ttl=10)
    time_passes(11)
    await store.aput(SPACE, "1", {"n": 2})
    assert (await store.aget(SPACE, "1")).value == {"n": 2}
    assert await store.sweep_ttl() == 0


@pytest.mark.slow
async def test_the_sweeper_deletes_in_the_background(make_store, time_passes, stored_items):
    store = await make_store(ttl={"sweep_interval_minutes": 0.001})
    await store.aput(SPACE, "1", {}, ttl=1)
    time_passes(2)
    task = await store.start_ttl_sweeper()
    assert await store.start_ttl_sweeper() is task
    for _ in range(500):
        if not stored_items():
            break
        await asyncio.sleep(0.01)
    assert stored_items() == 0
    assert await store.stop_ttl_sweeper(timeout=5)
    assert task.done()
    assert await store.stop_ttl_sweeper()
