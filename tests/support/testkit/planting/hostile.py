"""Plant rows that were made to hurt whoever reads them: each may cost a scanner one line of error, and nothing else."""

from __future__ import annotations

import json
import os
import pickle
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

import ormsgpack
from psycopg import Connection

BLOB: LiteralString = """
INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob) VALUES (%s, '', 'hostile', '1', %s, %s)
"""
WRITE: LiteralString = """
INSERT INTO checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
VALUES (%s, '', '1', '1', 0, 'hostile', %s, %s)
"""
STORE: LiteralString = "INSERT INTO store (prefix, key, value) VALUES ('hostile', %s, %s::jsonb)"
JSON_TABLE: LiteralString = "CREATE TABLE IF NOT EXISTS events (id text PRIMARY KEY, payload json)"
EVENT: LiteralString = "INSERT INTO events (id, payload) VALUES (%s, %s::json)"

DEEP_MSGPACK = 100_000
DEEP_EXT = 5_000
DEEP_JSON = 50_000
DEEP_JSON_COLUMN = 3_000
"""What PostgreSQL takes with the stack that it has by default (max_stack_depth of 2 MB), with room to spare."""
LONG_TEXT = 60_000_000
"""Characters of a long text."""
BOMB = 100_000_000
"""Bytes that a few kilobytes of zlib become."""


@dataclass(frozen=True)
class Hostile:
    """A row that was planted. `row` is its thread_id, its key in the store, or its id."""

    name: str
    table: str
    row: str


class _RunsCode:
    """Pickled, it runs a shell when it is loaded."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (self.command,)


def _laughs() -> bytes:
    """Return a pickle of a list that has ten references to a list that has ten references, and so on."""
    made: list[Any] = ["ha"] * 10
    for _ in range(12):
        made = [made] * 10
    return pickle.dumps(made)


def _ext(code: int, payload: bytes) -> bytes:
    """Return an extension of msgpack, with a length of four bytes."""
    return b"\xc9" + len(payload).to_bytes(4, "big") + code.to_bytes(1, "big") + payload


def _nested_ext(depth: int) -> bytes:
    """Return pydantic objects in pydantic objects."""
    head = b"\x94" + ormsgpack.packb("testkit.planting.states") + ormsgpack.packb("Booking")
    tail = ormsgpack.packb("model_validate_json")
    made = ormsgpack.packb({})
    for _ in range(depth):
        made = _ext(5, head + made + tail)
    return made


def _calls(marker: Path) -> bytes:
    return _ext(0, ormsgpack.packb(("os", "system", _command(marker))))


def _command(marker: Path) -> str:
    return f"touch '{marker}'"


def hostile_blobs(marker: Path) -> dict[str, tuple[str, bytes | None]]:
    """Return type and blob by name. What runs code would make the file `marker`."""
    runs = pickle.dumps(_RunsCode(_command(marker)))
    words = ormsgpack.packb({"messages": ["some words"] * 20})
    return {
        "pickle that runs code": ("pickle", runs),
        "pickle that runs code, of protocol 0": ("pickle", pickle.dumps(_RunsCode(_command(marker)), protocol=0)),
        "pickle of a huge memo": ("pickle", b"\x80\x02]r\xff\xff\xff\x7f."),
        "pickle of references": ("pickle", _laughs()),
        "pickle that claims a long text": ("pickle", b"\x80\x04\x8d" + (2**62).to_bytes(8, "little") + b"a."),
        "pickle cut short": ("pickle", pickle.dumps({"a": ["text"] * 20})[:-9]),
        "msgpack nested": ("msgpack", b"\x91" * DEEP_MSGPACK + b"\xc0"),
        "msgpack that claims many items": ("msgpack", b"\xdd\xff\xff\xff\xff"),
        "msgpack that claims many keys": ("msgpack", b"\xdf\xff\xff\xff\xff\xa1a"),
        "msgpack that claims a long text": ("msgpack", b"\xdb\xff\xff\xff\xffabc"),
        "msgpack cut short": ("msgpack", words[:-4]),
        "msgpack with more behind it": ("msgpack", words + b"\x93\x01"),
        "msgpack of a code that is never used": ("msgpack", b"\xc1"),
        "ext of no known code": ("msgpack", _ext(99, b"\x01\x02\x03")),
        "ext nested": ("msgpack", _nested_ext(DEEP_EXT)),
        "ext that calls a function": ("msgpack", _calls(marker)),
        "ext without its parts": ("msgpack", _ext(2, b"\x90")),
        "json nested": ("json", b"[" * DEEP_JSON + b"]" * DEEP_JSON),
        "long text": ("msgpack", ormsgpack.packb("All is well. " * (LONG_TEXT // 13))),
        "text that is no UTF-8": ("msgpack", b"\xa5\xff\xfe\xf0\x28\xc3"),
        "bytes that are no UTF-8": ("bytes", b"\xff\xfe\xf0\x28\x8c\x28"),
        "zlib bomb": ("bytes", zlib.compress(bytes(BOMB))),
        "type that nobody knows": ("cbor", b"\xa1\x61a\x01"),
        "cipher that nobody has": ("msgpack+rot13", b"\x8b\x00\x17"),
        "type without a name": ("", b"abc"),
        "msgpack of no bytes": ("msgpack", b""),
        "pickle of no bytes": ("pickle", b""),
        "msgpack that is NULL": ("msgpack", None),
        "empty that is NULL": ("empty", None),
    }


def plant_hostile(connection: Connection[Any], marker: Path) -> list[Hostile]:
    """Insert hostile rows into `checkpoint_blobs`, `checkpoint_writes`, `store`, and a table `events` with a json column.

    LangGraph's tables must be there. Nothing of it may be loaded: what runs code makes the file `marker`.
    """
    planted: list[Hostile] = []
    for name, (kind, blob) in hostile_blobs(marker).items():
        row = f"hostile {name}"
        connection.execute(BLOB, [row, kind, blob])
        planted.append(Hostile(name, "checkpoint_blobs", row))
        if blob is not None and len(blob) < 1_000_000:
            connection.execute(WRITE, [row, kind, blob])
            planted.append(Hostile(name, "checkpoint_writes", row))
    connection.execute(JSON_TABLE)
    deep = "[" * DEEP_JSON_COLUMN + "]" * DEEP_JSON_COLUMN
    for name, text in {
        "json nested": '{"a":' * DEEP_JSON_COLUMN + "1" + "}" * DEEP_JSON_COLUMN,
        "lone surrogate": '{"text": "broken \\ud800 text", "\\udfff": 1}',
        "NUL in json": '{"text": "a\\u0000b"}',
        "keys twice": '{"a": "first", "a": "second"}',
        "a number that no machine has": '{"a": 1e400000, "b": ' + "9" * 10_000 + "}",
    }.items():
        connection.execute(EVENT, [name, text])
        planted.append(Hostile(name, "events", name))
    for name, text in {"jsonb nested": deep, "long text": json.dumps("All is well. " * 1_000_000)}.items():
        connection.execute(STORE, [name, text])
        planted.append(Hostile(name, "store", name))
    return planted
