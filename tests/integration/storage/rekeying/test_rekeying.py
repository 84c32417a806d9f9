"""Everything comes under the newest key while everybody works, and nothing is lost on the way."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import psycopg
import pytest
from testkit.sealed import WORD, cells, fill, holds, say, told

from discreet.encryption import Keyring, key_header, key_id_of, make_key, seal
from discreet.errors import EncryptionError
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.database.sealed_columns import MEMORY_TEXT, SEALED_TABLES
from discreet.storage.rekeying import Rekeying, rekeying
from discreet.storage.rekeying.statements import inspect, look
from discreet.testing import InMemoryAuditLog, InMemoryKeys, StubEmbeddings

WRITERS = 16


def opened(dsn, keys):
    return open_storage(dsn, embeddings=StubEmbeddings(dims=16), keys=keys)


def key_ids(dsn):
    """Return the ids of the keys that values lie under."""
    return {key_id_of(cell.value[: 2 + cell.value[1]]) for cell in cells(dsn)}


def each_table(rows):
    return {table.name: rows for table in SEALED_TABLES}


@pytest.mark.slow
@pytest.mark.dialect
async def test_what_is_plain_is_sealed_and_reads_as_before(database):
    async with opened(database, None) as storage:
        await fill(storage, None, "ann")
        before = await told(storage, "ann")
    assert cells(database) == []
    keys, audit = InMemoryKeys(), InMemoryAuditLog()
    async with opened(database, keys) as storage:
        rekeying = Rekeying(storage.works_pool, keys=keys, audit=audit)
        assert await rekeying.left(seal_plain=True) == each_table(1)
        came = await rekeying.run(seal_plain=True)
        assert (came.rows, came.sealed, came.finished) == (each_table(1), each_table(1), True)
        assert (came.lost, came.plain) == (each_table(0), each_table(0))
        assert await rekeying.left(seal_plain=True) == each_table(0)
        assert await told(storage, "ann") == before
    assert not holds(database)
    [entry] = audit.entries
    counts = {"rows": len(SEALED_TABLES), "lost": 0, "sealed": len(SEALED_TABLES), "plain": 0}
    assert (entry.action, entry.success, entry.counts) == ("key.rotate", True, counts)


async def test_what_is_plain_stays_so_where_nobody_vouches_for_it(database):
    keys, audit = InMemoryKeys(), InMemoryAuditLog()
    async with opened(database, None) as storage:
        await fill(storage, None, "ann")
    async with opened(database, keys) as storage:
        await fill(storage, keys, "bob")
        keys.rotate()
        rekeying = Rekeying(storage.works_pool, keys=keys, audit=audit)
        assert await rekeying.left() == each_table(1)
        came = await rekeying.run()
        assert (came.rows, came.sealed, came.finished) == (each_table(1), each_table(0), True)
        assert (came.lost, came.plain) == (each_table(0), each_table(1))
        assert await storage.memories.latest("ann") == []
    assert len(cells(database)) == sum(len(table.columns) for table in SEALED_TABLES)
    [entry] = audit.entries
    assert entry.counts == {"rows": len(SEALED_TABLES), "lost": 0, "sealed": 0, "plain": len(SEALED_TABLES)}


async def test_of_a_row_that_moves_a_value_that_somebody_put_there_stays_plain(database):
    old, new = make_key(), make_key()
    async with opened(database, Keyring([old])) as storage:
        await fill(storage, Keyring([old]), "ann")
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE discreet.conversation_log SET output_text = 'an owlbear', sealed_output = NULL")
    async with opened(database, Keyring([new, old])) as storage:
        came = await Rekeying(storage.works_pool, keys=Keyring([new, old])).run()
        assert (came.rows["conversation_log"], came.plain["conversation_log"]) == (1, 1)
        assert sum(came.sealed.values()) == 0
    with psycopg.connect(database) as connection:
        asked = "SELECT output_text, sealed_output, sealed_input IS NOT NULL FROM discreet.conversation_log"
        assert connection.execute(asked).fetchall() == [("an owlbear", None, True)]


@pytest.mark.slow
async def test_after_a_rotation_the_old_key_can_go(database):
    keys = InMemoryKeys()
    old = keys.current().id
    async with opened(database, keys) as storage:
        await fill(storage, keys, "ann")
        before = await told(storage, "ann")
        new = keys.rotate()
        await Rekeying(storage.works_pool, keys=keys).run()
        assert key_ids(database) == {new.id}
        keys.forget(old)
        assert await told(storage, "ann") == before
        assert WORD in str(before)


@pytest.mark.slow
async def test_rotation_while_sixteen_write_loses_nothing(database):
    """The writers rotate in their midst too: what they had sealed before is moved as well."""
    keys = InMemoryKeys()
    old = keys.current().id
    all_write, done = asyncio.Event(), asyncio.Event()
    written: dict[str, set[str]] = {f"user {n}": set() for n in range(WRITERS)}

    async with opened(database, keys) as storage:

        async def write(user_id):
            n = 0
            while not done.is_set() or n < 3:
                name = f"{n}"
                await fill(storage, keys, user_id, name=name)
                [entry] = await storage.memories.latest(user_id, limit=1)
                await storage.memories.add_feedback(user_id, entry.entry_id, {"said": f"again {name}"})
                written[user_id].add(name)
                n += 1
                if all(written.values()):
                    all_write.set()

        async def rotate():
            try:
                await all_write.wait()
                new = keys.rotate()
                came = await Rekeying(storage.works_pool, keys=keys).run()
                assert sum(came.rows.values()) > 0
                assert sum(came.lost.values()) == 0
                return new
            finally:
                done.set()

        new, *_ = await asyncio.gather(rotate(), *map(write, written))
        await Rekeying(storage.works_pool, keys=keys).run()
        assert key_ids(database) == {new.id}
        keys.forget(old)
        for user_id, names in written.items():
            for name in names:
                records, turns, summary, item, *_ = await told(storage, user_id, name=name)
                assert len(records) == len(names)
                assert all(len(record.feedback) == 2 and record.provenance.source == WORD for record in records)
                assert (turns[0].input_text, turns[0].provenance.source) == (f"Hi {WORD}", WORD)
                assert (summary, item) == (f"Of {WORD}", {"said": WORD})


@pytest.mark.slow
async def test_one_row_under_a_lost_key_costs_that_row_and_is_named(database, caplog):
    lost, kept, new = make_key(), make_key(), make_key()
    async with opened(database, Keyring([lost])) as storage:
        [gone] = await storage.memories.save("ann", [MemoryRecord(text=f"A {WORD} parrot")])
    async with opened(database, Keyring([kept])) as storage:
        await fill(storage, Keyring([kept]), "ann")
        before = await storage.log.read("ann")
    keys = Keyring([new, kept])
    async with opened(database, keys) as storage:
        came = await Rekeying(storage.works_pool, keys=keys).run()
        assert came.finished
        assert came.lost == {**each_table(0), "memory": 1}
        assert came.rows == each_table(1)
        [event] = [record.getMessage() for record in caplog.records if "storage.unreadable" in record.getMessage()]
        assert f"kind=memory rows=1 ids={gone.entry_id}" in event
        assert WORD not in caplog.text
        assert await storage.log.read("ann") == before
        with pytest.raises(EncryptionError):
            await storage.memories.get("ann", gone.entry_id)
    assert key_ids(database) == {lost.id, new.id}


async def test_of_a_row_with_one_value_under_a_lost_key_the_others_are_moved(database):
    keys, stranger = InMemoryKeys(), InMemoryKeys()
    async with opened(database, keys) as storage:
        await fill(storage, keys, "ann")
        [text] = [cell for cell in cells(database) if cell.column == MEMORY_TEXT]
        with psycopg.connect(database) as connection:
            connection.execute("UPDATE discreet.memory SET sealed_text = %s", [seal(b"", text.aad, stranger)])
        new = keys.rotate()
        came = await Rekeying(storage.works_pool, keys=keys).run()
    assert (came.rows["memory"], came.lost["memory"], came.finished) == (1, 1, True)
    moved = {cell.column for cell in cells(database) if cell.value.startswith(key_header(new.id))}
    assert moved == {column for table in SEALED_TABLES for column in table.columns} - {MEMORY_TEXT}


@pytest.mark.slow
async def test_a_value_that_was_moved_from_another_row_is_not_sealed_anew_for_its_new_place(database):
    """Or rekeying would make good what binding is there to prevent."""
    keys = InMemoryKeys()
    async with opened(database, keys) as storage:
        for user_id in ("ann", "bob"):
            await fill(storage, keys, user_id)
        theirs, _ = [cell for cell in cells(database) if cell.column == MEMORY_TEXT]
        with psycopg.connect(database) as connection:
            connection.execute("UPDATE discreet.memory SET sealed_text = %s", [theirs.value])
        keys.rotate()
        came = await Rekeying(storage.works_pool, keys=keys).run()
        assert came.lost["memory"] == 1
        opened_texts = [each.text for user_id in ("ann", "bob") for each in await storage.memories.latest(user_id)]
        assert len(opened_texts) == 1


@pytest.mark.slow
@pytest.mark.one_server("locks a row of whoever it is")
async def test_a_row_that_somebody_has_locked_is_not_waited_for(database, monkeypatch):
    monkeypatch.setattr(rekeying, "REST_SECONDS", 0.01)
    keys = InMemoryKeys()
    async with opened(database, keys) as storage:
        await fill(storage, keys, "ann")
        await fill(storage, keys, "bob")
        keys.rotate()
        with psycopg.connect(database) as connection:
            connection.execute("SELECT FROM discreet.memory LIMIT 1 FOR UPDATE")
            came = await Rekeying(storage.works_pool, keys=keys).run()
            assert not came.finished
            assert came.rows == {**each_table(2), "memory": 1}
        came = await Rekeying(storage.works_pool, keys=keys).run()
        assert came.finished
        assert sum(came.rows.values()) == came.rows["memory"] == 1


class Overtaken(Rekeying):
    """One that somebody overtakes, once it has read a row of memory and before it writes it."""

    dsn = ""
    value = b""

    def _resealed(self, table, user_key, rows, given):
        if table.name == "memory" and self.value:
            with psycopg.connect(self.dsn) as connection:
                connection.execute("UPDATE discreet.memory SET sealed_text = %s", [self.value])
            self.value = b""
        return super()._resealed(table, user_key, rows, given)


@pytest.mark.slow
@pytest.mark.dialect
async def test_what_somebody_wrote_meanwhile_is_not_overwritten(database):
    keys = InMemoryKeys()
    async with opened(database, keys) as storage:
        await fill(storage, keys, "ann")
        [text] = [cell for cell in cells(database) if cell.column == MEMORY_TEXT]
        overtaken = Overtaken(storage.works_pool, keys=keys)
        overtaken.dsn, overtaken.value = database, seal(b"newer", text.aad, keys)
        keys.rotate()
        came = await overtaken.run()
        assert came.finished
        [record] = await storage.memories.latest("ann")
        assert record.text == "newer"


@pytest.mark.slow
async def test_several_at_once_do_it_once(database):
    keys = InMemoryKeys()
    async with opened(database, keys) as storage:
        for n in range(5):
            await fill(storage, keys, f"user {n}")
        new = keys.rotate()
        came = await asyncio.gather(*(Rekeying(storage.works_pool, keys=keys).run() for _ in range(3)))
    assert {name: sum(each.rows[name] for each in came) for name in came[0].rows} == each_table(5)
    assert all(each.finished for each in came)
    assert key_ids(database) == {new.id}


@pytest.mark.slow
async def test_small_steps_come_to_the_same_end(database, monkeypatch):
    for name in ("LOOK_ROWS", "MOVE_ROWS"):
        monkeypatch.setattr(rekeying, name, 2)
    keys = InMemoryKeys()
    told_rows = []
    async with opened(database, keys) as storage:
        for n in range(5):
            await fill(storage, keys, "ann", name=f"{n}")
        new = keys.rotate()
        await Rekeying(storage.works_pool, keys=keys).run(told_rows.append)
    assert key_ids(database) == {new.id}
    assert told_rows == sorted(told_rows)
    assert told_rows[-1] == 5 * len(SEALED_TABLES)


@pytest.mark.slow
async def test_counts_tell_what_is_under_which_key(database):
    keys, lost = InMemoryKeys(), InMemoryKeys()
    old = keys.current().id
    async with opened(database, keys) as storage:
        await fill(storage, keys, "ann")
        await storage.memories.save("bob", [MemoryRecord(text="Likes tea")])
    async with opened(database, lost) as storage:
        await storage.memories.save("eve", [MemoryRecord(text="Likes rum")])
    async with opened(database, None) as storage:
        await storage.memories.save("dan", [MemoryRecord(text="Likes gin")])
        counts = await Rekeying(storage.works_pool, keys=keys).counts()
    found = {(count.table, count.key_id): (count.values, count.lost, count.is_known) for count in counts}
    assert found[("memory", old)] == (5, 0, True)
    assert found[("memory", lost.current().id)] == (1, 1, False)
    assert found[("memory", None)] == (1, 0, True)
    assert found[("conversation_log", old)] == (4, 0, True)


@pytest.mark.slow
async def test_counts_tell_what_a_key_of_the_same_id_does_not_open(database, monkeypatch):
    monkeypatch.setattr(rekeying, "OPEN_ROWS", 2)
    key = make_key()
    same_id = Keyring([replace(make_key(), id=key.id)])
    told_rows = []
    async with opened(database, Keyring([key])) as storage:
        for n in range(5):
            await fill(storage, Keyring([key]), "ann", name=f"{n}")
        assert not any(count.lost for count in await Rekeying(storage.works_pool, keys=Keyring([key])).counts())
        counts = await Rekeying(storage.works_pool, keys=same_id).counts(told_rows.append)
    assert {count.table: (count.key_id, count.values, count.lost) for count in counts} == {
        table.name: (key.id, 5 * len(table.columns), 5 * len(table.columns)) for table in SEALED_TABLES
    }
    assert told_rows == sorted(told_rows)
    assert told_rows[-1] == 5 * len(SEALED_TABLES)


@pytest.mark.slow
@pytest.mark.dialect
async def test_counts_tell_what_was_cut_off_or_moved(database):
    keys = InMemoryKeys()
    async with opened(database, keys) as storage:
        for user_id in ("ann", "bob", "cyd"):
            await fill(storage, keys, user_id)
        first, *others = [cell for cell in cells(database) if cell.column == MEMORY_TEXT]
        with psycopg.connect(database) as connection:
            for cell, value in zip(others, (first.value, b""), strict=True):
                connection.execute(
                    "UPDATE discreet.memory SET sealed_text = %s WHERE entry_id = %s", [value, cell.row[1]]
                )
        counts = await Rekeying(storage.works_pool, keys=keys).counts()
    lost = {(count.table, count.key_id): count.lost for count in counts if count.lost}
    assert lost == {("memory", keys.current().id): 1, ("memory", ""): 1}


async def test_what_expires_is_left_alone_and_told_of(database):
    keys = InMemoryKeys()
    async with opened(database, keys) as storage:
        await say(storage, "ann")
        assert (await Rekeying(storage.works_pool, keys=keys).run()).expiring == 0
        keys.rotate()
        came = await Rekeying(storage.works_pool, keys=keys).run()
        assert came.expiring == 2
        with psycopg.connect(database) as connection:
            (until,) = connection.execute("SELECT expires_at FROM discreet.short_term_session").fetchone()
        assert came.until == until


@pytest.mark.fast_cases(4)
@pytest.mark.one_server("reads plans, which are the nodes'")
@pytest.mark.own_database("dead rows of other tests change a plan")
@pytest.mark.parametrize("statement", [look, inspect])
@pytest.mark.parametrize("table", SEALED_TABLES, ids=lambda table: table.name)
def test_rows_are_looked_at_by_the_primary_key(database, table, statement):
    """However many there are, a step reads no more than its own."""
    with psycopg.connect(database) as connection:
        connection.execute("SET enable_seqscan = off")
        connection.execute("SET enable_sort = off")
        given = {"header": b"", "seal_plain": True, "limit": 10, "after_user": "0" * 32, "after_key": "0" * 32}
        plan = connection.execute(f"EXPLAIN (COSTS off) {statement(table)}", given).fetchall()
    assert any(f"Index Scan using {table.name}_pkey" in line for (line,) in plan), plan
