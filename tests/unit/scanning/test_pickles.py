import os
import pickle
from collections import OrderedDict, deque
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage

from discreet.errors import ScanError
from discreet.scanning.messages import as_message
from discreet.scanning.values import Foreign
from discreet.scanning.values.pickles import Literal, read_pickle, rewrite_pickle

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=15,
)


@dataclass
class Customer:
    """A customer."""

    mail: str
    notes: list[str]


class Runs:
    """Pickled, it runs what it is told when it is loaded."""

    def __init__(self, function, *args):
        self.made = function, args

    def __reduce__(self):
        return self.made


def texts_of(value):
    """Return the texts of a pickle with their places."""
    stack, found = [value], {}
    while stack:
        each = stack.pop()
        if isinstance(each, Literal):
            found[str(each)] = each.at
        elif isinstance(each, dict):
            stack += [*each, *each.values()]
        elif isinstance(each, list):
            stack += each
        elif isinstance(each, Foreign):
            stack.append(each.arg)
    return found


@given(PLAIN, st.sampled_from(PROTOCOLS))
def test_plain_data_is_read(value, protocol):
    assert read_pickle(pickle.dumps(value, protocol=protocol)).value == value


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_texts_are_replaced_and_the_rest_stays(protocol):
    value = {"of": Customer("ann@example.com", ["a", "bob@example.com"]), "at": datetime(2026, 1, 2, tzinfo=UTC)}
    value["more"] = [OrderedDict(a=deque([b"\x00\xff", 1.5, 10**30])), (1, 2, 3, 4), {"x"}, frozenset({None})]
    pickled = read_pickle(pickle.dumps(value, protocol=protocol))
    places = texts_of(pickled.value)
    made = rewrite_pickle(pickled, {places["ann@example.com"]: "<EMAIL>"}, {})
    value["of"] = Customer("<EMAIL>", ["a", "bob@example.com"])
    assert pickle.loads(made) == value


def test_names_of_classes_stay():
    pickled = read_pickle(pickle.dumps(Customer("a", []), protocol=4))
    places = dict.fromkeys(pickled.names, "changed")
    assert pickled.names
    assert pickle.loads(rewrite_pickle(pickled, places, {})) == Customer("a", [])


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("function", [os.system, eval, exec, __import__, getattr], ids=lambda each: each.__name__)
def test_what_would_run_code_is_told_and_not_run(function, protocol, tmp_path):
    data = pickle.dumps([Runs(function, f"touch {tmp_path / 'ran'}")], protocol=protocol)
    assert read_pickle(data).would_run
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [Customer("a", []), datetime(2026, 1, 2, tzinfo=UTC), HumanMessage("hi"), [1, {"a"}]])
def test_what_only_makes_objects_is_not_told(value):
    assert not read_pickle(pickle.dumps(value)).would_run


def test_a_message_is_known():
    pickled = read_pickle(pickle.dumps(HumanMessage("hi", id="1")))
    message = as_message(pickled.value)
    assert message is not None
    assert (message.kind, message.fields["content"]) == ("user messages", "hi")


def test_what_refers_to_itself_is_read():
    value: list[object] = ["a"]
    value.append(value)
    assert read_pickle(pickle.dumps(value)).value[1][1][0] == "a"


@given(st.binary(max_size=60))
def test_bytes_that_are_no_pickle_are_told(data):
    with suppress(ScanError):  # and nothing else is raised
        read_pickle(b"\x80\x04" + data)


@given(st.integers(2, 200))
def test_a_pickle_cut_short_is_told(length):
    data = pickle.dumps({"of": [Customer("ann@example.com", ["a"] * 20)] * 3})
    if length < len(data):
        with pytest.raises(ScanError):
            read_pickle(data[:length])
