"""How values of turns are sealed and found again."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ConfigurationError
from discreet.storage.vault.values import VaultValues
from discreet.testing import InMemoryKeys

TEXTS = st.text(st.characters(exclude_categories=()), max_size=30)


@given(TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=5))
def test_what_is_sealed_is_opened_in_its_turn_and_in_no_other(turn, values):
    sealing = VaultValues(InMemoryKeys())
    rows = sealing.sealed(turn, values)
    assert sealing.opened(turn, rows) == values
    assert sealing.opened(turn + "x", rows) == {}
    assert [len(sealed) for _, sealed in rows] == sorted(len(sealed) for _, sealed in rows)


@given(TEXTS, TEXTS, TEXTS)
def test_a_name_is_known_by_another_digest_in_each_turn(turn, name, other):
    sealing = VaultValues(InMemoryKeys())
    [(here, first)] = sealing.sealed(turn, {name: "x"})
    [(again, second)] = sealing.sealed(turn, {name: "x"})
    [(there, _)] = sealing.sealed(other, {name: "x"})
    assert here == again
    assert first != second
    assert (here == there) == (turn == other)


@pytest.mark.parametrize("change", [lambda s: s[:-1], lambda s: b"", lambda s: s[:-1] + bytes([s[-1] ^ 1])])
def test_what_was_changed_is_lost_and_counted(change, caplog):
    sealing = VaultValues(InMemoryKeys())
    rows = sealing.sealed("1", {"a": "ann", "b": "bob"})
    changed = [(rows[0][0], change(rows[0][1])), rows[1]]
    with caplog.at_level(logging.WARNING):
        assert len(sealing.opened("1", changed)) == 1
    assert "turn_vault_unreadable values=1" in caplog.text


def test_a_value_under_another_name_is_lost():
    sealing = VaultValues(InMemoryKeys())
    (first, sealed), (second, _) = sealing.sealed("1", {"a": "ann", "b": "bob"})
    assert sealing.opened("1", [(second, sealed)]) == {}
    assert set(sealing.opened("1", [(first, sealed)]).values()) == {"ann"}


def test_without_keys_nothing_is_kept_readable_instead():
    with pytest.raises(ConfigurationError, match="discreet key"):
        VaultValues(None)
