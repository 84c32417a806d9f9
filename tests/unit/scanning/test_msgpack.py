import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Interrupt, Send

from discreet.errors import ScanError
from discreet.scanning.values import Foreign, Opaque, array_with, decode, decode_typed, encode, is_array, texts_of_array
from discreet.scanning.values.msgpack import MAX_NESTED, pack, unpack

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.binary() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(0, 9), inner),
    max_leaves=20,
)


def stored(value):
    return JsonPlusSerializer().dumps_typed(value)[1]


@pytest.mark.slow
@given(PLAIN)
def test_plain_data_comes_back(value):
    assert unpack(pack(value)) == value


@pytest.mark.parametrize(
    "value",
    [
        HumanMessage("hi", id="1"),
        [AIMessage("", tool_calls=[])],
        Send("node", {"a": 1}),
        Interrupt("why", id="i"),
        {1, 2},
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_langgraph_wrote_comes_back_byte_for_byte(value):
    assert pack(unpack(stored(value))) == stored(value)


def test_an_object_is_its_name_and_parts():
    found = unpack(stored(HumanMessage("hi", id="1")))
    assert isinstance(found, Foreign)
    assert (found.name, found.kind) == ("langchain_core.messages.human.HumanMessage", "HumanMessage")
    assert found.arg["content"] == "hi"


def test_extensions_that_nobody_knows_are_opaque_and_stay():
    data = ormsgpack.packb(ormsgpack.Ext(99, b"\x01"))
    assert unpack(data) == Opaque(b"\x01", 99)
    assert pack(unpack(data)) == data


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\xdd\xff\xff\xff\xff", b"\xa5ab"])
def test_what_is_no_msgpack_is_told(data):
    with pytest.raises(ScanError, match="no whole msgpack"):
        unpack(data)


def test_what_is_nested_too_deep_is_told():
    data = ormsgpack.packb({})
    for _ in range(MAX_NESTED + 1):
        data = ormsgpack.packb(ormsgpack.Ext(7, data))
    for deep in (data, b"\x91" * 100_000 + b"\xc0"):
        with pytest.raises(ScanError):
            unpack(deep)


def test_texts_of_arrays_are_read_and_replaced():
    import numpy as np

    array = unpack(stored(np.array(["ann@example.com", "b"])))
    assert is_array(array)
    assert texts_of_array(array) == ["ann@example.com", "b"]
    made = array_with(array, lambda text: "<EMAIL>" if "@" in text else text)
    back = JsonPlusSerializer().loads_typed(("msgpack", pack(made)))
    assert back.tolist() == ["<EMAIL>", "b"]
    assert texts_of_array(unpack(stored(np.arange(3)))) == []


@pytest.mark.parametrize(
    ("data", "form"),
    [
        ("plain", "text"),
        ('{"a": 1}', "json"),
        ("{no json", "text"),
        (b'["a"]', "json"),
        (b"text", "text"),
        (ormsgpack.packb(["\x80", 200]), "msgpack"),
        (b"\xff\xfe\x00", "bytes"),
        (b"\x80\x04N.", "pickle"),
    ],
)
def test_what_nobody_names_the_kind_of_is_known_by_itself(data, form):
    assert decode(data).form == form


@pytest.mark.parametrize(
    ("kind", "form"), [("msgpack+aes", "sealed"), ("null", "null"), ("empty", "null"), ("bytes", "bytes")]
)
def test_what_a_serializer_names_is_that(kind, form):
    assert decode_typed(kind, b"\xff\x00").form == form


@pytest.mark.parametrize("number", ["1e400000", "9" * 10_000, "1.10", "-0.0", "19.990000000000000001", "1E5"])
def test_numbers_of_json_stay_as_they_are_written(number):
    text = f'{{"a": [{number}], "b": "text"}}'
    assert encode(decode(text)) == text.encode()


def test_a_key_that_is_there_twice_hides_nothing():
    value = decode('{"a": "first", "b": 1, "a": "second"}').value
    assert value["a"] == "second"
    assert "first" in value.values()
