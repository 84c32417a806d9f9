"""Reading what is somebody else's through the API, with their consent; and exporting what is one's own."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from testkit.lives import live

from discreet.access.actor import current_actor
from discreet.access.identity import Identities
from discreet.api.app import make_app
from discreet.api.services import Services
from discreet.redaction import Redactor
from discreet.rights.exporting import read_export
from discreet.rights.exporting.format import MemoryRow
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings, TokenAuthenticator

WORD = "zanzibarine"


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as opened:
        yield opened


class OpaqueAuthenticator(TokenAuthenticator):
    """Makes identities as a server does."""

    def identity(self, subject):
        return Identities(bytes(32)).of(subject)


@pytest.fixture
def authenticator():
    return OpaqueAuthenticator()


class WhoReads:
    """Memories that note who acts when they are read."""

    def __init__(self, memories):
        self._memories = memories
        self.actors = []

    def __getattr__(self, name):
        self.actors.append(current_actor().identity)
        return getattr(self._memories, name)


@pytest.fixture
def reads(storage):
    return WhoReads(storage.memories)


@pytest.fixture
def client_of(storage, authenticator, reads):
    services = Services(
        memories=reads,
        log=storage.log,
        short_term=storage.short_term,
        memory_settings=storage.memory_settings,
        background=storage.background,
        storage=lambda: storage,
        delegations=storage.delegations,
        authenticator=authenticator,
        redactor=Redactor(),
        settings=Settings(_env_file=None),
        health=storage.health,
    )
    app = make_app(services)

    def client(subject, *, admin=False):
        headers = authenticator.headers_of(subject, admin=admin)
        return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://testserver", headers=headers)

    return client


@pytest.fixture
async def entry(storage, authenticator):
    """Return what Ann has kept."""
    [saved] = await storage.memories.save(authenticator.identity("ann"), [MemoryRecord(text=f"Keeps a {WORD}")])
    return saved


def readings(entry):
    """Return all requests that read Ann's entries."""
    return [
        ("GET", f"/memory/entry/{entry.entry_id}?user_id=ann", None),
        ("GET", "/memory/query?user_id=ann", None),
        ("POST", "/memory/search", {"q": WORD, "user_id": "ann"}),
    ]


@pytest.mark.slow
@pytest.mark.dialect
async def test_a_delegate_reads_until_it_is_revoked(client_of, entry, reads, authenticator):
    ann, carl = client_of("ann"), client_of("carl")
    for method, path, body in readings(entry):
        assert (await carl.request(method, path, json=body)).status_code == 403
    granted = await ann.post("/memory/delegations", json={"delegate_id": "carl"})
    assert granted.status_code == 201, granted.text
    for method, path, body in readings(entry):
        reads.actors.clear()
        read = await carl.request(method, path, json=body)
        assert read.status_code == 200, read.text
        assert WORD in read.text
        assert '"user_id":"ann"' in read.text
        assert reads.actors == [authenticator.identity("carl")]
    [listed] = (await ann.get("/memory/delegations")).json()["delegations"]
    assert listed == granted.json()
    assert listed["holds"]
    revoked = await ann.delete(f"/memory/delegations/{listed['delegate_key']}")
    assert revoked.status_code == 204
    for method, path, body in readings(entry):
        assert (await carl.request(method, path, json=body)).status_code == 403
    [listed] = (await ann.get("/memory/delegations")).json()["delegations"]
    assert not listed["holds"]


@pytest.mark.slow
async def test_what_a_delegate_reads_is_in_the_audit_trail_and_what_one_reads_oneself_is_not(
    client_of, entry, storage, authenticator
):
    await client_of("ann").post("/memory/delegations", json={"delegate_id": "carl"})
    for subject in ("ann", "carl"):
        for method, path, body in readings(entry):
            assert (await client_of(subject).request(method, path, json=body)).status_code == 200
    asked = {"user_key": storage.background.key_of(authenticator.identity("ann"))}
    async with storage.pool.connection() as conn:
        rows = await (
            await conn.execute(
                "SELECT action, actor FROM discreet.audit_entry WHERE user_key = %(user_key)s ORDER BY number", asked
            )
        ).fetchall()
    read = [row["actor"] for row in rows if row["action"] == "memory.read"]
    assert read == [authenticator.identity("carl")] * 3
    assert [row["action"] for row in rows].count("delegation.grant") == 1


@pytest.mark.slow
async def test_what_a_delegate_finds_counts_as_no_hit(client_of, entry, storage, authenticator):
    await client_of("ann").post("/memory/delegations", json={"delegate_id": "carl"})
    for subject in ("carl", "ann", "carl"):
        asked = client_of(subject).post("/memory/search", json={"q": WORD, "user_id": "ann"})
        found = await asyncio.create_task(asked)  # each request in a context of its own, as on a server
        assert str(entry.entry_id) in found.text
    await storage.memories.close()  # which writes what was counted
    given = {"user_key": storage.background.key_of(authenticator.identity("ann"))}
    async with storage.pool.connection() as conn:
        rows = await (
            await conn.execute("SELECT hits FROM discreet.memory_stats WHERE user_key = %(user_key)s", given)
        ).fetchall()
    assert [row["hits"] for row in rows] == [1]


@pytest.mark.slow
async def test_a_delegate_writes_nothing_and_exports_nothing(client_of, entry, storage, authenticator):
    carl = client_of("carl")
    await client_of("ann").post("/memory/delegations", json={"delegate_id": "carl"})
    refused = [
        await carl.post("/memory/store", json={"user_id": "ann", "short_answer": "hers"}),
        await carl.delete(f"/memory/entry/{entry.entry_id}?user_id=ann"),
        await carl.post("/memory/feedback", json={"user_id": "ann", "entry_id": str(entry.entry_id), "rating": 1}),
        await carl.post("/memory/session/s/end?user_id=ann"),
        await carl.get("/memory/proposals?user_id=ann"),
        await carl.get("/memory/export?user_id=ann"),
        await carl.post("/memory/delegations", json={"user_id": "ann", "delegate_id": "dora"}),
        await carl.get("/memory/delegations?user_id=ann"),
    ]
    assert {answer.status_code for answer in refused} == {403}
    assert await storage.memories.get(authenticator.identity("ann"), entry.entry_id) == entry


@pytest.mark.slow
async def test_one_that_has_expired_is_none(client_of, entry, storage, authenticator):
    carl = client_of("carl")
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    granted = await client_of("ann").post("/memory/delegations", json={"delegate_id": "carl", "expires_at": until})
    assert granted.status_code == 201
    assert (await carl.get("/memory/query?user_id=ann")).status_code == 200
    async with storage.pool.connection() as conn:
        await conn.execute(
            "UPDATE discreet.delegation SET expires_at = now() WHERE user_key = %(user_key)s",
            {"user_key": storage.background.key_of(authenticator.identity("ann"))},
        )
    assert (await carl.get("/memory/query?user_id=ann")).status_code == 403
    past = await client_of("ann").post(
        "/memory/delegations", json={"delegate_id": "carl", "expires_at": "2020-01-01T00:00:00Z"}
    )
    assert (past.status_code, past.json()["error"]["code"]) == (422, "delegation_invalid")


@pytest.mark.slow
@pytest.mark.parametrize("nobody", ["anonymous", "studio"])
async def test_who_is_nobody_in_particular_is_nobodys_delegate(client_of, entry, authenticator, nobody):
    for named in (nobody, authenticator.identity(nobody)):
        refused = await client_of("ann").post("/memory/delegations", json={"delegate_id": named})
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "delegation_invalid")
    assert (await client_of("ann").get("/memory/delegations")).json()["delegations"] == []


@pytest.mark.slow
async def test_an_administrator_grants_for_others(client_of, entry):
    admin = client_of("root", admin=True)
    granted = await admin.post("/memory/delegations", json={"user_id": "ann", "delegate_id": "carl"})
    assert granted.status_code == 201
    assert (await client_of("carl").get("/memory/query?user_id=ann")).status_code == 200
    assert (
        await client_of("root").post("/memory/delegations", json={"user_id": "ann", "delegate_id": "root"})
    ).status_code == 403


async def kept(response, path):
    path.write_bytes(response.content)
    return [record.text for record in read_export(path) if isinstance(record, MemoryRow)]


@pytest.mark.slow
async def test_ones_own_export_is_whole_and_goes_on_after_its_marks(client_of, storage, authenticator, tmp_path):
    identity = authenticator.identity("ann")
    await live(storage, identity, WORD, namespace=("users", identity))
    ann = client_of("ann")
    whole = await ann.get("/memory/export")
    assert whole.status_code == 200
    assert whole.headers["content-type"] == "application/x-ndjson"
    assert whole.headers["cache-control"] == "no-store"
    assert whole.headers["content-disposition"].endswith('.ndjson"')
    expected = await kept(whole, tmp_path / "whole.ndjson")
    assert len(expected) == 3
    lines = whole.content.splitlines(keepends=True)
    marks = [number for number, line in enumerate(lines) if b'{"kind":"mark"' in line]
    at = marks[len(marks) // 2]
    after = json.loads(lines[at])["data"]["after"]
    rest = await ann.get("/memory/export", params={"after": after})
    (tmp_path / "parts.ndjson").write_bytes(b"".join(lines[: at + 1]) + lines[at + 1][:20] + rest.content)
    assert [
        record.text for record in read_export(tmp_path / "parts.ndjson") if isinstance(record, MemoryRow)
    ] == expected
    wrong = await ann.get("/memory/export", params={"after": "x"})
    assert (wrong.status_code, wrong.json()["error"]["fields"][0]["field"]) == (422, "after")


@pytest.mark.slow
async def test_only_an_administrator_exports_what_is_somebody_elses(client_of, entry, tmp_path):
    assert (await client_of("bob").get("/memory/export?user_id=ann")).status_code == 403
    of_ann = await client_of("root", admin=True).get("/memory/export?user_id=ann")
    assert await kept(of_ann, tmp_path / "ann.ndjson") == [f"Keeps a {WORD}"]
    of_bob = await client_of("bob").get("/memory/export")
    assert await kept(of_bob, tmp_path / "bob.ndjson") == []


async def test_a_database_that_fails_ends_the_stream_with_an_error(client_of, entry, storage, monkeypatch):
    from discreet.errors import StorageUnavailableError
    from discreet.rights.exporting import exporter

    pages = 0

    async def failing(reading, mark, read=exporter.read_page):
        nonlocal pages
        pages += 1
        if pages > 2:
            raise StorageUnavailableError
        return await read(reading, mark)

    monkeypatch.setattr(exporter, "read_page", failing)
    answer = await client_of("ann").get("/memory/export")
    assert answer.status_code == 200
    kinds = [json.loads(line)["kind"] for line in answer.content.splitlines()]
    assert (kinds[-1], kinds.count("manifest")) == ("error", 0)
    assert json.loads(answer.content.splitlines()[-1])["data"]["code"] == "storage_unavailable"
