"""What is planted can be redacted, and is found again."""

import base64
import json
import secrets
from urllib.parse import quote_plus

import pytest
from leak_suite.plants import KINDS, Plants

from discreet.redaction import Redactor

ENCODED = {
    "UTF-8": str.encode,
    "UTF-16": lambda text: text.encode("utf-16"),
    "hex": lambda text: text.encode().hex().encode(),
    "base64": lambda text: base64.b64encode(text.encode()),
    "base64 of JSON": lambda text: base64.b64encode(json.dumps({"a": text}).encode()),
    "a query": lambda text: quote_plus(text).encode(),
}


@pytest.fixture
def plants():
    return Plants(secrets.randbits(64))


@pytest.mark.parametrize("kind", KINDS)
def test_the_redactor_takes_every_kind_of_value(plants, kind):
    redactor = Redactor()
    for route in map(str, range(30)):
        value = plants.value("place", route, kind)
        for text in (value, f"It is {value}, thanks."):
            assert plants.within(text.encode()) == {f"place of {route}"}
            assert plants.within(redactor.redact(text).encode()) == set()


@pytest.mark.parametrize("encoding", ENCODED)
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_is_found_in_any_encoding(plants, kind, encoding):
    value = plants.value("place", "route", kind)
    assert plants.within(b"\x00 " + ENCODED[encoding](f"It is {value}.") + b" \xff") == {"place of route"}


def test_the_same_seed_gives_the_same_values(plants):
    assert Plants(plants.seed).value("place", "route") == plants.value("place", "route")
