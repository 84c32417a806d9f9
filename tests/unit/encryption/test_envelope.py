"""Data keys that lie wrapped in a file."""

import sys
from types import ModuleType

import pytest

from discreet.encryption import EnvelopeKeys, add_data_key, keys_from_settings, promote_data_key, seal, unseal
from discreet.errors import ConfigurationError, EncryptionError
from discreet.testing import InMemoryKeyWrapper


class Counting(InMemoryKeyWrapper):
    asked = 0

    def unwrap(self, wrapped):
        self.asked += 1
        return super().unwrap(wrapped)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data_keys"


def test_a_key_is_unwrapped_once_and_no_value_asks_the_service(path):
    wrapper = Counting()
    add_data_key(path, wrapper)
    keys = EnvelopeKeys(path, wrapper)
    for _ in range(5):
        assert unseal(seal(b"plaintext", b"", keys), b"", keys) == b"plaintext"
    assert wrapper.asked == 1
    add_data_key(path, wrapper)
    keys.reload()
    assert wrapper.asked == 2


def test_a_rotation_in_two_steps_leaves_no_process_without_a_key(path):
    wrapper = InMemoryKeyWrapper()
    first = add_data_key(path, wrapper)
    here, there = EnvelopeKeys(path, wrapper), EnvelopeKeys(path, wrapper)
    second = add_data_key(path, wrapper)
    here.reload()
    assert here.current().id == first
    there.reload()
    promote_data_key(path, second)
    here.reload()
    assert here.current().id == second
    assert unseal(seal(b"plaintext", b"", here), b"", there) == b"plaintext"


def test_the_file_is_for_its_owner_and_holds_no_key(path):
    wrapper = InMemoryKeyWrapper()
    key_id = add_data_key(path, wrapper)
    secret = EnvelopeKeys(path, wrapper).find(key_id).secret
    assert path.stat().st_mode & 0o777 == 0o600
    assert secret not in path.read_bytes()
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_another_service_opens_nothing_and_what_was_known_stays(path):
    wrapper = InMemoryKeyWrapper()
    add_data_key(path, wrapper)
    with pytest.raises(EncryptionError):
        EnvelopeKeys(path, InMemoryKeyWrapper())
    keys = EnvelopeKeys(path, wrapper)
    current = keys.current()
    path.write_text("k1:bm9uZQ==\n")
    with pytest.raises(EncryptionError):
        keys.reload()
    assert keys.current() == current


@pytest.mark.parametrize("written", ["", "no colon", "k1:not base64!"])
def test_a_file_without_wrapped_keys_is_refused(path, written):
    path.write_text(written)
    with pytest.raises(ConfigurationError):
        EnvelopeKeys(path, InMemoryKeyWrapper())


def test_an_unknown_key_is_not_promoted(path):
    add_data_key(path, InMemoryKeyWrapper())
    with pytest.raises(ConfigurationError, match="unknown"):
        promote_data_key(path, "unknown")


def test_the_setting_names_a_function_that_is_called_once(path, monkeypatch):
    wrapper = Counting()
    add_data_key(path, wrapper)
    module = ModuleType("keys_of_a_cloud")
    module.provide = lambda: EnvelopeKeys(path, wrapper)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setenv("DISCREET_KEY_PROVIDER", "keys_of_a_cloud:provide")
    assert keys_from_settings() is keys_from_settings()
    assert wrapper.asked == 1


@pytest.mark.parametrize("name", ["no_module_of_this_name:provide", "os:nothing", "os"])
def test_a_function_that_can_not_be_called_is_refused(monkeypatch, name):
    monkeypatch.setenv("DISCREET_KEY_PROVIDER", name)
    with pytest.raises(ConfigurationError, match="module:function"):
        keys_from_settings()
