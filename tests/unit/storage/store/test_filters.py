import pytest

from discreet.errors import DiscreetError, InvalidFilterError
from discreet.storage.store.filters import Condition, conditions_of, fits


def test_filters_that_are_joined_must_all_hold():
    joined = {"$and": [{"a": 1}, {"$and": [{"b": {"$gt": 2}}]}], "c": "x"}
    assert conditions_of(joined) == [
        Condition("a", "$eq", 1),
        Condition("b", "$gt", 2),
        Condition("c", "$eq", "x"),
    ]


@pytest.mark.parametrize(
    "wanted",
    [
        {"a": {"$in": [1]}},
        {"a": {"$gt": None}},
        {"a": {"$lt": True}},
        {"a": {"$gte": [1]}},
        {"a": {"$eq": 1, "b": 2}},
        {"$and": [{"a": {"$or": 1}}]},
    ],
)
def test_what_cannot_be_understood_is_refused(wanted):
    with pytest.raises(InvalidFilterError) as caught:
        conditions_of(wanted)
    assert isinstance(caught.value, DiscreetError)
    assert isinstance(caught.value, ValueError)


def test_numbers_are_ordered_as_numbers():
    assert fits({"n": 10}, conditions_of({"n": {"$gt": 9}}))
    assert not fits({"n": "10"}, conditions_of({"n": {"$gt": 9}}))
    assert fits({"n": "9"}, conditions_of({"n": {"$gt": "10"}}))
