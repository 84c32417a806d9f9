"""The same battery over LangGraph's own savers: everything planted is found, so that the other tests can fail."""

import pytest
from leak_battery.drive import make_scenes, play_all
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
