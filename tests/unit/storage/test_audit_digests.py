"""Digests of the audit trail: of no two things the same, and as the database writes what they are made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from discreet.storage.audit.digests import FIELDS, AuditKey, digest_of_heads, next_hash, seconds, written

texts = st.one_of(st.none(), st.text(max_size=8))
said = st.fixed_dictionaries({name: texts for name in FIELDS if name not in {"user_key", "success"}})
rows = st.builds(
    lambda row, key, success: {**row, "user_key": key, "success": success}, said, st.uuids(), st.booleans()
)
KEY = AuditKey(bytes(32))


@given(one=rows, other=rows)
def test_entries_that_say_something_else_have_other_digests(one, other):
    assert (KEY.of_entry(one) == KEY.of_entry(other)) == (one == other)


@given(row=rows, texts=st.lists(st.text(max_size=4), min_size=2, max_size=2))
def test_no_text_may_move_from_one_field_to_the_next(row, texts):
    moved = {**row, "action": texts[0] + texts[1], "data": ""}
    kept = {**row, "action": texts[0], "data": texts[1]}
    assert (KEY.of_entry(moved) == KEY.of_entry(kept)) == (texts[1] == "")


def test_another_key_makes_other_digests():
    assert KEY.of_beginning(UUID(int=1), 2, b"") != AuditKey(bytes([1] * 32)).of_beginning(UUID(int=1), 2, b"")
    assert KEY.of_seal(1, "0.000000", 1, b"", b"") != KEY.of_seal(2, "0.000000", 1, b"", b"")


def test_a_chain_knows_the_place_of_an_entry():
    assert len({next_hash(bytes(32), number, bytes(32)) for number in (-1, 0, 1, 2**63 - 1)}) == 4
    heads = [(UUID(int=n), n, bytes(32)) for n in (1, 2)]
    assert digest_of_heads(heads) != digest_of_heads(heads[::-1])


def test_times_and_counts_are_written_as_the_database_does():
    assert seconds(datetime(2026, 3, 1, 12, 0, 0, 7, tzinfo=UTC)) == "1772366400.000007"
    assert seconds(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=1)) == "1.000000"
    assert written({"turns": 2, "b": 1, "a": -3, "rounds": 0}) == '{"a": -3, "b": 1, "turns": 2, "rounds": 0}'
