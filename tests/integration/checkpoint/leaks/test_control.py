"""The same battery over LangGraph's own savers: everything planted is found, so that the other tests can fail."""

from contextlib import asynccontextmanager
from itertools import chain

import pytest
from kit.places import files, sqlite_rows
from kit.search import search
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from leak_battery.drive import make_scenes, play_all
from leak_battery.remembering import remembering
from leak_battery.savers import make_saver, open_pool
from leak_battery.stories import STORIES

SOME_STORIES = {name: STORIES[name] for name in ("over", "raised", "paused", "paused, answered")}

LANGGRAPH_STORES_NOTHING_OF = {
    "raw callersparent",
    "raw callersparentid",
    "raw context",
    "raw exceptionattribute",
    "raw exceptionnote",
    "raw metadatakey",
    "raw metadatalist",
    "pii configurableobject",
    "raw runname",
    "raw streamwriter",
    "raw tag",
    "raw untrackedchannel",
}

PLACES = {
    "checkpoints": {"metadata", "configurable", "callersrunid", "strchannel", "functionaltext", "finalsave", "scratch"},
    "checkpoint_blobs": {
        "messageid",
        "messagename",
        "messagekwargs",
        "imagedata",
        "systemprompt",
        "toolargs",
        "callid",
        "toolresult",
        "artifact",
        "reasoningblock",
        "reasoningkwargs",
        "responsemetadata",
        "pydanticchannel",
        "dataclasschannel",
        "sendargument",
        "functionalinput",
        "subgraphinput",
        "inputobject",
        "updateresult",
    },
    "checkpoint_writes": {
        "interruptpayload",
        "resumeanswer",
        "exceptionmessage",
        "taskresult",
        "commandupdate",
        "goto",
        "parentupdate",
        "updatescratch",
        "bulkresult",
        "loginput",
    },
}
"""Some of what is found, by the table where it is."""

FORMS = {"? word, hex"} | {
    f"? {name}" for name in ("integer, text", "integer, msgpack", "integer, JSONB", "real, text", "real, bytes")
}
"""What numbers are found as in rows, heap and WAL; and how the log shows bytes."""


@pytest.mark.slow
@pytest.mark.parametrize("face", ["async", pytest.param("sync", marks=pytest.mark.slow)])
async def test_a_stock_saver_leaves_everything_where_it_is_looked_for(new_talkative_database, plants, left_by, face):
    scenes = make_scenes(plants, face, ["sync"], stories=SOME_STORIES)
    async with open_pool(new_talkative_database, face) as pool:
        wrong = await play_all(scenes, await make_saver(pool, stock=True))
        found = left_by(new_talkative_database)
    where = {}
    for name, places in found.leaks.items():
        where.setdefault(name.partition(" of ")[0], set()).update(places)
    planted = {name.partition(" of ")[0] for name in plants.named}
    in_rows = {place for place, tables in where.items() if any(table.startswith("table ") for table in tables)}
    assert wrong == {}
    assert planted - in_rows == LANGGRAPH_STORES_NOTHING_OF
    for table, expected in PLACES.items():
        assert expected <= {place.split()[-1] for place, tables in where.items() if f"table {table}" in tables}
    files = [place for places in where.values() for place in places if place.startswith("file ")]
    assert {part for path in files for part in ("base/", "pg_wal/", "server.log") if part in path} == {
        "base/",
        "pg_wal/",
        "server.log",
    }
    assert found.leaks.keys() >= FORMS


@asynccontextmanager
async def in_postgres(face, dsn, folder, plants, left_by):
    async with open_pool(dsn, face) as pool:
        yield await make_saver(pool, stock=True), lambda: left_by(dsn)


@asynccontextmanager
async def in_memory(face, dsn, folder, plants, left_by):
    saver = InMemorySaver()
    yield saver, lambda: search([("memory", repr((saver.storage, saver.writes, saver.blobs)).encode())], plants)


@asynccontextmanager
async def in_sqlite(face, dsn, folder, plants, left_by):
    path = folder / "checkpoints.db"
    if face == "sync":
        with SqliteSaver.from_conn_string(str(path)) as saver:
            yield saver, lambda: search(chain(sqlite_rows(path), files(folder)), plants)
    else:
        async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
            yield saver, lambda: search(chain(sqlite_rows(path), files(folder)), plants)


GIVEN = {"usertext", "metadata", "resumeanswer"}
"""What callers give: a stock saver stores a run's input and config before any node sees them."""
SAID_IN_TURN = {"plan", "toolargs", "toolresult", "answer", "interruptpayload"}
"""What the model and the tools say."""


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("mask", ["auto", True, False])
@pytest.mark.parametrize(
    ("place", "face"),
    [(in_memory, "async"), (in_sqlite, "async"), (in_sqlite, "sync"), (in_postgres, "async"), (in_postgres, "sync")],
)
async def test_of_masked_states_a_stock_saver_has_no_personal_value_and_of_others_all(
    new_talkative_database, plants, left_by, tmp_path, place, face, mask
):
    stories = {name: STORIES[name] for name in ("over", "paused, answered")}
    scenes = make_scenes(plants, face, ["sync"], stories=stories, table=remembering(mask))
    async with place(face, new_talkative_database, tmp_path, plants, left_by) as (saver, stored):
        wrong = await play_all(scenes, saver)
        found = stored()
    personal = {name.partition(" of ")[0].removeprefix("pii ") for name in found.leaks if name.startswith("pii ")}
    assert wrong == {}
    assert personal == (GIVEN | SAID_IN_TURN if mask is False else GIVEN)
