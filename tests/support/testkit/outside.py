"""A provider of batches that outlives the processes that use it: all that it was handed lies in a file of SQLite."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from discreet.errors import ProviderError
from discreet.ports import BatchLimits, BatchRequest, BatchResult, BatchStatus
from testkit.conversations import echo

FAILS_ONCE = "fails once"
"""A prompt that says this has no answer in the first batch that it is in."""

_TABLES = """
CREATE TABLE IF NOT EXISTS batch (
    place INTEGER PRIMARY KEY, batch_id TEXT UNIQUE, job_id TEXT, model TEXT, requests TEXT,
    is_cancelled INTEGER DEFAULT 0, is_deleted INTEGER DEFAULT 0
);
CREATE TABLE IF NOT EXISTS call (place INTEGER PRIMARY KEY, name TEXT, batch_id TEXT, process INTEGER);
CREATE TABLE IF NOT EXISTS running (only_row INTEGER PRIMARY KEY CHECK (only_row = 1));
"""


class OutsideProvider:
    """The port `BatchProvider` over a file, which any number of processes share.

    `on_step` is told of every moment before and after something happens here. A batch runs while the file `holds`.
    """

    name, price_factor = "openai", 0.5

    def __init__(
        self,
        path: Path | str,
        *,
        limits: BatchLimits = BatchLimits(requests=3, bytes=10_000_000),  # noqa: B008  # it is frozen
        on_step: Callable[[str], None] = lambda _name: None,
    ) -> None:
        self._path = str(path)
        self.limits = limits
        self._step = on_step
        with closing(sqlite3.connect(self._path, timeout=60)) as connection, connection:
            connection.executescript(_TABLES)

    def size(self, request: BatchRequest, model: str) -> int:
        return len(request.data)

    async def submit(self, job_id: str, model: str, requests: list[BatchRequest]) -> str:
        self._step("before submit")
        told = [{"custom_id": each.custom_id, "data": each.data, "schema_name": each.schema_name} for each in requests]
        batch_id = f"batch-{os.urandom(6).hex()}"
        self._run(
            "INSERT INTO batch (batch_id, job_id, model, requests) VALUES (?, ?, ?, ?)",
            batch_id,
            job_id,
            model,
            json.dumps(told),
        )
        self._called("submit", batch_id)
        return batch_id

    async def find(self, job_id: str, custom_ids: list[str], since: datetime) -> str | None:
        self._step("before find")
        found = self._run("SELECT batch_id FROM batch WHERE job_id = ? AND NOT is_deleted ORDER BY place", job_id)
        self._called("find", found[0][0] if found else None)
        return found[0][0] if found else None

    async def status(self, batch_id: str) -> BatchStatus:
        self._step("before status")
        found = self._run("SELECT is_cancelled FROM batch WHERE batch_id = ? AND NOT is_deleted", batch_id)
        runs = bool(self._run("SELECT 1 FROM running"))
        self._called("status", batch_id)
        if not found:
            return BatchStatus(state="vanished")
        return BatchStatus(state="running" if runs and not found[0][0] else "ended", told="told")

    async def results(self, batch_id: str) -> Any:
        self._step("before results")
        found = self._run("SELECT place, requests FROM batch WHERE batch_id = ? AND NOT is_deleted", batch_id)
        if not found:
            raise ProviderError("There are no such results.")
        [(place, requests)] = found
        for each in json.loads(requests):
            self._step("before a result")
            yield self._result(each, place)
        self._called("results", batch_id)

    async def cancel(self, batch_id: str) -> None:
        self._step("before cancel")
        self._run("UPDATE batch SET is_cancelled = 1 WHERE batch_id = ?", batch_id)
        self._called("cancel", batch_id)

    async def delete(self, batch_id: str) -> None:
        self._step("before delete")
        self._run("UPDATE batch SET is_deleted = 1 WHERE batch_id = ?", batch_id)
        self._called("delete", batch_id)

    @property
    def holds(self) -> bool:
        """Whether batches go on; else they have ended."""
        return bool(self._run("SELECT 1 FROM running"))

    @holds.setter
    def holds(self, running: bool) -> None:
        self._run("INSERT OR IGNORE INTO running VALUES (1)" if running else "DELETE FROM running")

    def batches(self) -> list[dict[str, Any]]:
        """Return all batches that were ever handed in, oldest first."""
        rows = self._run("SELECT batch_id, job_id, requests, is_cancelled, is_deleted FROM batch ORDER BY place")
        names = ("batch_id", "job_id", "requests", "is_cancelled", "is_deleted")
        return [dict(zip(names, (*row[:2], json.loads(row[2]), *row[3:]), strict=True)) for row in rows]

    def handed_in(self) -> list[str]:
        """Return the custom_ids of all prompts, as often as they were handed in."""
        return sorted(each["custom_id"] for batch in self.batches() for each in batch["requests"])

    def calls(self) -> list[tuple[str, str | None, int]]:
        """Return name, batch and process of all calls, oldest first."""
        return self._run("SELECT name, batch_id, process FROM call ORDER BY place")

    def _result(self, each: dict[str, str], place: int) -> BatchResult:
        custom_id = each["custom_id"]
        if FAILS_ONCE in each["data"]:
            earlier = self._run("SELECT 1 FROM batch WHERE place < ? AND instr(requests, ?)", place, custom_id)
            if not earlier:
                return BatchResult(custom_id=custom_id, state="failed", error="server_error")
        asked = BatchRequest(
            custom_id=custom_id, instruction="", data=each["data"], schema={}, schema_name=each["schema_name"]
        )
        return BatchResult(
            custom_id=custom_id,
            state="succeeded",
            text=json.dumps(echo(asked)),
            model="model-1",
            input_tokens=100,
            output_tokens=20,
        )

    def _called(self, name: str, batch_id: str | None) -> None:
        self._run("INSERT INTO call (name, batch_id, process) VALUES (?, ?, ?)", name, batch_id, os.getpid())
        self._step(f"after {name}")

    def _run(self, statement: str, *given: object) -> list[Any]:
        with closing(sqlite3.connect(self._path, timeout=60)) as connection, connection:
            return connection.execute(statement, given).fetchall()
