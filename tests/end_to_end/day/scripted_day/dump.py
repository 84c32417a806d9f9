"""Search what a day has left: all tables, large objects, and files of the server."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import psycopg
from psycopg import sql

from discreet.storage.embedded import lease_server

TABLES = """
    SELECT n.nspname, c.relname
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
    ORDER BY 1, 2
"""
HEX = re.compile(rb"\\\\x([0-9a-f]+)")
"""A bytea as COPY writes it."""
ESCAPED = re.compile(r"\\+u([0-9a-fA-F]{4})")
"""A letter as JSON may write it."""
HAN = re.compile(r"[\u4e00-\u9fff]+")
WORD = re.compile(r"\w+")
WORDS = 6
CHARACTERS = 10


def dump(data_dir: Path) -> dict[str, str]:
    """Return the text of each table of the embedded server, bytes and escapes decoded."""
    texts: dict[str, str] = {}
    with lease_server(data_dir) as dsn, psycopg.connect(dsn, autocommit=True) as connection:
        names = [(schema, name) for schema, name in connection.execute(TABLES)]
        for schema, name in [*names, ("pg_catalog", "pg_largeobject")]:
            copy = sql.SQL("COPY (SELECT * FROM {}) TO STDOUT").format(sql.Identifier(schema, name))
            with connection.cursor().copy(copy) as rows:
                texts[f"{schema}.{name}"] = decoded(b"".join(bytes(row) for row in rows))
    return texts


def decoded(raw: bytes) -> str:
    """Return bytes as text that a person could search."""
    raw = HEX.sub(lambda match: bytes.fromhex(match.group(1).decode()), raw)
    text = raw.decode("utf-8", errors="replace")
    return ESCAPED.sub(lambda match: chr(int(match.group(1), 16)), text)


def runs(text: str) -> set[str]:
    """Return all runs of six words, and of ten Chinese characters."""
    text = text.casefold()
    words = WORD.findall(text)
    found = {" ".join(words[place : place + WORDS]) for place in range(len(words) - WORDS + 1)}
    for part in _clauses(text):
        found |= {part[place : place + CHARACTERS] for place in range(len(part) - CHARACTERS + 1)}
    return found


def _clauses(text: str) -> Iterable[str]:
    """Yield Chinese text without its punctuation, so that a run goes over a comma."""
    return HAN.findall(re.sub(r"[，。、：；！？\s]+", "", text))
