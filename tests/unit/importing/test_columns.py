"""Tables are read as people write them."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

import pytest

from discreet.errors import ImportSourceError
from discreet.importing.source import BadRow, SourceRow
from discreet.importing.sources.columns import open_csv, open_jsonl, read_map
from discreet.importing.sources.json_store import open_json
from discreet.importing.sources.mem0 import open_mem0
from discreet.redaction.placeholder_key import default_key, make_placeholder_key


def read(source, after=None):
    async def rows():
        return [row async for row in source.rows(after=after)]

    return asyncio.run(rows())


@pytest.fixture
def csv_of(tmp_path):
    def write(content, encoding="utf-8", **options):
        path = tmp_path / "facts.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return open_csv(str(path), columns=options.pop("columns", {}), **options)

    return write


def records(rows):
    assert all(isinstance(row, SourceRow) for row in rows), [row.reason for row in rows if isinstance(row, BadRow)]
    return [row.record for row in rows]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_out(csv_of, delimiter):
    content = (
        delimiter.join(["text", "user_id", "importance"]) + "\n" + delimiter.join(['"Likes, tea; a|b"', "ann", "7"])
    )
    [row] = read(csv_of(content))
    assert (row.user_id, row.record.text, row.record.importance) == ("ann", "Likes, tea; a|b", 7)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_marks_of_encodings_are_no_part_of_the_first_column(csv_of, encoding):
    [record] = records(read(csv_of("text,user_id\nThích trà,ann\n", encoding)))
    assert record.text == "Thích trà"


def test_quoted_cells_may_have_newlines_and_quotes(csv_of):
    [record] = records(read(csv_of('text,tags\n"one\r\n""two""","a;b, c"\n')))
    assert (record.text, record.tags) == ('one\r\n"two"', ["a", "b", "c"])


def test_all_fields_can_be_columns(csv_of):
    header = "entry_id,text,type,created_at,valid_to,importance,confidence,loop_flag,tags,feedback,provenance,position,thread_id"
    cells = '7,Hi,turn,2026-01-02T03:04:05.678901+02:00,1700000000,7.0,0.5,true,"[""a,b""]","[{""rating"": 1}]",crm,3,t'
    [record] = records(read(csv_of(f"{header}\n{cells}\n")))
    assert record.created_at == datetime(2026, 1, 2, 1, 4, 5, 678901, tzinfo=UTC)
    assert record.valid_to == datetime.fromtimestamp(1_700_000_000, UTC)
    assert (record.type, record.importance, record.confidence, record.loop_flag) == ("turn", 7, 0.5, True)
    assert (record.tags, record.feedback, record.provenance.source) == (["a,b"], [{"rating": 1}], "crm")


def test_empty_cells_are_what_a_record_has_by_default(csv_of):
    [record] = records(read(csv_of("text,importance,tags,created_at,thread_id\nHi,,,,\n")))
    assert (record.importance, record.tags, record.thread_id) == (5, [], None)


def test_rows_that_cannot_be_are_told_apart(csv_of):
    content = b"text,importance\nok,5\ntoo,many,cells\n\xff\xfe,5\nhigh,11\nnone,many\n,5\n\nok too,1\n"
    rows = read(csv_of(content))
    assert [type(row).__name__ for row in rows] == ["SourceRow", *["BadRow"] * 5, "SourceRow"]
    assert [row.mark for row in rows] == sorted(row.mark for row in rows)
    assert "3 cells" in rows[1].reason
    assert "UTF-8" in rows[2].reason
    assert all("many" not in row.reason for row in rows if isinstance(row, BadRow))


def test_reading_goes_on_after_a_mark(csv_of):
    source = csv_of("text\none\ntwo\nthree\n")
    rows = read(source)
    assert [record.text for record in records(read(source, after=rows[0].mark))] == ["two", "three"]


def test_a_row_without_an_id_has_the_same_one_wherever_it_stands(csv_of):
    one, two = records(read(csv_of("text\none\ntwo\n")))
    again = records(read(csv_of("text\ntwo\none\n")))
    assert {one.entry_id, two.entry_id} == {record.entry_id for record in again}


@pytest.fixture
def other_key(monkeypatch):
    """Return what has this process use another placeholder key."""

    def use():
        monkeypatch.setenv("DISCREET_PLACEHOLDER_KEY", make_placeholder_key())
        default_key.cache_clear()

    yield use
    default_key.cache_clear()


def test_nobody_without_the_key_can_tell_a_row_by_the_id_that_is_made_of_it(csv_of, other_key, tmp_path):
    exported = tmp_path / "export.json"
    exported.write_text(json.dumps([{"user_id": "ann", "memory": "Keeps bees", "created_at": "2025-01-01T00:00:00Z"}]))

    async def exported_ids():
        async with open_mem0(str(exported)) as source:
            return [row.record.entry_id async for row in source.rows()]

    ids = []
    for _ in range(2):
        [row] = records(read(csv_of("text\nKeeps bees\n")))
        ids += [row.entry_id, *asyncio.run(exported_ids())]
        other_key()
    assert len(set(ids)) == 4


def test_a_column_that_is_mapped_has_to_be_there(csv_of):
    with pytest.raises(ImportSourceError, match="text"):
        read(csv_of("a,b\n1,2\n", columns=read_map(["text=memory"])))
    with pytest.raises(ImportSourceError, match="header"):
        read(csv_of(""))


def test_lines_of_json_have_columns_in_objects_too(tmp_path):
    path = tmp_path / "facts.jsonl"
    lines = [{"memory": "Likes tea", "metadata": {"user": "ann", "at": 1_700_000_000_000}}, [], {"metadata": {}}]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n{", encoding="utf-8")
    columns = read_map(["text=memory,user_id=metadata.user", "created_at=metadata.at"])
    rows = read(open_jsonl(str(path), columns=columns))
    assert (rows[0].user_id, rows[0].record.text) == ("ann", "Likes tea")
    assert rows[0].record.created_at == datetime.fromtimestamp(1_700_000_000, UTC)
    assert [type(row).__name__ for row in rows[1:]] == ["BadRow"] * 3
    assert rows[1].raw == b"[]\n"


def test_an_entry_that_is_no_utf8_is_bad_and_kept_as_it_was(tmp_path):
    path = tmp_path / "store.json"
    path.write_bytes(b'[{"short_answer": "caf\xe9"}, {"short_answer": "tea"}, {"short_answer": "\\ud800"}]')
    bad, good, lone = read(open_json(str(path)))
    assert (type(bad), bad.raw) == (BadRow, b'{"short_answer": "caf\xe9"}')
    assert good.record.text == "tea"
    assert isinstance(lone, BadRow)
