"""Values that langmem, memory-agent and others keep in a store, as memories."""

import json
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from discreet.importing.source import BadRow
from discreet.importing.sources.langmem import open_langmem
from discreet.state.records import MAX_MEMORY_CHARS

AT = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def read_values(tmp_path, read):
    async def read_values(*values, key=None):
        items = [
            {
                "namespace": ["memories", "alice"],
                "key": key or str(uuid4()),
                "value": value,
                "created_at": AT.isoformat(),
            }
            for value in values
        ]
        path = tmp_path / "dump.json"
        path.write_text(json.dumps(items))
        async with open_langmem(str(path)) as source:
            assert source.name == "langmem"
            return await read(source)

    return read_values


@pytest.mark.parametrize(
    ("value", "text", "tags"),
    [
        ({"content": "Keeps bees"}, "Keeps bees", []),
        ({"kind": "Memory", "content": {"content": "Keeps bees"}}, "Keeps bees", []),
        ({"content": "Learns French", "context": "career in Europe"}, "Learns French\ncontext: career in Europe", []),
        ({"kind": "Profile", "content": {"name": "Ana", "age": 61, "likes": ["tea", "rain"], "job": None, "notes": []}},
         "name: Ana\nage: 61\nlikes: tea, rain", ["Profile"]),
        ({"kind": "Profile", "content": {"home": {"city": "Huế"}, "smokes": False}},
         'home: {"city": "Huế"}\nsmokes: false', ["Profile"]),
        ({"content": ["a", "b"]}, "content: a, b", []),
    ],
)  # fmt: skip
async def test_a_value_becomes_text(read_values, value, text, tags):
    (row,) = await read_values(value)
    assert (row.user_id, row.record.text, row.record.tags) == ("alice", text, tags)
    assert (row.record.created_at, row.record.valid_from) == (AT, None)


@pytest.mark.parametrize(
    "value",
    [{}, {"content": None}, {"content": "  "}, {"kind": "Profile", "content": {"name": None}}, {"content": "x" * (MAX_MEMORY_CHARS + 1)},
     {"content": "a\0b"}, {"kind": "K" * 101, "content": {"a": 1}}],
)  # fmt: skip
async def test_what_can_be_no_memory_is_a_bad_row_with_what_it_holds(read_values, token, value):
    bad, good = await read_values(value | {"kind": token} if "kind" not in value else value, {"content": "Keeps bees"})
    assert isinstance(bad, BadRow)
    assert bad.raw is not None
    assert token not in bad.reason
    assert good.record.text == "Keeps bees"


async def test_the_key_is_the_id_or_makes_it(read_values):
    key = str(uuid4())
    (row,) = await read_values({"content": "x"}, key=key)
    assert row.record.entry_id == UUID(key)
    (row,) = await read_values({"content": "x"}, key="default")
    (again,) = await read_values({"content": "y"}, key="default")
    (other,) = await read_values({"content": "x"}, key="other")
    assert row.record.entry_id == again.record.entry_id != other.record.entry_id


async def test_since_when_the_present_text_holds_is_kept(tmp_path):
    item = {"namespace": ["memories", "a"], "key": "k", "value": {"content": "x"}, "created_at": AT.isoformat()}
    path = tmp_path / "dump.json"
    path.write_text(json.dumps([item | {"updated_at": (AT + timedelta(days=3)).isoformat()}]))
    async with open_langmem(str(path)) as source:
        (row,) = [row async for row in source.rows()]
    assert (row.record.created_at, row.record.valid_from) == (AT, AT + timedelta(days=3))
