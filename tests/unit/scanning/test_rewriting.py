import base64
import json
import pickle
from decimal import Decimal
from ipaddress import IPv4Address
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Send
from pydantic import SecretStr

from discreet.checkpoint import KEEP, CheckpointPolicy
from discreet.errors import ScanError
from discreet.redaction import Redactor
from discreet.scanning.scrubbing.rewriting import MAX_DEPTH, Drop, Place, Rewriter
from discreet.scanning.texts import Texts

MAIL = "ann@example.com"
REDACTOR = Redactor(placeholder_key=bytes(32))
SERIALIZER = JsonPlusSerializer(pickle_fallback=True)
CALL = {"name": "look_up", "args": {"who": MAIL}, "id": "c1", "type": "tool_call"}
PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8).decode()


@pytest.fixture
def rewriter():
    return Rewriter(Texts(REDACTOR), redact_id=REDACTOR.redact)


def of_saver(channel, **more):
    return Place(channel=channel, of_saver=True, **more)


ANYWHERE = Place()


def rewritten(rewriter, value, place=ANYWHERE):
    """Return a value as it is loaded after it was rewritten, twice to the same."""
    kind, data = SERIALIZER.dumps_typed(value)
    made = rewriter.rewrite(kind, data, place)
    assert rewriter.rewrite(kind, made, place) == made
    return SERIALIZER.loads_typed((kind, made))


@pytest.mark.parametrize(
    ("value", "made"),
    [
        ({"mail": MAIL, "n": 5}, {"mail": "<EMAIL>", "n": 5}),
        ({MAIL: 1, "bob@example.com": 2}, {"<EMAIL>": 1, "<EMAIL>#2": 2}),
        ([MAIL, ["a", {MAIL}]], ["<EMAIL>", ["a", {"<EMAIL>"}]]),
        ({"raw": MAIL.encode()}, {"raw": b"<EMAIL>"}),
        ({"nested": json.dumps({"to": MAIL})}, {"nested": '{"to": "<EMAIL>"}'}),
        ({"host": IPv4Address("88.99.10.20")}, {"host": IPv4Address("0.0.0.0")}),
        (
            {"price": Decimal("19.99"), "id": UUID(int=5, version=4)},
            {"price": Decimal("19.99"), "id": UUID(int=5, version=4)},
        ),
        ({"password": "Xk93Tq!7"}, {"password": "<SECRET>"}),
        ({"key": SecretStr("anything")}, {"key": SecretStr("<SECRET>")}),
        ({"small": 7, "on": True, "none": None, "part": 1.5}, {"small": 7, "on": True, "none": None, "part": 1.5}),
    ],
)
def test_values_become_placeholders_and_the_rest_stays(rewriter, value, made):
    assert rewritten(rewriter, value) == made


@pytest.mark.parametrize("value", [{"a": ["nothing", 1]}, [Send("a", {"n": 1})], b"raw", {"a": PICTURE[:20]}])
def test_what_has_no_value_stays_byte_for_byte(rewriter, value):
    kind, data = SERIALIZER.dumps_typed(value)
    assert rewriter.rewrite(kind, data, Place()) is data


def test_placeholders_of_a_thread_are_tagged(rewriter):
    value = rewritten(rewriter, [MAIL, MAIL], Place(thread=REDACTOR.for_thread("t")))
    assert value[0] == value[1]
    assert value[0].startswith("<EMAIL:")


def test_of_a_conversation_what_was_said_stays(rewriter):
    turn = [
        HumanMessage(f"I am {MAIL}", id="h1"),
        AIMessage("", tool_calls=[CALL], id="a1"),
        ToolMessage("Ann", tool_call_id="c1", id="t1"),
        AIMessage("Hello.", id="a2"),
    ]
    place = of_saver("messages")
    assert rewritten(rewriter, turn, place) == [HumanMessage("I am <EMAIL>", id="h1"), AIMessage("Hello.", id="a2")]


def test_of_an_open_turn_calls_and_results_stay_with_placeholders(rewriter):
    turn = [
        HumanMessage(f"I am {MAIL}", id="h1"),
        AIMessage("", tool_calls=[CALL], id="a1"),
        ToolMessage(f"Wrote {MAIL}", tool_call_id="c1", id="t1"),
    ]
    _, calls, result = rewritten(rewriter, turn, of_saver("messages", is_open=True))
    assert calls.tool_calls == [{**CALL, "args": {"who": "<EMAIL>"}}]
    assert (result.content, result.tool_call_id) == ("Wrote <EMAIL>", "c1")


def test_an_open_turn_has_no_media_that_a_model_would_refuse(rewriter):
    blocks = [{"type": "text", "text": "See."}, {"type": "image", "base64": PICTURE, "mime_type": "image/png"}]
    blocks.append({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}})
    (message,) = rewritten(rewriter, [HumanMessage(blocks, id="h1")], of_saver("messages", is_open=True))
    assert message.content == [blocks[0], *[{"type": "text", "text": "<BYTES>"}] * 2]


def test_an_id_with_a_value_becomes_another_that_stays_one(rewriter):
    first, second = rewritten(
        rewriter, [HumanMessage("a", id=MAIL), HumanMessage("b", id="bob@example.com")], of_saver("messages")
    )
    assert MAIL not in first.id
    assert first.id != second.id


@pytest.mark.parametrize(
    ("channel", "value", "made"),
    [
        ("__error__", f"ValueError('{MAIL}')", "ValueError()"),
        ("__error__", "something else", "[redacted]"),
        ("__pregel_tasks", [Send("a", {"to": MAIL})], []),
        ("branch:to:model", None, None),
    ],
)
def test_channels_of_the_engine_have_rules_of_their_own(rewriter, channel, value, made):
    assert rewritten(rewriter, value, of_saver(channel)) == made


def test_what_an_open_turn_sends_stays_with_placeholders(rewriter):
    (sent,) = rewritten(rewriter, [Send("a", {"to": MAIL})], of_saver("__pregel_tasks", is_open=True))
    assert sent == Send("a", {"to": "<EMAIL>"})


def test_a_policy_drops_channels_that_it_does_not_name():
    rewriter = Rewriter(Texts(REDACTOR), CheckpointPolicy(channels={"plan": KEEP}))
    for kind, data in (SERIALIZER.dumps_typed("text"), ("pickle", pickle.dumps(1)), ("msgpack+aes", b"\x00")):
        with pytest.raises(Drop):
            rewriter.rewrite(kind, data, of_saver("notes"))
    for channel in ("plan", "messages", "__start__", "branch:to:a"):
        assert rewriter.rewrite(*SERIALIZER.dumps_typed(None), of_saver(channel)) is not None
    value = {"raw": b"bytes in a value", "notes": "inside"}
    assert rewritten(rewriter, value, of_saver("plan")) == value
    assert rewriter.rewrite(None, '{"a": 1}', Place(channel="notes")) == '{"a": 1}'  # a column of another table


def test_a_checkpoint_keeps_what_its_engine_made(rewriter):
    whole = {"v": 4, "id": "1", "ts": "2026-01-02T03:04:05+00:00", "channel_values": {"owner": MAIL, "n": 1}}
    whole |= {"channel_versions": {"owner": "1"}, "versions_seen": {MAIL: {}}, "note": MAIL}
    made = json.loads(rewriter.checkpoint(None, json.dumps(whole), of_saver(None)))
    assert made == {**whole, "channel_values": {"owner": "<EMAIL>", "n": 1}, "note": "<EMAIL>"}


def test_metadata_keeps_what_the_engine_needs_and_what_a_policy_names():
    whole = {"source": "loop", "step": 3, "parents": {}, "owner": MAIL, "language": "vi"}
    made = Rewriter(Texts(REDACTOR)).metadata(json.dumps(whole), Place())
    assert json.loads(made) == {**whole, "owner": "<EMAIL>"}
    policy = CheckpointPolicy(metadata={"language": KEEP})
    made = Rewriter(Texts(REDACTOR), policy).metadata(json.dumps(whole), Place())
    assert json.loads(made) == {"source": "loop", "step": 3, "parents": {}, "language": "vi"}


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_load_as_what_they_were(rewriter, protocol):
    value = {"mail": MAIL, "raw": MAIL.encode(), "more": [(MAIL, 1.5)], "at": UUID(int=5, version=4)}
    made = rewriter.rewrite("pickle", pickle.dumps(value, protocol=protocol), Place())
    expected = {"mail": "<EMAIL>", "raw": b"<EMAIL>", "more": [("<EMAIL>", 1.5)], "at": UUID(int=5, version=4)}
    assert pickle.loads(made) == expected
    assert rewriter.rewrite("pickle", made, Place()) == made


def test_pairs_of_a_serializer_within_a_value_are_rewritten(rewriter):
    kind, data = SERIALIZER.dumps_typed({"mail": MAIL})
    pair = rewritten(rewriter, {"kept": [kind, data]})["kept"]
    assert SERIALIZER.loads_typed(tuple(pair)) == {"mail": "<EMAIL>"}


def test_what_can_not_be_taken_apart_stays_or_is_told(rewriter):
    assert rewriter.rewrite("msgpack+aes", b"\x00", Place()) == b"\x00"
    for kind, data in (("msgpack", b"\xc1"), ("json", b"{no"), ("pickle", b"\x80\x04")):
        with pytest.raises(ScanError):
            rewriter.rewrite(kind, data, Place())


def test_bytes_with_a_value_in_them_become_a_placeholder(rewriter):
    assert rewriter.rewrite("bytes", b"\xff\x00 mail to ann@example.com today \xfe", Place()) == b"<BYTES>"
    assert rewriter.rewrite("bytes", b"\xff\x00\xfe", Place()) == b"\xff\x00\xfe"


def test_what_is_nested_very_deep_becomes_a_placeholder(rewriter):
    value: object = MAIL
    for _ in range(MAX_DEPTH + 5):
        value = [value]
    made = rewriter.rewrite(None, json.dumps(value), Place())
    assert MAIL not in made
    assert "<UNKNOWN>" in made
