import pytest
from langgraph.store.memory import InMemoryStore

from discreet.errors import InvalidRecordError
from discreet.storage.store.redacting_store import RedactingStore

SPACE = ("notes", "user-7")
PHONE = "+12125550147"


@pytest.fixture
def inner():
    return InMemoryStore()


@pytest.fixture
def store(inner):
    return RedactingStore(inner)


def test_values_are_redacted_at_any_depth_and_in_keys_of_dicts(store, inner):
    store.put(SPACE, "1", {"to": ["ann@example.com", {"bob@example.com": 7}], "n": 7, "ok": True, "none": None})
    assert inner.get(SPACE, "1").value == {"to": ["<EMAIL>", {"<EMAIL>": 7}], "n": 7, "ok": True, "none": None}


async def test_the_async_face_redacts_too(store, inner):
    await store.aput(SPACE, "1", {"text": "call +1 212 555 0147"})
    assert inner.get(SPACE, "1").value == {"text": "call <PHONE>"}


def test_a_filter_is_redacted_as_the_value_was(store):
    store.put(SPACE, "1", {"mail": "ann@example.com"})
    assert [item.key for item in store.search(SPACE, filter={"mail": "ann@example.com"})] == ["1"]


@pytest.mark.parametrize(("space", "key"), [(("notes", PHONE), "1"), (SPACE, PHONE)])
def test_namespaces_and_keys_must_be_opaque(store, inner, space, key):
    for call in (lambda: store.put(space, key, {"x": 1}), lambda: store.get(space, key)):
        with pytest.raises(InvalidRecordError) as caught:
            call()
        assert PHONE not in str(caught.value)
    assert inner.list_namespaces() == []


def test_one_refused_operation_writes_nothing_of_its_batch(store, inner):
    from langgraph.store.base import PutOp

    with pytest.raises(InvalidRecordError):
        store.batch([PutOp(SPACE, "1", {"x": 1}), PutOp(("ann@example.com",), "2", {"x": 1})])
    assert inner.list_namespaces() == []


def test_deleting_and_listing_work_as_ever(store):
    store.put(SPACE, "1", {"x": 1})
    assert store.list_namespaces() == [SPACE]
    store.delete(SPACE, "1")
    assert store.get(SPACE, "1") is None


def test_expiry_is_the_inner_stores(store, inner):
    assert store.supports_ttl is inner.supports_ttl
    assert store.ttl_config is inner.ttl_config
