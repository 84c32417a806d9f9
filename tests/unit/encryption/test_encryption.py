import dataclasses
import doctest
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.encryption import Column, Keyring, associate, envelope, make_key, seal, sealing, unseal
from discreet.errors import ConfigurationError, EncryptionError
from discreet.ports import Key
from discreet.testing import InMemoryKeys
from discreet.testing import keys as testing_keys


@pytest.fixture
def keys():
    return InMemoryKeys()


@pytest.mark.parametrize("plaintext", [b"", b"x", bytes(100_000)])
def test_what_was_sealed_opens(keys, plaintext):
    assert unseal(seal(plaintext, b"row 1", keys), b"row 1", keys) == plaintext


def test_a_sealed_value_is_laid_out_as_documented(keys):
    sealed = seal(b"plaintext", b"", keys)
    key_id = keys.current().id.encode()
    assert sealed.startswith(bytes([1, len(key_id)]) + key_id)
    assert len(sealed) == 2 + len(key_id) + 12 + len(b"plaintext") + 16


def test_the_text_does_not_show_and_never_looks_the_same(keys, token):
    first, second = (seal(token.encode(), b"", keys) for _ in range(2))
    assert token.encode() not in first
    assert first[-30:] != second[-30:]


def test_a_value_opens_only_where_it_belongs(keys):
    sealed = seal(b"plaintext", b"row 1", keys)
    with pytest.raises(EncryptionError):
        unseal(sealed, b"row 2", keys)


def test_a_value_changed_anywhere_does_not_open(keys):
    sealed = seal(b"plaintext", b"", keys)
    for position in range(len(sealed)):
        changed = bytearray(sealed)
        changed[position] ^= 1
        with pytest.raises(EncryptionError):
            unseal(bytes(changed), b"", keys)


def test_a_value_cut_short_does_not_open(keys):
    sealed = seal(b"plaintext", b"", keys)
    for length in range(len(sealed)):
        with pytest.raises(EncryptionError):
            unseal(sealed[:length], b"", keys)


def test_another_key_of_the_same_id_does_not_open_it(keys):
    sealed = seal(b"plaintext", b"", keys)
    impostor = Key(keys.current().id, make_key().secret)
    with pytest.raises(EncryptionError):
        unseal(sealed, b"", Keyring([impostor]))


def test_after_a_rotation_old_values_open_and_new_ones_use_the_new_key(keys):
    old = keys.current()
    before = seal(b"before", b"", keys)
    new = keys.rotate()
    after = seal(b"after", b"", keys)
    assert unseal(before, b"", keys) == b"before"
    assert unseal(after, b"", Keyring([new])) == b"after"
    keys.forget(old.id)
    with pytest.raises(EncryptionError):
        unseal(before, b"", keys)


@pytest.mark.parametrize("show", [repr, str, lambda key: f"{key}"])
def test_a_key_does_not_show_its_secret(show):
    assert show(Key("k1", bytes(32))) == "Key(id='k1')"


def test_a_key_can_not_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        make_key().id = "other"


@pytest.mark.parametrize(
    ("key_id", "secret"),
    [
        ("", bytes(32)),
        ("a:b", bytes(32)),
        ("a,b", bytes(32)),
        ("é", bytes(32)),
        ("k" * 65, bytes(32)),
        ("k", bytes(31)),
    ],
)
def test_a_key_that_can_not_be_used_is_refused(key_id, secret):
    with pytest.raises(ConfigurationError):
        Key(key_id, secret)


def test_the_longest_key_id_is_stored(keys):
    ring = Keyring([Key("k" * 64, make_key().secret)])
    assert unseal(seal(b"plaintext", b"", ring), b"", ring) == b"plaintext"


def test_a_keyring_needs_a_key_and_no_id_twice():
    key = make_key()
    for keys in ([], [key, Key(key.id, make_key().secret)]):
        with pytest.raises(ConfigurationError):
            Keyring(keys)


@given(first=st.lists(st.text()), second=st.lists(st.text()))
def test_no_two_lists_of_parts_are_associated_alike(first, second):
    assert (associate(*first) == associate(*second)) == (first == second)


def test_parts_that_only_differ_by_where_they_are_split_are_told_apart():
    assert associate("ab", "c") != associate("a", "bc") != associate("abc")


NAMES = st.text(max_size=5)
PLACES = st.tuples(NAMES, NAMES, st.lists(NAMES, max_size=3))


@given(PLACES, PLACES)
def test_a_value_opens_in_its_own_table_column_and_row_alone(here, there):
    keys = InMemoryKeys()
    (table, name, row), (other_table, other_name, other_row) = here, there
    sealed = seal(b"plaintext", Column(table, name).of(*row), keys)
    other = Column(other_table, other_name).of(*other_row)
    if here == there:
        assert unseal(sealed, other, keys) == b"plaintext"
    else:
        with pytest.raises(EncryptionError):
            unseal(sealed, other, keys)


def test_a_row_may_be_told_by_uuids():
    key = UUID(int=7)
    assert Column("memory", "text").of(key, "1") == Column("memory", "text").of(str(key), "1")


@pytest.mark.parametrize("module", [sealing, envelope, testing_keys])
def test_the_examples_run(module):
    result = doctest.testmod(module)
    assert (result.failed, result.attempted > 0) == (0, True)
