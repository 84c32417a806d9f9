"""Retention, erasure, exports and the timeline come to the same with a key as without one, whatever sealing leaves empty."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid5

import pytest
from testkit.conversations import turn

from discreet.encryption import Keyring, make_key
from discreet.rights.erasure import Erasures, Scope
from discreet.rights.exporting import begin, export_to_folder, read_export
from discreet.settings import Settings
from discreet.state.background import SessionSummary
from discreet.state.records import MemoryRecord, Provenance
from discreet.storage import open_storage
from discreet.storage.background.proposals import propose
from discreet.storage.background.summaries import write_summary
from discreet.storage.database.keys import digest
from discreet.testing import StubEmbeddings

NOW = datetime.now(UTC).replace(microsecond=0)
QUIET = Settings(reembed=False, retention_log_days=30, retention_checkpoint_days=30, retention_turn_days=180)
OF_STORAGE = {"pending_since", "updated_at", "created_at", "user_key", "rounds", "space"}


def ago(days):
    return NOW - timedelta(days=days)


def entry(number):
    return uuid5(UUID(int=0), f"{number}")


async def live(storage, user):
    """Have turns of long ago and of yesterday, and memories that several of them state."""
    for number in range(6):
        await storage.log.append(turn(f"old {number}", f"Says {number}", user=user, at=ago(400), thread="old"))
    for number in range(3):
        said = turn(f"new {number}", f"Xin chào, привет, 你好 {number}", user=user, at=ago(1), thread=f"new {number}")
        await storage.log.append(said)
    states = {
        "old": MemoryRecord(
            entry_id=entry(0),
            type="important_moment",
            text="Has had a heart attack",
            request_id="old 3",
            provenance=Provenance(source="extraction", turns=["old 1", "old 2", "old 3"]),
            created_at=ago(400),
        ),
        "new": MemoryRecord(
            entry_id=entry(1),
            text="Lives in Huế",
            request_id="new 0",
            thread_id="new 0",
            provenance=Provenance(source="extraction", model="m", turns=["old 4", "new 0"]),
            created_at=ago(1),
        ),
        "both": MemoryRecord(
            entry_id=entry(2),
            text="Keeps an African Grey parrot",
            request_id="old 5",
            reasoning="Said so twice",
            feedback=[{"rating": 1}],
            tags=["pets"],
            provenance=Provenance(source="extraction", turns=["old 5", "new 1"]),
            created_at=ago(400),
        ),
    }
    for record in states.values():
        await storage.memories.save(user, [record], dedup=False)
    user_key = storage.background.key_of(user)
    summary = SessionSummary(
        summary="Of parrots", topics=["parrots"], key_facts=[], event_count=1, started_at=ago(1), ended_at=ago(1)
    )
    async with storage.pool.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
        place = (user_key, digest("new 2"), "new 2")
        await write_summary(cursor, *place, app_name="app", summary=summary, sealer=storage.sealer)
        await propose(cursor, user_key, [states["new"].model_copy(update={"entry_id": entry(3)})], storage.sealer)


async def exported(storage, user, folder):
    await export_to_folder(folder, begin(storage, user))
    rows = [(type(row).__name__, row.model_dump(mode="json", exclude=OF_STORAGE)) for row in read_export(folder)]
    return [
        (kind, {name: value for name, value in row.items() if not name.endswith("_key")})
        for kind, row in rows
        if kind not in {"AuditRow", "ErasureRow"}
    ]


async def timeline(storage, user):
    entries = await storage.people.timeline(storage.background.key_of(user), limit=100)
    return sorted((each.kind, str(each.thread_id), str(getattr(each.value, "provenance", ""))) for each in entries)


async def kept(storage, user):
    turns = await storage.log.read(user, limit=100)
    records = await storage.memories.latest(user, limit=100)
    return {each.request_id for each in turns}, {each.text for each in records}


async def played(database, keys, user, folder):
    """Return what comes of it, step by step."""
    told = []
    async with open_storage(
        database, embeddings=StubEmbeddings(dims=64), settings=QUIET, keys=keys, maintained=False
    ) as storage:
        await live(storage, user)
        told.append(await exported(storage, user, folder))
        told.append(await timeline(storage, user))
        told.append({each.kind: each.rows for each in await storage.retention.due() if each.rows})
        told.append((dict(await storage.retention.sweep()), await kept(storage, user)))
        erasures = Erasures(storage, settings=QUIET)
        for scope in (
            Scope(name="thread", thread_id="new 0"),
            Scope(name="said", text="Keeps an African Grey parrot"),
            Scope.recent(),
            Scope(name="memory", entry_id=entry(0)),
            Scope.everything(),
        ):
            told.append((scope.name, await erasures.preview(user, scope)))
            receipt = await erasures.erase(user, scope)
            told.append((scope.name, receipt.counts, await kept(storage, user)))
    return told


@pytest.mark.dialect
async def test_what_a_key_seals_changes_nothing_of_what_is_kept_erased_exported_and_shown(database, tmp_path):
    plain = await played(database, None, "ann", tmp_path / "plain")
    sealed = await played(database, Keyring([make_key()]), "bob", tmp_path / "sealed")
    for of_plain, of_sealed in zip(plain, sealed, strict=True):
        assert of_sealed == of_plain
    _, _, due, (gone, (turns, texts)), *_ = sealed
    assert (due["log"], gone["log"]) == (3, 3)
    assert turns == {"old 1", "old 2", "old 3", "new 0", "new 1", "new 2"}
    assert texts == {"Has had a heart attack", "Lives in Huế", "Keeps an African Grey parrot"}
