import re
import uuid
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.types import Command, Interrupt, Send
from pydantic import BaseModel, ConfigDict, SecretStr

from discreet.redaction import Redactor
from discreet.redaction.walker import MAX_DEPTH, redact_object

REDACTOR = Redactor()
MAIL = "ann@example.com"


def walk(value):
    return redact_object(value, REDACTOR)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -7,
        3.25,
        float("inf"),
        "plain",
        Decimal("9.99"),
        date(2024, 5, 17),
        datetime(2024, 5, 17, tzinfo=UTC),
        timedelta(1),
        uuid.UUID(int=7),
        [],
        {},
        (),
        [1, ("a", {"b": None})],
    ],
)
def test_harmless_values_come_back_equal(value):
    assert walk(value) == value
    assert type(walk(value)) is type(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (MAIL, "<EMAIL>"),
        ([MAIL, (MAIL,)], ["<EMAIL>", ("<EMAIL>",)]),
        ({MAIL: {"to": MAIL}}, {"<EMAIL>": {"to": "<EMAIL>"}}),
        (OrderedDict(to=MAIL), {"to": "<EMAIL>"}),
        (4111111111111111, "<CARD>"),
        (4111111111111111.0, "<CARD>"),
        (Decimal(4111111111111111), "<CARD>"),
        (84912345678, "<PHONE>"),
        ({4111111111111111: 1}, {"<CARD>": 1}),
        (MAIL.encode(), "<BYTES>"),
        (bytearray(b"x"), "<BYTES>"),
        (memoryview(b"x"), "<BYTES>"),
        pytest.param(10**5000, "<UNKNOWN>", id="an integer that Python does not write out"),
    ],
)
def test_values_become_placeholders_wherever_they_are(value, expected):
    assert walk(value) == expected


def test_keys_that_become_equal_keep_their_entries():
    assert walk({MAIL: 1, "bob@example.org": 2}) == {"<EMAIL>": 1, "<EMAIL>#2": 2}
    assert walk({(MAIL,): 1, "b": 2}) == {"<UNKNOWN>": 1, "b": 2}


class Opaque:
    def __repr__(self):
        return MAIL


class Sly:
    """Raises when it is looked at."""

    def __getattr__(self, name):
        if name in ("__name__", "_repr_pretty_"):  # what pytest and hypothesis ask for
            raise AttributeError
        raise RuntimeError(name)


@dataclass(repr=False)
class Broken:
    to: str

    def __getattribute__(self, name):
        if name == "to":
            raise RuntimeError(MAIL)
        return super().__getattribute__(name)


class NewMessage(BaseMessage):
    type: str = "new"


@pytest.mark.parametrize(
    "value",
    [
        Opaque(),
        object(),
        Opaque,
        Sly(),
        Broken(MAIL),
        iter([MAIL]),
        print,
        re.compile(MAIL),
        range(3),
        1j,
        NewMessage(MAIL),
    ],
)
def test_unknown_types_do_not_pass(value):
    assert walk(value) == "<UNKNOWN>"
    assert walk({"inside": [value]}) == {"inside": ["<UNKNOWN>"]}


class Colour(StrEnum):
    MINE = MAIL


class Pair(NamedTuple):
    left: str
    right: int


def test_subclasses_become_plain_values():
    assert walk(Colour.MINE) == "<EMAIL>"
    assert walk(Pair(MAIL, 1)) == ("<EMAIL>", 1)
    assert type(walk(Pair(MAIL, 1))) is tuple


class Model(BaseModel):
    model_config = ConfigDict(extra="allow")
    to: str


@dataclass
class Plain:
    to: str
    payload: bytes = b""


def test_models_and_dataclasses_become_dicts_of_their_fields():
    assert walk(Model(to=MAIL, more=[MAIL])) == {"to": "<EMAIL>", "more": ["<EMAIL>"]}
    assert walk(Plain(to=MAIL)) == {"to": "<EMAIL>", "payload": "<BYTES>"}
    assert walk(Document(MAIL, id="7"))["page_content"] == "<EMAIL>"
    assert walk(Plain) == "<UNKNOWN>"


USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            HumanMessage(MAIL, id="1", name="ann", additional_kwargs={"a": [MAIL]}, example=MAIL),
            HumanMessage("<EMAIL>", id="1", name="ann", additional_kwargs={"a": ["<EMAIL>"]}),
        ),
        (SystemMessage(MAIL), SystemMessage("<EMAIL>")),
        (
            AIMessage(
                MAIL,
                id=MAIL,
                tool_calls=[{"name": "send", "args": {"to": MAIL, MAIL: 84912345678}, "id": "c"}],
                invalid_tool_calls=[{"name": "send", "args": MAIL, "id": "d", "error": MAIL}],
                additional_kwargs={"reasoning_content": MAIL},
                response_metadata={"raw": MAIL},
                usage_metadata=USAGE,
            ),
            AIMessage(
                "<EMAIL>",
                id="<EMAIL>",
                tool_calls=[{"name": "send", "args": {"to": "<EMAIL>", "<EMAIL>": "<PHONE>"}, "id": "c"}],
                invalid_tool_calls=[{"name": "send", "args": "<EMAIL>", "id": "d", "error": "<EMAIL>"}],
                additional_kwargs={"reasoning_content": "<EMAIL>"},
                response_metadata={"raw": "<EMAIL>"},
                usage_metadata=USAGE,
            ),
        ),
        (AIMessageChunk(MAIL, id="2"), AIMessage("<EMAIL>", id="2")),
        (
            AIMessageChunk("", tool_call_chunks=[{"name": "f", "args": '{"to": "ann@exa', "id": "c", "index": 0}]),
            AIMessage("", tool_calls=[{"name": "f", "args": {"to": "ann@exa"}, "id": "c"}]),
        ),
        (
            ToolMessage(MAIL, tool_call_id="c", artifact={"raw": MAIL, "n": object()}, status="error"),
            ToolMessage("<EMAIL>", tool_call_id="c", artifact={"raw": "<EMAIL>", "n": "<UNKNOWN>"}, status="error"),
        ),
        (ChatMessage(content=MAIL, role=MAIL), ChatMessage(content="<EMAIL>", role="<EMAIL>")),
        (RemoveMessage("1"), RemoveMessage("1")),
        (FunctionMessage(content=MAIL, name="f"), FunctionMessage(content="<EMAIL>", name="f")),
    ],
)
def test_messages_keep_their_kind_with_everything_in_them_redacted(message, expected):
    assert walk([message]) == [expected]


def test_a_message_that_can_not_be_put_together_again_does_not_pass():
    broken = ToolMessage("x", tool_call_id="c")
    broken.status = MAIL
    assert walk(broken) == "<UNKNOWN>"


@pytest.mark.parametrize("kind", ["audio", "input_audio"])
def test_the_words_of_a_recording_are_dropped_with_its_sound(kind):
    block = {"type": kind, "base64": "aGk=", "transcript": "The water drips from the roof."}
    assert redact_object([block], Redactor()) == [{"type": kind, "base64": "<BYTES>", "transcript": "<BYTES>"}]
    meeting = {"type": "meeting", "transcript": "They agreed."}
    assert redact_object(meeting, Redactor()) == meeting


def test_content_blocks_are_redacted_and_media_dropped():
    content = [
        MAIL,
        {"type": "text", "text": MAIL, "annotations": [MAIL]},
        {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "input_audio", "input_audio": {"data": "aGkh" * 400}},
        {"type": "reasoning", "reasoning": MAIL},
        {"type": "tool_use", "input": {"to": MAIL}},
    ]
    assert walk(HumanMessage(content)).content == [
        "<EMAIL>",
        {"type": "text", "text": "<EMAIL>", "annotations": ["<EMAIL>"]},
        {"type": "image", "base64": "<BYTES>", "mime_type": "image/png"},
        {"type": "image_url", "image_url": {"url": "<BYTES>"}},
        {"type": "input_audio", "input_audio": {"data": "<BYTES>"}},
        {"type": "reasoning", "reasoning": "<EMAIL>"},
        {"type": "tool_use", "input": {"to": "<EMAIL>"}},
    ]


def test_commands_of_the_graph_keep_their_kind():
    assert walk(Send("n", {"to": MAIL})) == Send("n", {"to": "<EMAIL>"})
    command = Command(update={"to": MAIL}, resume={"i": MAIL}, goto=[Send("n", MAIL), "m"], graph=Command.PARENT)
    assert walk(command) == Command(
        update={"to": "<EMAIL>"}, resume={"i": "<EMAIL>"}, goto=[Send("n", "<EMAIL>"), "m"], graph=Command.PARENT
    )
    assert walk(Interrupt({"ask": MAIL}, id="7")) == Interrupt({"ask": "<EMAIL>"}, id="7")


def test_of_an_exception_its_class_and_message_are_kept():
    assert walk(ValueError(f"no such user: {MAIL}")) == "ValueError: no such user: <EMAIL>"


def test_a_value_is_read_together_with_its_key():
    password = "tr0ub4dor" + "&3"
    assert walk({"password": password, "note": password}) == {"password": "<SECRET>", "note": password}
    assert walk({"phone": "358 0594", "n": "358 0594"}) == {"phone": "<PHONE>", "n": "358 0594"}
    assert walk({"phones": ["358 0594", 3580594]}) == {"phones": ["<PHONE>", "<PHONE>"]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (SecretStr(MAIL), "<SECRET>"),
        ({MAIL, "b"}, {"<EMAIL>", "b"}),
        (deque([MAIL]), ["<EMAIL>"]),
        (MappingProxyType({"to": MAIL}), {"to": "<EMAIL>"}),
        (PurePosixPath("/home/ann@example.com/x"), "/home/<EMAIL>/x"),
    ],
)
def test_other_containers_become_plain_ones(value, expected):
    assert walk(value) == expected


def test_cycles_are_cut():
    ring: list[object] = [MAIL]
    ring.append({"again": ring})
    assert walk(ring) == ["<EMAIL>", {"again": "<UNKNOWN>"}]


def test_what_is_nested_too_deep_does_not_pass():
    deep: object = MAIL
    for _ in range(100_000):
        deep = [deep]
    copy = walk(deep)
    for _ in range(MAX_DEPTH):
        (copy,) = copy
    assert copy == "<UNKNOWN>"


def test_shared_containers_cost_no_more_than_once():
    shared: list[object] = [MAIL]
    for _ in range(MAX_DEPTH - 2):
        shared = [shared, shared]
    copy = walk(shared)
    assert copy[0] is copy[1]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON)
def test_walking_twice_changes_nothing_more(value):
    assert walk(walk(value)) == walk(value)


LEAVES = st.one_of(
    st.none(),
    st.integers(),
    st.floats(),
    st.binary(max_size=4),
    st.text(st.characters(exclude_categories=()), max_size=8),
    st.sampled_from(
        [MAIL, SecretStr(MAIL), ValueError(MAIL), Opaque(), Sly(), Broken(MAIL), Plain(MAIL), Colour.MINE, 84912345678]
    ),
    st.sampled_from(
        [HumanMessage(MAIL), ToolMessage(MAIL, tool_call_id="c", artifact=[MAIL]), NewMessage(MAIL), RemoveMessage("1")]
    ),
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(max_size=4), st.just(MAIL), st.integers()), inner, max_size=3),
        inner.map(lambda value: Send("node", value)),
        inner.map(lambda value: Command(update=value)),
        inner.map(lambda value: AIMessage("", tool_calls=[{"name": "f", "args": {"x": value}, "id": "c"}])),
        inner.map(Interrupt),
    ),
    max_leaves=8,
)


@given(ANYTHING)
def test_nothing_leaks_from_any_object_and_nothing_is_raised(value):
    once = walk(value)
    assert MAIL not in repr(once)
    assert "84912345678" not in repr(once)
    assert repr(walk(once)) == repr(once)


def test_what_is_said_beside_a_long_run_without_blanks_stays():
    run = "ACGT" * 300
    assert walk(run) == "<BYTES>"
    assert (
        walk(f"{run}\nWhich species is this? Write to {MAIL}.") == "<BYTES>\nWhich species is this? Write to <EMAIL>."
    )
    assert walk(f"{run}== {run}") == "<BYTES> <BYTES>"
    assert walk(f"data:text/plain;base64,{run}\n{run}") == "<BYTES>"
