"""Items of the store: what it refuses is refused before Aegra sees it, and told nowhere."""

import pytest
from kit.search import Words, search

pytestmark = pytest.mark.asyncio(loop_scope="session")

REQUESTS = [
    ("PUT", "/store/items", "namespace"),
    ("DELETE", "/store/items", "namespace"),
    ("POST", "/store/items/search", "namespace_prefix"),
    ("POST", "/store/namespaces", "prefix"),
    ("POST", "/store/namespaces", "suffix"),
]


@pytest.mark.parametrize("request_of", REQUESTS, ids=" ".join)
async def test_labels_that_the_store_refuses_are_told_by_422_and_not_logged(server, ann, token, request_of):
    method, path, field = request_of
    for labels in ([f"my {token}.x"], [token, ""], [f"{token}\x00"], [token] * 200):
        refused = await ann.request(method, path, json={field: labels, "key": "k", "value": {"a": 1}})
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "request_invalid")
        assert token not in refused.text
    assert search(server.everything(), Words(word=token)).leaks == {}


@pytest.mark.parametrize("key", ["", "a.b", "k" * 500])
async def test_any_key_that_tells_nothing_is_a_key(ann, token, key):
    item = {"namespace": ["notes", token], "key": key, "value": {"a": 1}}
    assert (await ann.put("/store/items", json=item)).status_code == 204
    found = (await ann.post("/store/items/search", json={"namespace_prefix": ["notes", token]})).json()["items"]
    assert [each["key"] for each in found] == [key]
