"""V1's application, as its document has the code, over a Redis of its own; and our side of the migration."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
import redis

from discreet.importing.history.copying import Copier
from discreet.importing.history.v1 import open_v1
from discreet.importing.history.writing import RoundWriter
from discreet.redaction import Redactor
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

DAY_SECONDS = 24 * 3600


class V1:
    """Writes and reads a history as V1 does."""

    def __init__(self, url: str) -> None:
        self.redis = redis.Redis.from_url(url, decode_responses=True)

    def make_request_id(self, user_id: str, text: str, now_ms: int) -> str:
        bucket = now_ms // 3000
        return hashlib.sha1(f"{user_id}|{text}|{bucket}".encode()).hexdigest()

    def append_round(self, user_id: str, round_obj: dict[str, Any]) -> None:
        key = f"session:{user_id}:history"
        self.redis.rpush(key, json.dumps(round_obj, ensure_ascii=False))
        self.redis.set(f"session:{user_id}:state", "ACTIVE", nx=True)
        pipeline = self.redis.pipeline()
        for each in (key, f"session:{user_id}:summary:text", f"session:{user_id}:summary:rounds"):
            pipeline.pexpire(each, DAY_SECONDS * 1000)
        pipeline.execute()

    def fetch_unsummarized_tail(self, user_id: str, k: int = 6) -> list[dict[str, Any]]:
        cursor = int(self.redis.get(f"session:{user_id}:summary:rounds") or 0)
        items = self.redis.lrange(f"session:{user_id}:history", cursor, -1)
        return [json.loads(each) for each in items[-k:]]

    def round(self, user_id: str, text: str, *, ago: float = 0, answer: str = "好的。", **more: Any) -> dict[str, Any]:
        now_ms = int((time.time() - ago) * 1000)
        rid = self.make_request_id(user_id, text, now_ms)
        return {"input": text, "output": answer, "rid": rid, "timestamp": now_ms, "is_emergency": False, **more}

    def say(self, user_id: str, text: str, **more: Any) -> dict[str, Any]:
        said = self.round(user_id, text, **more)
        self.append_round(user_id, said)
        return said


@pytest.fixture
def v1(redis_url):
    """Return V1's application without any user."""
    made = V1(redis_url)
    yield made
    made.redis.close()


@pytest.fixture
async def history(redis_url):
    """Return what reads V1's Redis."""
    async with open_v1(redis_url) as opened:
        yield opened


@pytest.fixture
async def storage(database):
    """Return a storage without rows."""
    opened = open_storage(database, embeddings=StubEmbeddings(dims=16), redactor=Redactor(), maintained=False)
    async with opened as found:
        yield found


@pytest.fixture
def writer(storage):
    """Return what writes into the log."""
    return RoundWriter(storage)


@pytest.fixture
def bad_rows():
    """Return the bad rows that `copier` told of."""
    return []


@pytest.fixture
def copier(history, writer, bad_rows):
    """Return what copies V1's history."""
    return Copier(history, writer, bad=bad_rows.extend)


@dataclass
class Log:
    """What the database has, as it lies there."""

    dsn: str

    def rows(self) -> list[tuple[Any, ...]]:
        """Return request ids, texts, times in ms, and flags."""
        return self._query(
            "SELECT request_id, input_text, output_text, (extract(epoch FROM started_at) * 1000)::bigint, is_emergency"
            " FROM discreet.conversation_log ORDER BY started_at, request_id"
        )

    def session_rounds(self) -> int:
        """Return how many rounds the session records tell of."""
        return self._query("SELECT coalesce(sum(rounds), 0) FROM discreet.session_record")[0][0]

    def _query(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn) as connection:
            return connection.execute(statement).fetchall()


@pytest.fixture
async def phase(storage):
    """Return what brings the migration to a phase."""

    async def change(to: str) -> None:
        await storage.memory_settings.change({"history_migration": to}, by="u_test")

    return change


@pytest.fixture
def log(database):
    """Return what looks into the log."""
    return Log(database)
