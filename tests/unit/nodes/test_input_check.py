import pytest
from langchain_core.messages import HumanMessage, RemoveMessage

from discreet.errors import EmptyInputError, InputTooLargeError, UnsupportedInputError
from discreet.nodes.input_check import InputCheck

CHECK = InputCheck(max_chars=20, max_media_bytes=100)
IMAGE = {"type": "image", "mime_type": "image/png", "base64": "A" * 400}


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([{"role": "user", "content": ""}], EmptyInputError),
        ([{"type": "human", "content": "\0 "}], EmptyInputError),
        ([["user", "x" * 21]], InputTooLargeError),
        ([{"role": "user", "content": [IMAGE]}], InputTooLargeError),
        ([{"role": "user", "content": [{"type": "video", "url": "x"}]}], UnsupportedInputError),
        ([{"role": "user", "content": 42}], UnsupportedInputError),
        ([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}], UnsupportedInputError),
        ([{"role": "nobody", "content": "my card"}], UnsupportedInputError),
        ([42], UnsupportedInputError),
        (42, UnsupportedInputError),
        ("x" * 21, InputTooLargeError),
        ({"role": "user", "content": ""}, EmptyInputError),
    ],
)
def test_input_that_the_turn_would_refuse_is_refused(messages, error):
    with pytest.raises(error) as caught:
        CHECK.input({"messages": messages})
    assert "card" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "given",
    [
        None,
        {},
        {"question": 42},
        {"messages": []},
        {"messages": "Hi"},
        {"messages": {"role": "user", "content": "Hi"}},
        {"messages": [{"role": "assistant", "content": "x" * 99}, {"role": "user", "content": "Hi"}]},
        {"messages": [HumanMessage("Hi")]},
        {"messages": [RemoveMessage("m1")]},
        {"messages": [{"type": "remove", "id": "m1", "content": ""}]},
    ],
)
def test_what_the_turn_takes_or_only_the_state_can_tell_passes(given):
    CHECK.input(given)


@pytest.mark.parametrize(
    ("messages", "setting"),
    [("x" * 21, "DISCREET_MAX_INPUT_CHARS"), ([{"role": "user", "content": [IMAGE]}], "DISCREET_MAX_MEDIA_BYTES")],
)
def test_a_message_that_is_too_large_names_the_setting(messages, setting):
    with pytest.raises(InputTooLargeError, match=f"raise {setting}\\.$") as caught:
        CHECK.input({"messages": messages})
    assert "make_save_input" not in str(caught.value)


def test_messages_may_have_another_key():
    check = InputCheck(max_chars=20, max_media_bytes=100, messages_key="said")
    check.input({"messages": [""]})
    with pytest.raises(EmptyInputError):
        check.input({"said": [""]})
