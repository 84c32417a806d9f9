"""Seals: what they cover, that they wait for nobody, and where they are kept besides."""

from __future__ import annotations

import asyncio
import json
from threading import Thread

import pytest

from discreet.errors import AuditAnchorError, ConfigurationError
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.audit.anchors import file_anchor, read_anchors, url_anchor
from discreet.storage.audit.sealing import AuditSealer
from discreet.storage.database.leases import AUDIT_SEALS, job_lease
from discreet.storage.database.statements import fetch
from discreet.testing import StubEmbeddings

SEALS = "SELECT seal_number, heads FROM discreet.audit_seal ORDER BY seal_number"


def sealer(trail, *anchors):
    return AuditSealer(trail.pool, key=trail.keys.audit_key, anchors=anchors, clock=trail.clock)


async def test_what_has_changed_is_sealed_a_few_heads_a_seal(trail):
    for user in ("ann", "bob", "cyd", "dan"):
        await trail.write(user, 2)
    assert await trail.sealer.seal() == 4
    assert await trail.sealer.seal() == 0
    await trail.write("cyd", 1)
    assert (await trail.verify()).unsealed == 1
    assert await trail.sealer.seal() == 1
    assert [tuple(row.values()) for row in await trail.rows(SEALS)] == [(1, 3), (2, 1), (3, 1)]
    report = await trail.verify()
    assert (report.seals, report.unsealed, report.findings) == (3, 0, [])


async def test_one_process_seals_at_a_time(trail):
    await trail.write("ann", 1)
    async with trail.pool.connection() as conn, job_lease(conn, AUDIT_SEALS):
        assert await trail.sealer.seal() == 0
    sealed = await asyncio.gather(*(trail.sealer.seal() for _ in range(3)))
    assert max(sealed) == 1
    assert not (await trail.verify()).findings


async def test_sealing_waits_for_nobody_who_writes(trail):
    await trail.write("ann", 1)
    async with trail.pool.connection() as conn, conn.transaction(), conn.cursor() as cursor:
        await trail.log.record_in(cursor, "memory.write", user_key="ann", data="memory")
        await trail.write("bob", 1)
        assert await trail.sealer.seal() == 2  # ann's as it was before
        [row] = await trail.rows("SELECT user_key FROM discreet.audit_chain WHERE is_sealed")
        assert row["user_key"] == trail.keys.of_user("bob")
    assert await trail.sealer.seal() == 1
    assert not (await trail.verify()).findings


@pytest.mark.slow
async def test_sealing_verifying_and_writing_at_once(trail):
    async def write(user: str) -> None:
        for _ in range(10):
            await trail.write(user, 2)

    async def seal() -> None:
        for _ in range(10):
            await trail.sealer.seal()

    async def verify() -> None:
        for _ in range(5):
            assert (await trail.verify()).findings == []

    await asyncio.gather(*map(write, ("ann", "bob", "cyd", "dan")), seal(), verify())
    assert (await trail.verify()).findings == []


@pytest.mark.slow
async def test_what_is_there_is_sealed_where_the_trail_was_turned_off(database, monkeypatch):
    embeddings = StubEmbeddings(dims=64)
    async with open_storage(database, embeddings=embeddings, maintained=False) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    monkeypatch.setenv("DISCREET_AUDIT", "false")
    async with open_storage(database, embeddings=embeddings) as storage, asyncio.timeout(60):
        while not await fetch(storage.works_pool, SEALS):
            await asyncio.sleep(0.1)


async def test_each_seal_is_anchored_in_a_file(trail, tmp_path):
    kept = sealer(trail, file_anchor(tmp_path / "anchors"))
    await kept.keep()  # nothing to seal
    for _ in range(2):
        await trail.write("ann", 1)
        await kept.keep()
        await kept.keep()
    assert [number for number, _ in read_anchors(tmp_path / "anchors")] == [1, 2]
    report = await trail.verify(anchors=read_anchors(tmp_path / "anchors"))
    assert (report.anchors, report.findings) == (2, [])


async def test_an_anchor_that_fails_gets_the_seal_later(trail, tmp_path, caplog):
    path = tmp_path / "missing" / "anchors"
    kept = sealer(trail, file_anchor(path))
    await trail.write("ann", 1)
    await kept.keep()
    assert "audit.not_anchored seal=1 cause=audit_anchor" in caplog.text
    path.parent.mkdir()
    await kept.keep()
    assert [number for number, _ in read_anchors(path)] == [1]


@pytest.mark.slow
async def test_a_seal_is_posted_to_an_address(trail, collector):
    address, posted = collector
    await trail.write("ann", 1)
    await sealer(trail, url_anchor(f"{address}/ok")).keep()
    last = await trail.sealer.last()
    assert posted == [{"seal": 1, "at": last.at.isoformat(), "heads": 1, "hash": last.hash.hex()}]
    for failing in (f"{address}/refused", "http://127.0.0.1:1/"):
        with pytest.raises(AuditAnchorError):
            await url_anchor(failing)(last)


def test_an_address_without_tls_is_refused():
    with pytest.raises(ConfigurationError, match="https"):
        url_anchor("http://example.com/anchors")


@pytest.mark.parametrize("line", ["{", "[]", '{"seal": 1}', '{"seal": 1, "hash": "x"}', "\xff"])
def test_a_file_of_something_else_is_refused(tmp_path, line):
    path = tmp_path / "anchors"
    path.write_bytes(b'{"seal": 1, "hash": "00"}\n' + line.encode("latin-1"))
    with pytest.raises(AuditAnchorError):
        list(read_anchors(path))


@pytest.fixture
def collector():
    """Return the address of a server that keeps what is posted to it, and what that was."""
    from http.server import BaseHTTPRequestHandler, HTTPServer

    posted = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            posted.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204 if self.path == "/ok" else 500)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", posted
        server.shutdown()
        thread.join()
