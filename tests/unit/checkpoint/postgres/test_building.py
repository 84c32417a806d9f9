"""Messages that are not made by their constructor, against those that are."""

import copy
import pickle

import pytest

from discreet.checkpoint.postgres.building import BUILDERS, MESSAGE_TYPES


@pytest.mark.parametrize("message_id", [None, "", "1"])
@pytest.mark.parametrize("kind", MESSAGE_TYPES)
def test_a_message_is_the_one_that_its_constructor_makes(kind, message_id):
    made = MESSAGE_TYPES[kind](content="text", id=message_id)
    built = BUILDERS[kind](message_id, "text")
    assert built == made
    assert built.__getstate__() == made.__getstate__()
    assert list(vars(built)) == list(vars(made)), "so that it is dumped alike"
    for twin in (
        copy.deepcopy(built),
        pickle.loads(pickle.dumps(built)),
        type(built).model_validate(built.model_dump()),
    ):
        assert twin == made


@pytest.mark.parametrize("kind", MESSAGE_TYPES)
def test_messages_share_nothing_that_can_change(kind):
    one, other = BUILDERS[kind]("1", "a"), BUILDERS[kind]("2", "b")
    one.additional_kwargs["k"] = 1
    one.response_metadata["k"] = 1
    one.name = "Anna"
    if kind == "ai":
        one.tool_calls.append({"name": "f", "args": {}, "id": "1"})
    assert other == MESSAGE_TYPES[kind](content="b", id="2")
    assert other.model_fields_set == {"content", "id"}
    assert BUILDERS[kind]("3", "c") == MESSAGE_TYPES[kind](content="c", id="3")


def test_the_fast_way_is_taken():
    assert {build.__name__ for build in map(BUILDERS.get, MESSAGE_TYPES)} == {"build"}
