"""Ids of users and threads as text: ints and UUIDs are what they are written as, and nothing else is one."""

from enum import IntEnum
from uuid import UUID

import pytest

from discreet.errors import InvalidThreadError, InvalidUserError
from discreet.nodes.run import run_of
from discreet.state.context import Context
from discreet.state.ids import check_thread_id, check_user_id
from discreet.state.records import TurnRecord

KEY = UUID("0d2c5b1e-7a44-4f0b-9b7a-3f2f6f0c9e11")


class Number(IntEnum):
    SEVEN = 7


class Name(str):
    """A text of a library's own."""

    __slots__ = ()

    def __str__(self) -> str:
        return "another"


GIVEN = [("ann", "ann"), (7, "7"), (0, "0"), (-1, "-1"), (KEY, str(KEY)), (Number.SEVEN, "7"), (Name("ann"), "ann")]
REFUSED = [True, False, 7.0, b"ann", bytearray(b"ann"), ["ann"], ("ann",), {"id": "ann"}, object(), 10**200]


@pytest.mark.parametrize(("given", "text"), GIVEN)
def test_ids_are_their_text(given, text):
    for found in (check_user_id(given), check_thread_id(given), Context(user_id=given).user_id):
        assert (type(found), found) == (str, text)


@pytest.mark.parametrize("given", REFUSED)
def test_nothing_else_is_an_id(given):
    for taken in (check_user_id, lambda user_id: Context(user_id=user_id)):
        with pytest.raises(InvalidUserError, match="an int or a UUID"):
            taken(given)
    with pytest.raises(InvalidThreadError, match="an int or a UUID"):
        check_thread_id(given)


def test_nobody_is_no_thread():
    with pytest.raises(InvalidThreadError):
        check_thread_id(None)


class Speaker:
    """A context of somebody else's graph."""

    def __init__(self, user_id: object) -> None:
        self.user_id = user_id


@pytest.mark.parametrize("where", ["a context's field", "a context's key", "the config", "the default"])
def test_a_run_has_the_user_whom_it_names(where):
    def of(user_id):
        configurable = {"user_id": user_id} if where == "the config" else {}
        context = {"a context's field": Speaker(user_id), "a context's key": {"user_id": user_id}}.get(where)
        return run_of(configurable, context, default_user=user_id if where == "the default" else "nobody").user_id

    assert [of(given) for given, _ in GIVEN] == [text for _, text in GIVEN]
    for given in (*REFUSED, "", " "):
        with pytest.raises(InvalidUserError):
            of(given)


def test_who_is_named_first_counts_and_zero_is_a_name():
    assert run_of({"user_id": "bob"}, {"user_id": 0}, default_user="eve").user_id == "0"
    assert run_of({"user_id": 0}, {"user_id": None}, default_user="eve").user_id == "0"
    assert run_of({"user_id": None}, None, default_user="eve").user_id == "eve"
    assert run_of({}).user_id is None


def test_a_run_without_a_thread_is_in_none():
    assert run_of({"thread_id": None}).thread_id is None
    assert run_of({"thread_id": 7}).thread_id == "7"
    with pytest.raises(InvalidThreadError):
        run_of({"thread_id": True})


@pytest.mark.parametrize(("given", "text"), GIVEN)
def test_a_turn_is_of_whom_it_names(given, text):
    now = "2026-01-02T12:00:00Z"
    said = {
        "request_id": "r",
        "thread_id": "t",
        "input_text": "x",
        "output_text": "y",
        "started_at": now,
        "ended_at": now,
    }
    assert TurnRecord(user_id=given, **said).user_id == text
