"""Everything of a person comes out, nobody else's does, and it is read back as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from testkit.lives import live

from discreet.access.identity import Identities
from discreet.errors import ExportError
from discreet.rights.exporting import KINDS, begin, export_to_folder, lines, read_export, read_manifest
from discreet.rights.exporting.format import AuditRow, ItemRow, MemoryRow, MessageRow, ThreadRow, TurnRow
from discreet.state.records import MemoryRecord

ANN = Identities(bytes(32)).of("ann")
BOB = Identities(bytes(32)).of("bob")


async def stream_to(path, export):
    with path.open("wb") as file:
        async for piece in lines(export):
            file.write(piece)


@pytest.fixture
async def two(storage):
    """Have two people live; return the first one's memories."""
    await live(storage, BOB, "quokka", namespace=("users", BOB))
    return await live(storage, ANN, "zanzibarine", namespace=("users", ANN))


EMPTY = {"setting_changes", "unreadable"}


@pytest.mark.slow
async def test_all_kinds_of_a_person_and_nothing_of_anybody_else(storage, two, tmp_path):
    manifest = await export_to_folder(tmp_path / "ann", begin(storage, ANN))
    assert {part.kind for part in manifest.parts if not part.rows} == EMPTY
    for part in manifest.parts:
        content = (tmp_path / "ann" / part.file).read_text(encoding="utf-8")
        assert "quokka" not in content
        if part.kind not in EMPTY | {"forgotten_rounds", "batch_requests", "threads", "delegations", "audit"}:
            assert "zanzibarine" in content, part.kind
    assert manifest.user == storage.background.key_of(ANN)
    assert manifest.unreadable == {}
    assert not manifest.erased_meanwhile


@pytest.mark.slow
async def test_records_have_what_was_stored(storage, two, tmp_path):
    older, newer = two
    await export_to_folder(tmp_path / "ann", begin(storage, ANN, vectors=True))
    records = list(read_export(tmp_path / "ann"))
    memory = next(record for record in records if isinstance(record, MemoryRow) and record.entry_id == older)
    assert (memory.text, memory.tags, memory.type) == ("zanzibarine lives in Oslo", ["home"], "user_fact")
    assert memory.provenance == {"source": "test", "model": "m"}
    assert memory.feedback == [{"comment": "zanzibarine agrees", "rating": 1}]
    assert memory.contradicted_by == [newer]
    assert (memory.space, len(memory.vector)) == ("stub:words:64", 64)
    [turn] = [record for record in records if isinstance(record, TurnRow)]
    assert (turn.thread_id, turn.input_text, turn.output_text) == (
        f"{ANN}'s thread",
        "I am zanzibarine",
        "Hello zanzibarine",
    )
    assert turn.extraction_key is not None
    items = {tuple(record.namespace): record for record in records if isinstance(record, ItemRow)}
    assert items["users", ANN, "notes"].value == {"text": "zanzibarine wrote this"}
    assert items["users", ANN, "notes", "deep"].ttl_minutes == 10
    messages = {
        (record.thread_id, record.channel, record.position): record
        for record in records
        if isinstance(record, MessageRow)
    }
    threads = [record for record in records if isinstance(record, ThreadRow)]
    assert [thread.values["topic"] for thread in threads] == ["birds", "birds"]
    assert all("messages" not in thread.values for thread in threads)
    [thread] = [thread for thread in threads if thread.thread_id == f"{ANN}'s thread"]
    said = [
        messages[thread.thread_id, channel, position]
        for channel, first, last in thread.message_runs
        for position in range(first, last + 1)
    ]
    assert [(message.type, message.content) for message in said] == [
        ("human", "zanzibarine here"),
        ("ai", "I heard: zanzibarine here"),
        ("human", "zanzibarine again"),
        ("ai", "I heard: zanzibarine again"),
    ]


@pytest.mark.slow
async def test_a_stream_and_a_folder_have_the_same_checksums(storage, two, tmp_path):
    folder = await export_to_folder(tmp_path / "ann", begin(storage, ANN))
    await stream_to(tmp_path / "ann.ndjson", begin(storage, ANN))
    stream = read_manifest(tmp_path / "ann.ndjson")
    differing = {"audit"}  # the exports themselves are in there
    same = [part for part in folder.parts if part.kind not in differing]
    assert [part for part in stream.parts if part.kind not in differing] == same
    by_folder = [record for record in read_export(tmp_path / "ann") if not isinstance(record, AuditRow)]
    by_stream = [record for record in read_export(tmp_path / "ann.ndjson") if not isinstance(record, AuditRow)]
    assert by_folder == by_stream
    kinds = [json.loads(line)["kind"] for line in (tmp_path / "ann.ndjson").read_bytes().splitlines()]
    assert (kinds[0], kinds[-1]) == ("header", "manifest")
    assert set(kinds) <= {*KINDS, "header", "mark", "manifest"}


@pytest.mark.slow
async def test_namespaces_of_the_library_are_theirs_who_are_named(storage, tmp_path):
    await storage.memories.save("ann", [MemoryRecord(text="Likes tea")])
    await storage.store.aput(("notes", "ann"), "1", {"text": "hers"})
    await storage.store.aput(("notes", "ann", "more"), "1", {"text": "hers too"})
    await storage.store.aput(("notes", "anna"), "1", {"text": "another's"})
    await export_to_folder(tmp_path / "all", begin(storage, "ann", namespaces=[("notes", "ann")]))
    items = [record.value["text"] for record in read_export(tmp_path / "all") if isinstance(record, ItemRow)]
    assert items == ["hers", "hers too"]
    await export_to_folder(tmp_path / "none", begin(storage, "ann"))
    assert not any(isinstance(record, ItemRow) for record in read_export(tmp_path / "none"))


async def test_of_a_stranger_there_is_nothing(storage, tmp_path):
    manifest = await export_to_folder(tmp_path / "carl", begin(storage, "carl"))
    assert sum(part.rows for part in manifest.parts if part.kind != "audit") == 0


@pytest.mark.slow
async def test_nothing_is_read_of_what_was_changed(storage, two, tmp_path):
    await export_to_folder(tmp_path / "ann", begin(storage, ANN))
    file = tmp_path / "ann" / "turns.jsonl"
    file.write_text(file.read_text().replace("Hello", "Hallo"))
    with pytest.raises(ExportError, match=r"turns\.jsonl is not what was exported"):
        next(read_export(tmp_path / "ann"))
    await stream_to(tmp_path / "ann.ndjson", begin(storage, ANN))
    stream = tmp_path / "ann.ndjson"
    stream.write_text(stream.read_text().replace("Hello", "Hallo"))
    with pytest.raises(ExportError, match="is not what was exported"):
        next(read_export(stream))


def without(parts):
    """Yield lists of parts of which one is left out, is there twice, or is none that there is."""
    for n, part in enumerate(parts):
        yield parts[:n] + parts[n + 1 :]
        yield [*parts, part]
        yield [*parts[:n], {**part, "kind": "turn"}, *parts[n + 1 :]]
    yield []


@pytest.mark.slow
async def test_a_manifest_names_every_kind_once(storage, two, tmp_path):
    folder = tmp_path / "ann"
    await export_to_folder(folder, begin(storage, ANN))
    manifest = json.loads((folder / "manifest.json").read_text())
    for parts in without(manifest["parts"]):
        (folder / "manifest.json").write_text(json.dumps({**manifest, "parts": parts}))
        with pytest.raises(ExportError, match=r"manifest\.json does not name every kind"):
            next(read_export(folder))
        with pytest.raises(ExportError):
            read_manifest(folder)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert list(read_export(folder))


@pytest.mark.slow
@pytest.mark.parametrize("make", [str, Path], ids=["str", "Path"])
async def test_a_path_may_be_a_text(storage, two, tmp_path, make):
    folder = make(tmp_path / "ann")
    await export_to_folder(folder, begin(storage, ANN))
    await stream_to(tmp_path / "ann.ndjson", begin(storage, ANN))
    for path in (folder, make(tmp_path / "ann.ndjson")):
        assert read_manifest(path).user == storage.background.key_of(ANN)
        assert any(isinstance(record, MemoryRow) for record in read_export(path))


@pytest.mark.parametrize("make", [str, Path], ids=["str", "Path"])
@pytest.mark.parametrize("name", ["gone", "gone/ann.ndjson", "file/ann", "n" * 300])
def test_a_path_where_nothing_can_be_read_is_told(tmp_path, make, name):
    (tmp_path / "file").write_text("")
    path = make(tmp_path / name)
    with pytest.raises(ExportError, match=r"can't be read \("):
        next(read_export(path))
    with pytest.raises(ExportError, match=r"can't be read \("):
        read_manifest(path)


@pytest.mark.slow
@pytest.mark.dialect
async def test_an_erasure_meanwhile_is_told(storage, two, tmp_path):
    export = begin(storage, ANN)
    pieces = lines(export)
    first = await anext(pieces)
    async with storage.pool.connection() as conn:
        await conn.execute(
            "UPDATE discreet.users SET epoch = epoch + 1 WHERE user_key = %(user_key)s", {"user_key": export.user}
        )
    rest = [piece async for piece in pieces]
    (tmp_path / "ann.ndjson").write_bytes(b"".join([first, *rest]))
    assert read_manifest(tmp_path / "ann.ndjson").erased_meanwhile


@pytest.mark.slow
async def test_a_redis_has_the_rounds(database, redis_url, keys, tmp_path):
    from discreet.rights.exporting.format import RoundRow
    from discreet.settings import Settings
    from discreet.storage import open_storage
    from discreet.testing import StubEmbeddings

    settings = Settings(redis_url=redis_url)
    async with open_storage(database, settings=settings, embeddings=StubEmbeddings(dims=64), keys=keys) as storage:
        await live(storage, ANN, "zanzibarine", namespace=("users", ANN))
        await export_to_folder(tmp_path / "ann", begin(storage, ANN))
    [said] = [record for record in read_export(tmp_path / "ann") if isinstance(record, RoundRow)]
    assert (said.thread_id, said.input_text) == (f"{ANN}'s thread", "I am zanzibarine")
