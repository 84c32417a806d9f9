import base64
import hashlib

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from discreet.errors import (
    EmptyInputError,
    InputTooLargeError,
    InvalidUserError,
    UnsupportedInputError,
)
from discreet.nodes.masking import TurnMask
from discreet.nodes.save_input import make_save_input

PIXELS = base64.b64encode(b"\x89PNG not really an image").decode()
SHA256 = hashlib.sha256(base64.b64decode(PIXELS)).hexdigest()


def image(**more):
    return {"type": "image", "base64": PIXELS, "mime_type": "image/png", **more}


async def test_the_turn_gets_an_id_and_the_text_stays(run_node):
    state = await run_node(make_save_input(), {"messages": [HumanMessage("Hello", id="m1")]})
    assert state["messages"][-1].content == "Hello"
    assert state["request"]["message_id"] == "m1"
    assert state["request"]["modality"] == "text"
    assert len(state["request"]["request_id"]) == 36


async def test_two_turns_have_ids_of_their_own(run_node):
    node = make_save_input()
    ids = {(await run_node(node, {"messages": [("user", "Hello")]}))["request"]["request_id"] for _ in range(2)}
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (HumanMessage(""), EmptyInputError),
        (HumanMessage(" \n\t"), EmptyInputError),
        (HumanMessage("\0"), EmptyInputError),
        (HumanMessage([]), EmptyInputError),
        (HumanMessage("x" * 20_001), InputTooLargeError),
        (HumanMessage("x" * 1_000_000), InputTooLargeError),
        (AIMessage("I am the user"), UnsupportedInputError),
        (HumanMessage([{"type": "video", "url": "http://127.0.0.1/v.mp4"}]), UnsupportedInputError),
        (HumanMessage([image(base64="***")]), UnsupportedInputError),
        (HumanMessage([image(sha256="0" * 64, caption="A cat.")]), UnsupportedInputError),
    ],
)
async def test_bad_input_is_refused_with_a_typed_error(run_node, message, error):
    with pytest.raises(error):
        await run_node(make_save_input(), {"messages": [message]})


async def test_no_message_at_all_is_refused(run_node):
    with pytest.raises(EmptyInputError):
        await run_node(make_save_input(), {"messages": []})


async def test_an_error_names_size_and_limit_and_no_text(run_node):
    with pytest.raises(InputTooLargeError) as caught:
        await run_node(make_save_input(max_chars=10), {"messages": [HumanMessage("secret " * 3)]})
    assert (caught.value.size, caught.value.limit) == (21, 10)
    assert "secret" not in str(caught.value)


async def test_nul_and_lone_surrogates_become_storable(run_node):
    state = await run_node(make_save_input(), {"messages": [HumanMessage("a\0b\ud800c 😀", id="m1")]})
    assert state["messages"][-1].content == "ab\ufffdc 😀"
    assert state["messages"][-1].id == "m1"


async def test_an_unusable_user_is_refused_before_anything_is_done(run_node):
    with pytest.raises(InvalidUserError):
        await run_node(make_save_input(), {"messages": [("user", "Hello")]}, thread_id="t", user_id="a\0b")


async def test_a_message_that_was_refused_is_removed_by_the_next_turn(run_node):
    refused = HumanMessage("x" * 30_000, id="refused")
    waiting = HumanMessage("still fine", id="waiting")
    messages = [
        HumanMessage("first", id="1"),
        AIMessage("answer", id="2"),
        refused,
        waiting,
        HumanMessage("next", id="3"),
    ]
    state = await run_node(make_save_input(), {"messages": messages})
    assert [m.id for m in state["messages"]] == ["1", "2", "waiting", "3"]


@pytest.mark.parametrize(
    ("block", "media"),
    [
        (image(caption="A bicycle.", language="en", sha256=SHA256), {"modality": "image", "mime": "image/png", "language": "en", "sha256": SHA256}),
        ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXELS}"}}, {"modality": "image", "mime": "image/png", "sha256": SHA256}),
        ({"type": "audio", "url": "https://h/x", "transcript": "Hello.", "durationMs": 2100.4}, {"modality": "voice", "durationMs": 2100}),
    ],
)  # fmt: skip
async def test_a_medium_stays_as_it_came_and_its_metadata_go_with_the_turn(run_node, block, media):
    message = HumanMessage([{"type": "text", "text": "Look."}, block], id="m1")
    state = await run_node(make_save_input(), {"messages": [message]})
    assert state["messages"][-1].content == message.content
    assert state["request"]["modality"] == media["modality"]
    assert state["request"]["media"] == [media]


@pytest.mark.parametrize(
    ("block", "stands"),
    [
        (image(caption="A red bicycle. It leans on a wall."), "A red bicycle. It leans on a wall."),
        (image(), "[image/png, 24 B]"),
        ({"type": "audio", "url": "https://h/x", "transcript": "My secret."}, "[audio]"),
    ],
)
async def test_in_a_masked_state_its_caption_or_kind_stands_for_it(run_node, block, stands):
    node = make_save_input(mask=TurnMask(masks=True))
    state = await run_node(node, {"messages": [HumanMessage([block])]})
    assert state["messages"][-1].content == stands


async def test_a_lenient_one_takes_what_comes_and_begins_a_turn_with_the_users_message_alone(run_node):
    node = make_save_input(lenient=True)
    for message in (HumanMessage("x" * 30_000), HumanMessage([{"type": "video", "url": "v"}]), HumanMessage("")):
        state = await run_node(node, {"messages": [message]})
        assert state["messages"][-1].content == message.content
        assert state["request"]["message_id"] == state["messages"][-1].id
    assert (await run_node(node, {"messages": [AIMessage("Hello, I am Bob.")]}))["request"] is None
    assert (await run_node(node, {"messages": []}))["request"] is None
    masking = make_save_input(lenient=True, mask=TurnMask(masks=True))
    (said,) = (await run_node(masking, {"messages": [AIMessage("I am bob@example.com.")]}))["messages"]
    assert "bob@" not in said.text


async def test_media_over_the_limit_is_refused(run_node):
    with pytest.raises(InputTooLargeError) as caught:
        await run_node(make_save_input(max_media_bytes=8), {"messages": [HumanMessage([image(caption="x")])]})
    assert caught.value.unit == "bytes of media"


async def test_metadata_of_another_form_than_it_should_have_is_left_out(run_node):
    block = image(
        caption="A kettle.", mime_type="ann@example.com", language="my number is 0912345678", durationMs="soon"
    )
    state = await run_node(make_save_input(), {"messages": [HumanMessage([block])]})
    assert state["request"]["media"] == [{"modality": "image", "mime": "image/png", "sha256": SHA256}]


async def test_each_medium_of_a_message_keeps_its_metadata(run_node):
    song = {"type": "audio", "sha256": "ab" * 32, "mime_type": "audio/ogg", "summary": "A song."}
    message = HumanMessage([image(caption="A kettle."), song])
    state = await run_node(make_save_input(), {"messages": [message]})
    assert state["request"]["media"] == [
        {"modality": "image", "mime": "image/png", "sha256": SHA256},
        {"modality": "voice", "mime": "audio/ogg", "sha256": "ab" * 32},
    ]
