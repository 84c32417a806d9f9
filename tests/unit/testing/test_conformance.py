"""The checks for other people's adapters: ours pass, and one that breaks a rule is told which."""

import base64
import doctest
import importlib
import logging

import pytest

from discreet.encryption import EnvelopeKeys, FileKeys, Keyring, add_data_key, keys_from_settings, make_key, write_key
from discreet.errors import EncryptionError
from discreet.ports import DecliningSecretStore, KeyProvider, KeyWrapper, SecretStore, VectorStore
from discreet.state.records import MemoryFilters
from discreet.testing import (
    KEY_PROVIDER_CHECKS,
    KEY_WRAPPER_CHECKS,
    SECRET_STORE_CHECKS,
    VECTOR_STORE_CHECKS,
    ConformanceError,
    InMemoryKeys,
    InMemoryKeyWrapper,
    InMemorySecretStore,
    InMemoryVectorStore,
    check_key_provider,
    check_key_wrapper,
    check_secret_store,
    check_vector_store,
)


def name_of(check):
    return check.__name__


@pytest.mark.parametrize("check", SECRET_STORE_CHECKS, ids=name_of)
async def test_secrets_in_memory(check):
    store: SecretStore = InMemorySecretStore()
    await check(store)
    assert repr(store) == "InMemorySecretStore(0 secrets)", "a check removes what it stored"


@pytest.mark.parametrize("check", VECTOR_STORE_CHECKS, ids=name_of)
async def test_vectors_in_memory(check):
    store: VectorStore = InMemoryVectorStore(8)
    await check(store)
    assert not any(store._kept.values()), "a check removes what it stored"


def of_file(folder):
    path = folder / "keys"
    path.touch(0o600)
    path.write_text("\n".join(write_key(make_key()) for _ in range(2)))
    return path


def provider(kind, folder, monkeypatch) -> KeyProvider:
    match kind:
        case "memory":
            return InMemoryKeys()
        case "keyring":
            return Keyring([make_key(), make_key()])
        case "environment":
            monkeypatch.setenv("DISCREET_ENCRYPTION_KEYS", write_key(make_key()))
        case "file":
            monkeypatch.setenv("DISCREET_ENCRYPTION_KEYS_FILE", str(of_file(folder)))
        case "envelope":
            wrapper = InMemoryKeyWrapper()
            add_data_key(folder / "wrapped", wrapper)
            return EnvelopeKeys(folder / "wrapped", wrapper)
    return keys_from_settings()


@pytest.mark.parametrize("kind", ["memory", "keyring", "environment", "file", "envelope"])
@pytest.mark.parametrize("check", KEY_PROVIDER_CHECKS, ids=name_of)
def test_key_providers(kind, check, tmp_path, monkeypatch):
    keys = provider(kind, tmp_path, monkeypatch)
    assert isinstance(keys, FileKeys) == (kind == "file")
    check(keys)


@pytest.mark.parametrize("check", KEY_WRAPPER_CHECKS, ids=name_of)
def test_keys_wrapped_in_memory(check):
    wrapper: KeyWrapper = InMemoryKeyWrapper()
    check(wrapper)


class Unstable(InMemoryKeys):
    def current(self):
        return self.rotate()


class TakesAnyId(InMemoryKeys):
    def find(self, key_id):
        return super().find(key_id) or self.current()


class Shows(InMemoryKeys):
    def __repr__(self):
        return f"Keys({self.current().secret.hex()})"


@pytest.mark.parametrize(
    ("keys", "rule"), [(Unstable(), "stays the current"), (TakesAnyId(), "not known"), (Shows(), "does not show")]
)
def test_a_key_provider_that_breaks_a_rule_is_told_which(keys, rule):
    with pytest.raises(ConformanceError, match=rule):
        check_key_provider(keys)


class OnlyEncodes(InMemoryKeyWrapper):
    def wrap(self, secret):
        return base64.b64encode(secret)

    def unwrap(self, wrapped):
        return base64.b64decode(wrapped)


class Believes(InMemoryKeyWrapper):
    def unwrap(self, wrapped):
        try:
            return super().unwrap(wrapped)
        except EncryptionError:
            return bytes(32)


@pytest.mark.parametrize(("wrapper", "rule"), [(OnlyEncodes(), "looks different"), (Believes(), "did not return")])
def test_a_key_wrapper_that_breaks_a_rule_is_told_which(wrapper, rule):
    with pytest.raises(ConformanceError, match=rule):
        check_key_wrapper(wrapper)


class ShortIds(InMemorySecretStore):
    async def keep(self, user_id, value):
        return (await super().keep(user_id, value))[:8]


class SharesIds(InMemorySecretStore):
    async def forget(self, user_id, secret_id=None):
        if secret_id is None:
            return await super().forget(user_id)
        return sum([await super(SharesIds, self).forget(each, secret_id) for each in list(self._kept)])


class Strips(InMemorySecretStore):
    async def keep(self, user_id, value):
        return await super().keep(user_id, value.strip())


class Logs(InMemorySecretStore):
    async def keep(self, user_id, value):
        logging.getLogger("vault").debug("kept", extra={"given": value})
        return await super().keep(user_id, value)


@pytest.mark.parametrize(
    ("store", "rule"),
    [
        (DecliningSecretStore(), "The store declined"),
        (ShortIds(), "24 of A-Z and 2-7"),
        (SharesIds(), "Nobody deletes the secret of another"),
        (Strips(), "kept as it was given"),
        (Logs(), "not logged"),
    ],
)
async def test_a_secret_store_that_breaks_a_rule_is_told_which(store, rule):
    with pytest.raises(ConformanceError, match=rule):
        await check_secret_store(store)


class Raw(InMemoryVectorStore):
    async def upsert(self, user_id, record, vector):
        await super().upsert(user_id, record, vector)
        return record


class MixesApps(InMemoryVectorStore):
    async def search(self, user_id, vector, *, limit=5, filters=None):
        filters = filters and filters.model_copy(update={"app_name": None})
        return await super().search(user_id, vector, limit=limit, filters=filters)


class KeepsEnded(InMemoryVectorStore):
    async def delete_many(self, user_id, filters):
        now = len(await self.search(user_id, [1.0] * self.dims, limit=99, filters=filters))
        await super().delete_many(user_id, filters)
        return now


@pytest.mark.parametrize(
    ("store", "rule"),
    [
        (Raw(8), "redacted before it is stored"),
        (MixesApps(8), "Filters select by"),
        (KeepsEnded(8), "takes what ended too"),
    ],
)
async def test_a_vector_store_that_breaks_a_rule_is_told_which(store, rule):
    with pytest.raises(ConformanceError, match=rule):
        await check_vector_store(store)


@pytest.mark.parametrize(
    "module",
    [
        "ports.secrets",
        "retrieval.raw_vectors",
        "state.ids",
        "testing.conformance.keys",
        "testing.conformance.secret_stores",
        "testing.conformance.vector_stores",
        "testing.secrets",
        "testing.vectors",
    ],
)
def test_examples_in_docstrings_hold(module):
    outcome = doctest.testmod(importlib.import_module(f"discreet.{module}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0


async def test_no_filter_deletes_all_of_one_person():
    store = InMemoryVectorStore(8)
    assert await store.delete_many("ann", MemoryFilters()) == 0
