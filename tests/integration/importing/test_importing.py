"""What is imported is as its source has it, redacted, and there once."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from testkit.conversations import turn

from discreet.errors import ImportSourceError, StorageError
from discreet.importing.bad_rows import BadRowsFile
from discreet.importing.importer import CHUNK
from discreet.importing.progress import ProgressFile
from discreet.importing.source import BadRow, SourceRow, StoreItem
from discreet.importing.sources.json_store import open_json
from discreet.rights.erasure import Erasures, Scope
from discreet.state.records import MAX_MEMORY_CHARS, MemoryRecord, Provenance

NOW = datetime(2026, 1, 2, 12, 34, 56, 123456, tzinfo=UTC)


def rows(*records, user="ann"):
    return [SourceRow(mark=f"{n:012}", user_id=user, record=record) for n, record in enumerate(records)]


def item(key, value, **times):
    given = {"created_at": NOW, "updated_at": NOW + timedelta(days=1), **times}
    return StoreItem(namespace=("notes", "ann"), key=key, value=value, **given)


class Unforgetting(ProgressFile):
    """One that stays when the import is finished, as it does when that is killed."""

    def remove(self):
        pass


@pytest.fixture
def file(tmp_path):
    """Return what writes entries as the file-based store does."""

    def write(entries):
        path = tmp_path / "memory_store.json"
        path.write_text(json.dumps(entries, ensure_ascii=False, indent=2), encoding="utf-8")
        return open_json(str(path))

    return write


async def test_an_entry_keeps_all_that_the_file_says_but_sensitive_values(storage, importing, file):
    entry = {
        "entry_id": "id-001",
        "request_id": "req-1",
        "session_id": "sess-1",
        "user_id": "user-1",
        "agent_id": "mila",
        "timestamp": NOW.isoformat().replace("+00:00", "Z"),
        "short_answer": "Lập kế hoạch học 3 tháng, mail ann@example.com",
        "reasoning": "1) Đánh giá trình độ of ann@example.com",
        "confidence": 0.9,
        "tags": ["plan", "action"],
        "conflict_flags": ["says otherwise"],
        "loop_flag": True,
        "provenance": {"model": "gpt-x", "model_version": "v1", "prompt": "tell bob@example.com"},
        "user_feedback": [{"rating": 4, "comment": "good, ann@example.com"}],
    }
    report = await importing(file([entry]))
    assert (report.new, report.rows, report.users) == ({"reasoning": 1}, 1, 1)
    [stored] = await storage.memories.latest("user-1")
    assert stored == MemoryRecord(
        entry_id=stored.entry_id,
        text="Lập kế hoạch học 3 tháng, mail <EMAIL>",
        reasoning="1) Đánh giá trình độ of <EMAIL>",
        type="reasoning",
        request_id="req-1",
        thread_id="sess-1",
        agent_id="mila",
        created_at=NOW,
        confidence=0.9,
        tags=["plan", "action"],
        conflict_flags=["says otherwise"],
        loop_flag=True,
        provenance=Provenance(model="gpt-x", model_version="v1", prompt="tell <EMAIL>", source="import:json"),
        feedback=[{"rating": 4, "comment": "good, <EMAIL>"}],
    )


async def test_a_second_import_changes_no_row_and_no_time(storage, importing, list_source, dump):
    given = rows(
        *(MemoryRecord(text=f"Fact {n}", created_at=NOW) for n in range(3)),
        MemoryRecord(text="Said once", type="turn", thread_id="t", position=4),
        turn("r1", "Hello", thread="t", intent="greeting"),
        turn("r2", "Hello again", thread="t"),
        item("one", {"text": "a note"}),
        item("two", {"text": "another"}, ttl_minutes=10),
    )
    first = await importing(list_source(given))
    assert first.new == {"user_fact": 3, "turn": 1, "log_turn": 2, "store_item": 2}
    before = await dump()
    second = await importing(list_source(given))
    assert second.there == first.new
    assert not second.new
    assert await dump() == before


async def test_what_changed_since_stays_as_it_is_now(storage, importing, list_source, dump):
    record = MemoryRecord(text="Lives in Oslo", type="user_fact", created_at=NOW)
    await importing(list_source(rows(record)))
    await storage.memories.add_feedback("ann", record.entry_id, {"rating": 1})
    await storage.memories.save("ann", [record.model_copy(update={"text": "Lives in Bergen now"})])
    before = await dump()
    report = await importing(list_source(rows(record)))
    assert report.there == {"user_fact": 1}
    assert await dump() == before


@pytest.mark.slow
async def test_equal_facts_stay_as_many_as_the_source_has(storage, importing, list_source):
    records = [MemoryRecord(text="Likes tea", created_at=NOW) for _ in range(CHUNK + 3)]
    report = await importing(list_source(rows(*records)))
    assert report.new == {"user_fact": CHUNK + 3}
    stored = await storage.memories.latest("ann", limit=1000)
    assert {record.entry_id for record in stored} == {record.entry_id for record in records}


async def test_validity_of_superseded_facts_is_kept(storage, importing, list_source):
    old = MemoryRecord(
        text="Lived in Oslo", created_at=NOW, valid_from=NOW, valid_to=NOW + timedelta(days=3), importance=9
    )
    await importing(list_source(rows(old)))
    stored = await storage.memories.get("ann", old.entry_id)
    assert (stored.valid_from, stored.valid_to, stored.importance) == (old.valid_from, old.valid_to, 9)
    assert await storage.memories.latest("ann") == []


async def test_turns_go_to_the_conversation_log_however_long(storage, importing, list_source):
    said = "word " * MAX_MEMORY_CHARS
    await importing(list_source(rows(turn("r1", said, at=NOW, intent="about ann@example.com", locale="vi"))))
    [logged] = await storage.log.read("ann")
    assert (logged.input_text, logged.started_at) == (said, NOW)
    assert logged.provenance.source == "import:list"
    async with storage.pool.connection() as conn:
        [session] = await (
            await conn.execute(
                "SELECT rounds, locale, started_at FROM discreet.session_record WHERE user_key = %(user_key)s",
                {"user_key": storage.background.key_of("ann")},
            )
        ).fetchall()
    assert (session["rounds"], session["locale"], session["started_at"]) == (1, "vi", NOW)


async def test_items_keep_their_times_and_are_redacted(storage, importing, list_source):
    await importing(list_source(rows(item("one", {"text": "mail ann@example.com"}))))
    found = await storage.store.aget(("notes", "ann"), "one")
    assert found.value == {"text": "mail <EMAIL>"}
    assert (found.created_at, found.updated_at) == (NOW, NOW + timedelta(days=1))


async def test_bad_rows_go_to_a_file_with_their_reason_and_the_rest_goes_in(storage, importing, file, tmp_path):
    long = "x" * (MAX_MEMORY_CHARS + 1)
    entries = [
        {"short_answer": "good", "user_id": "ann"},
        {"short_answer": long, "user_id": "ann"},
        {"short_answer": "no user"},
        {"short_answer": "bad time", "user_id": "ann", "timestamp": "yesterday"},
        {"short_answer": "bad id", "user_id": "ann", "session_id": "ann@example.com"},
        {"short_answer": "good too", "user_id": "bob"},
        ["no entry"],
    ]
    report = await importing(file(entries))
    assert report.new == {"conversation_insight": 2}
    assert report.bad.total() == 5
    assert not report.is_whole
    path = tmp_path / "bad.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    bad = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [int(row["mark"]) for row in bad] == [2, 3, 4, 5, 7]
    assert f"{MAX_MEMORY_CHARS}" in bad[0]["reason"]
    assert json.loads(bad[0]["raw"])["short_answer"] == long
    assert not any("yesterday" in reason or "example" in reason for reason in report.bad)


async def test_without_bad_rows_there_is_no_file(importing, list_source, tmp_path):
    await importing(list_source(rows(MemoryRecord(text="Likes tea"))))
    assert list(tmp_path.iterdir()) == []


async def test_a_bad_item_costs_no_other(storage, importing, list_source):
    named = StoreItem(namespace=("ann@example.com",), key="1", value={}, created_at=NOW, updated_at=NOW)
    report = await importing(list_source(rows(named, item("one", {"a": 1}), item("b@example.com", {"a": 1}))))
    assert (report.new, report.bad.total()) == ({"store_item": 1}, 2)


async def test_rows_that_name_nobody_belong_to_who_is_named_for_them(storage, importing, list_source):
    given = [
        *rows(MemoryRecord(text="Ann's"), user="ann"),
        SourceRow(mark="1", user_id=None, record=MemoryRecord(text="Hers")),
    ]
    await importing(list_source(given), user="bea")
    assert [record.text for record in await storage.memories.latest("ann")] == ["Ann's"]
    assert [record.text for record in await storage.memories.latest("bea")] == ["Hers"]


async def test_an_application_that_is_named_is_that_of_all_rows(storage, importing, list_source):
    await importing(list_source(rows(MemoryRecord(text="a", app_name="old"), turn("r1", "b"))), app_name="new")
    [memory], [logged] = await storage.memories.latest("ann"), await storage.log.read("ann")
    assert (memory.app_name, logged.app_name) == ("new", "new")


@pytest.mark.slow
async def test_who_is_erased_meanwhile_gets_nothing_more(storage, importing, list_source):
    records = [MemoryRecord(text=f"Fact {n}") for n in range(2 * CHUNK)]

    async def erase(number):
        if number == CHUNK:
            await Erasures(storage).erase("ann", Scope.everything())

    others = rows(MemoryRecord(text="Bob's"), user="bob")
    report = await importing(list_source([*rows(*records), *others], then=erase))
    assert report.erased == CHUNK
    assert report.new == {"user_fact": CHUNK + 1}
    assert await storage.memories.latest("ann") == []
    assert len(await storage.memories.latest("bob")) == 1


@pytest.mark.slow
async def test_more_than_one_may_have_are_bad_rows_and_nothing_goes_for_them(
    storage, importing, list_source, dump, tmp_path
):
    await storage.memory_settings.change({"max_memories_per_user": 100}, by="test")
    await storage.memories.save("ann", [MemoryRecord(text="Of the application", importance=1)])
    records = [MemoryRecord(text=f"Fact {n}", created_at=NOW) for n in range(150)]
    moment = MemoryRecord(text="A moment", type="important_moment")
    source = list_source(rows(moment, *records))
    dry = await importing(source, dry_run=True)
    report = await importing(source)
    assert report.new == dry.new == {"user_fact": 98, "important_moment": 1}
    ((reason, refused),) = report.bad.items()
    assert (refused, dry.bad, report.over_limit, dry.over_limit) == (52, report.bad, 1, 1)
    assert "max_memories_per_user" in reason
    stored = await storage.memories.latest("ann", limit=1000)
    assert {"Of the application", "Fact 0", "Fact 97", "A moment"} <= {record.text for record in stored}
    before = await dump()
    (tmp_path / "bad.jsonl").unlink()
    again = await importing(source)
    assert (again.new.total(), again.there.total()) == (0, 99)
    assert await dump() == before


async def test_moments_take_the_room_of_others_as_far_as_others_must_have_some(storage, importing, list_source):
    await storage.memory_settings.change({"max_memories_per_user": 100}, by="test")
    facts = [MemoryRecord(text=f"Fact {n}", created_at=NOW) for n in range(11)]
    moments = [MemoryRecord(text=f"Moment {n}", type="important_moment", created_at=NOW) for n in range(120)]
    await storage.memories.save("ann", [MemoryRecord(text="Of the application", importance=1)])
    source = list_source(rows(*facts[:5], *moments, *facts[5:]))
    dry = await importing(source, dry_run=True)
    report = await importing(source)
    assert report.new == dry.new == {"important_moment": 120, "user_fact": 9}
    assert (report.bad, report.bad.total()) == (dry.bad, 2)
    assert "Of the application" in {record.text for record in await storage.memories.latest("ann", limit=1000)}


@pytest.mark.slow
async def test_a_dry_run_tells_what_is_refused_each_time_it_is_said(storage, importing, list_source):
    await storage.memory_settings.change({"max_memories_per_user": 100}, by="test")
    records = [MemoryRecord(text=f"Fact {n}", created_at=NOW) for n in range(CHUNK)]
    source = list_source(rows(*records, records[0], records[-1]))
    dry, report = await importing(source, dry_run=True), await importing(source)
    assert (dry.new, dry.there, dry.bad) == (report.new, report.there, report.bad)
    assert report.bad.total() == CHUNK - 100 + 1


async def test_a_file_of_bad_rows_takes_no_other_files_place(importing, list_source, tmp_path):
    (tmp_path / "bad.jsonl").write_text("somebody's", encoding="utf-8")
    with pytest.raises(ImportSourceError, match="--bad-rows"):
        await importing(list_source([BadRow(mark="1", reason="none")]))
    assert (tmp_path / "bad.jsonl").read_text(encoding="utf-8") == "somebody's"


@pytest.mark.slow
async def test_an_import_goes_on_with_its_own_file_of_bad_rows_only(importing, list_source, tmp_path):
    broken = [BadRow(mark="0", reason="none", raw=b"x"), *rows(*(MemoryRecord(text=f"{n}") for n in range(CHUNK)))]

    async def breaks(number):
        if number == CHUNK:
            raise ImportSourceError

    with pytest.raises(ImportSourceError):
        await importing(list_source(broken, then=breaks))
    (tmp_path / "bad.jsonl").unlink()
    with pytest.raises(ImportSourceError, match="--bad-rows"):
        await importing(list_source(broken), resume=True)
    assert not (tmp_path / "bad.jsonl").exists()


@pytest.mark.slow
async def test_an_import_that_is_gone_on_with_cuts_no_other_file(importing, list_source, tmp_path):
    broken = [BadRow(mark="0", reason="none", raw=b"x"), *rows(*(MemoryRecord(text=f"{n}") for n in range(CHUNK)))]

    async def breaks(number):
        if number == CHUNK:
            raise ImportSourceError

    with pytest.raises(ImportSourceError):
        await importing(list_source(broken, then=breaks))
    other = tmp_path / "other.txt"
    other.write_text("somebody's " * 100, encoding="utf-8")
    with pytest.raises(ImportSourceError, match="--bad-rows"):
        await importing(list_source(broken), resume=True, bad_rows=BadRowsFile(other))
    assert other.read_text(encoding="utf-8") == "somebody's " * 100


async def test_bad_rows_of_a_chunk_that_was_not_settled_are_there_once(importing, list_source, tmp_path):
    given = [BadRow(mark="0", reason="none", raw=b"x"), *rows(MemoryRecord(text="a"))]
    await importing(list_source(given), progress=Unforgetting(tmp_path / "progress.json"))
    begun = ProgressFile(tmp_path / "progress.json")
    at = begun.read()
    at.mark, at.bad_size = None, 0  # as it is while the first rows are written
    begun.write(at)
    await importing(list_source(given), resume=True)
    assert len((tmp_path / "bad.jsonl").read_text(encoding="utf-8").splitlines()) == 1


async def test_what_is_refused_can_be_found_and_mended(importing, list_source, tmp_path):
    await importing(list_source(rows(MemoryRecord(text="x", thread_id="ann@example.com"))))
    ((line),) = (tmp_path / "bad.jsonl").read_text(encoding="utf-8").splitlines()
    raw = json.loads(json.loads(line)["raw"])
    assert (raw["user_id"], raw["text"], raw["thread_id"]) == ("ann", "x", "ann@example.com")


async def test_a_dry_run_knows_equal_rows_however_far_apart(importing, list_source):
    said = [MemoryRecord(text="Said twice"), item("one", {"a": 1})]
    between = [MemoryRecord(text=f"Fact {n}") for n in range(CHUNK)]
    report = await importing(list_source(rows(*said, *between, *said)), dry_run=True)
    assert (report.new.total(), report.there) == (CHUNK + 2, {"user_fact": 1, "store_item": 1})


def test_an_import_runs_once_at_a_time(tmp_path):
    running, second = (ProgressFile(tmp_path / "p.json") for _ in range(2))
    with running.held(), pytest.raises(ImportSourceError, match="already"), second.held():
        pass
    with ProgressFile(tmp_path / "p.json").held():
        pass


async def test_a_dry_run_counts_and_stores_nothing(storage, importing, list_source, dump, tmp_path):
    known = MemoryRecord(text="Known")
    await importing(list_source(rows(known)))
    before = await dump()
    shown = []
    given = rows(known, MemoryRecord(text="New"), turn("r1", "Hi"), item("one", {"a": 1}))
    report = await importing(list_source(given), dry_run=True, sample=shown.append)
    assert report.there == {"user_fact": 1}
    assert report.new == {"user_fact": 1, "log_turn": 1, "store_item": 1}
    assert len(shown) == 3
    assert await dump() == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
async def test_a_source_that_breaks_leaves_what_was_written_and_is_gone_on_with(storage, importing, list_source):
    records = [MemoryRecord(text=f"Fact {n}") for n in range(CHUNK + 50)]

    async def fail(number):
        if number == CHUNK + 20:
            raise ImportSourceError("It broke.")

    with pytest.raises(ImportSourceError, match="broke"):
        await importing(list_source(rows(*records), then=fail))
    assert len(await storage.memories.latest("ann", limit=1000)) == CHUNK + 20
    seen = []

    async def see(number):
        seen.append(number)

    report = await importing(list_source(rows(*records), then=see), resume=True)
    assert report.new == {"user_fact": CHUNK + 50}
    assert len(await storage.memories.latest("ann", limit=1000)) == CHUNK + 50


@pytest.mark.slow
async def test_who_was_erased_before_an_import_is_gone_on_with_gets_nothing_more(storage, importing, list_source):
    records = [MemoryRecord(text=f"Fact {n}") for n in range(CHUNK + 50)]

    async def fail(number):
        if number == CHUNK:
            raise ImportSourceError("It broke.")

    with pytest.raises(ImportSourceError):
        await importing(list_source(rows(*records), then=fail))
    await Erasures(storage).erase("ann", Scope.everything())
    report = await importing(list_source(rows(*records)), resume=True)
    assert report.erased == 50


async def test_what_was_imported_is_found(storage, importing, list_source):
    records = [MemoryRecord(text=text) for text in ("Keeps two African Grey parrots", "Works at a bank", "Plays chess")]
    await importing(list_source(rows(*records)))
    [best, *_] = await storage.memories.search("ann", "grey parrots")
    assert best.record.entry_id == records[0].entry_id


async def test_ids_that_are_none_become_the_same_ids_again(importing, storage, file):
    await importing(file([{"entry_id": "id-001", "user_id": "ann", "short_answer": "one"}]))
    [stored] = await storage.memories.latest("ann")
    report = await importing(file([{"entry_id": "id-001", "user_id": "ann", "short_answer": "one, again"}]))
    assert report.there == {"conversation_insight": 1}
    assert isinstance(stored.entry_id, UUID)


@pytest.mark.slow
async def test_a_database_that_fails_is_told_as_such_and_what_was_written_stays(storage, importing, list_source):
    records = [MemoryRecord(text=f"Fact {n}") for n in range(CHUNK + 50)]

    async def fail(number):
        if number == CHUNK:
            async with storage.works_pool.connection() as conn:
                await conn.execute("ALTER TABLE discreet.memory RENAME TO away")

    with pytest.raises(StorageError):
        await importing(list_source(rows(*records), then=fail))
    async with storage.works_pool.connection() as conn:
        await conn.execute("ALTER TABLE discreet.away RENAME TO memory")
    report = await importing(list_source(rows(*records)), resume=True)
    assert report.new == {"user_fact": CHUNK + 50}
