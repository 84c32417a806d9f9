"""Bytes that stock savers and stores keep are scanned and scrubbed whole, ids stay, and reports name columns and keys."""

import json
import pickle
import sqlite3
import struct
import uuid
import zlib
from contextlib import closing, contextmanager
from typing import Annotated, Any, TypedDict

import numpy as np
import pytest
from kit.places import rows, snapshot, sqlite_rows
from kit.search import Words, search
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.store.postgres import PostgresStore
from testkit.planting.postgres import opened_shallow_saver
from testkit.scanning import scan, scrub

MAIL = "ann.lindqvist@example.com"
IDS = {
    "order_id": "01HZX4" + "Q8W3N5R7T9V2B4C6D8FG",
    "paid": "pi_" + "3MtwBwLk" + "dIwHu7ix28a3tqPa",
    "commit": "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12",
    "seen": "2aXk9" + "QwErTy7Ui1OpAs3DfGh5Jz",
    "at": str(uuid.UUID(int=5, version=4)),
}
SERDE = JsonPlusSerializer(pickle_fallback=True)


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(*chunks: bytes) -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
    )


class State(TypedDict, total=False):
    picture: bytes
    clean: bytes
    pickled: bytes
    wide: bytes
    packed: bytearray
    numbers: Any
    spelled: dict
    texts: bytes
    keyed: dict
    told: dict
    ids: dict
    people: Annotated[dict, lambda _, new: new]


def state() -> State:
    return {
        "picture": png(chunk(b"tEXt", f"Author\0{MAIL}".encode())),
        "clean": png(chunk(b"tEXt", b"Software\0painter")),
        "pickled": pickle.dumps({"mail": MAIL}),
        "wide": f"Почта {MAIL}".encode("utf-16-le"),
        "packed": bytearray(zlib.compress(MAIL.encode())),
        "numbers": np.frombuffer(MAIL.encode(), "uint8"),
        "spelled": {"type": "Buffer", "data": [*MAIL.encode(), None], "points": list(map(ord, f"邮箱 {MAIL}"))},
        "texts": pickle.dumps(np.array([f"{MAIL} and more", "x"])),
        "keyed": {MAIL.encode(): 7},
        "told": {"recovery_code": IDS["order_id"], "cookies": [IDS["at"]], "product_code": IDS["order_id"]},
        "ids": IDS,
        "people": {MAIL: {"phone": "+84 912 345 678"}, "Ann Lindqvist": {"mail": MAIL}},
    }


@contextmanager
def postgres(where):
    with PostgresSaver.from_conn_string(where) as saver:
        saver.setup()
        yield saver


@contextmanager
def sqlite(where):
    with closing(sqlite3.connect(where, check_same_thread=False)) as connection:
        yield SqliteSaver(connection)


SAVERS = {"PostgreSQL": postgres, "shallow": opened_shallow_saver, "SQLite": sqlite}


@pytest.fixture(params=SAVERS)
def stored(request, tmp_path):
    """Return a database in which a stock saver has a thread, what opens the saver, and what reads the rows."""
    is_file = request.param == "SQLite"
    where = tmp_path / "agent.db" if is_file else request.getfixturevalue("empty_database")
    builder = StateGraph(State)
    builder.add_node("keep", lambda _: state())
    builder.add_edge(START, "keep")
    with SAVERS[request.param](where) as saver:
        saver.serde = SERDE
        builder.compile(checkpointer=saver).invoke({}, {"configurable": {"thread_id": "one"}})

    def left():
        with SAVERS[request.param](where) as saver:
            saver.serde = SERDE
            return builder.compile(checkpointer=saver).get_state({"configurable": {"thread_id": "one"}}).values

    return where, left, sqlite_rows if is_file else rows


def test_values_in_bytes_go_and_the_rest_stays(stored):
    where, left, read = stored
    sought = Words(mail=MAIL)
    assert search(read(where), sought).leaks
    assert scan(where).types["EMAIL"] >= 10
    scrub(where)
    assert scan(where).types == {}
    assert search(read(where), sought).leaks == {}
    values, before = left(), state()
    assert values["clean"] == values["picture"] == b"<BYTES>"
    assert values["ids"] == IDS
    assert bytes(values["spelled"]["data"]).startswith(b"<EMAIL")
    assert "".join(map(chr, values["spelled"]["points"])).startswith("邮箱 <EMAIL")
    assert pickle.loads(values["texts"]).tolist()[0].split() == ["<EMAIL>", "and", "more"]
    assert [(key[:6], value) for key, value in values["keyed"].items()] == [(b"<EMAIL", 7)]
    assert all(str(values["told"][name]).lstrip("['").startswith("<SECRET") for name in ("recovery_code", "cookies"))
    assert values["told"]["product_code"] == IDS["order_id"]
    assert pickle.loads(values["pickled"])["mail"].startswith("<EMAIL:")
    assert values["wide"].decode("utf-16-le").startswith("Почта <EMAIL:")
    assert zlib.decompress(values["packed"]).startswith(b"<EMAIL:")
    assert (values["numbers"].dtype, values["numbers"].shape) == (before["numbers"].dtype, before["numbers"].shape)
    assert scrub(where).changed == 0


def test_a_dry_run_names_columns_and_keys_and_no_value(stored):
    where, left, _ = stored
    report = scrub(where, dry_run=True)
    assert left()["picture"] == state()["picture"]
    places: dict[str, dict[str, int]] = {}
    for table in report.tables:
        places |= {place.partition(".channel_values")[2] or place: types for place, types in table.places.items()}
    named = {place.rpartition("blob")[2].lstrip("."): types for place, types in places.items()}
    for channel, types in {
        "picture": {"EMAIL": 1},
        "pickled.mail": {"EMAIL": 1},
        "wide": {"EMAIL": 1},
        "packed": {"EMAIL": 1},
        "numbers": {"EMAIL": 1},
        "spelled.data": {"EMAIL": 1},
        "keyed{}": {"EMAIL": 1},
        "told.recovery_code": {"SECRET": 1},
        "people{}": {"EMAIL": 1},
        "people.<EMAIL>.phone": {"PHONE": 1},
        "people.*.mail": {"EMAIL": 1},
    }.items():
        assert named[channel] == types, named
    assert not [place for place in places if "ids" in place]
    text = report.model_dump_json()
    assert MAIL not in text
    assert "Lindqvist" not in text
    found = scan(where).model_dump_json()
    assert MAIL not in found
    assert "Lindqvist" not in found
    assert "people.<EMAIL>.phone" in found


@pytest.mark.dialect
def test_items_of_a_store_keep_their_ids(empty_database):
    with PostgresStore.from_conn_string(empty_database) as store:
        store.setup()
        store.put(("app",), "clean", {**IDS, "nested": [{"order_ids": list(IDS.values())}]})
    before = snapshot(empty_database)
    assert scan(empty_database).types == {}
    assert scrub(empty_database).changed == 0
    assert snapshot(empty_database) == before
    key = "AK" + "IA" + "Q3EGRR7XKPLM2VBN"
    with PostgresStore.from_conn_string(empty_database) as store:
        store.put(("app",), "other", {"order_id": key, "user_id": MAIL, "session_id": "q7RfX2mZ9bKwT4nV8cLpJ3sYh5Gd"})
    (table,) = [each for each in scrub(empty_database).tables if each.places]
    assert table.places == {
        "value.order_id": {"SECRET": 1},
        "value.user_id": {"EMAIL": 1},
        "value.session_id": {"SECRET": 1},
    }
    assert search(rows(empty_database), Words(mail=MAIL, key=key)).leaks == {}


def test_columns_of_a_table_are_named(tmp_path):
    path = tmp_path / "agent.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, mail TEXT, data BLOB, more JSON)")
        connection.execute(
            "INSERT INTO people VALUES (1, ?, ?, ?)", [MAIL, MAIL.encode("utf-16"), json.dumps({"to": [MAIL]})]
        )
    (table,) = scan(path, every=True).tables
    expected = {"mail": {"EMAIL": 1}, "data": {"EMAIL": 1}, "more.to[]": {"EMAIL": 1}}
    assert table.places == expected
    (changed,) = scrub(path, every=True).tables
    assert changed.places == expected
    assert search(sqlite_rows(path), Words(mail=MAIL)).leaks == {}
