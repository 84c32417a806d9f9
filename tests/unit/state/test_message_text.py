"""The text of a message: its blocks, with white space between."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage

from discreet.state.message_text import as_content, joined, spoken_text, text_blocks, text_of

THINKING = {"type": "thinking", "thinking": "They like tea.", "signature": "x"}
CALL = {"type": "tool_use", "id": "c1", "name": "clock", "input": {}}


def block(text, **more):
    return {"type": "text", "text": text, **more}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("As it is.", "As it is."),
        ("", ""),
        ([], ""),
        ([block("Summarise this."), block("Chapter one")], "Summarise this.\nChapter one"),
        ([block("Has a space "), block("already")], "Has a space already"),
        ([block("Has a"), block("\nbreak")], "Has a\nbreak"),
        (["a", block("b"), "c"], "a\nb\nc"),
        ([block(""), block("b"), ""], "b"),
        ([THINKING, block("Green tea."), CALL, block("Then cake.")], "Green tea.\nThen cake."),
        ([block(5), {"text": "no type"}], ""),
        ([block(""), {"type": "image", "url": "x"}], "[image]"),
        ([block(" "), {"type": "image", "url": "x"}, {"type": "file", "file_id": "f"}], "[image]\n[file]"),
        ([THINKING, {"type": "audio", "url": "x"}], "[audio]"),
    ],
)
def test_the_text_of_a_message(content, text):
    assert joined(text_blocks(content)) == text
    if content[:1] != [block(5)]:
        assert text_of(AIMessage(content)) == text


@given(st.lists(st.text(min_size=1)))
def test_nothing_is_lost(texts):
    text = joined(texts)
    assert "".join(text.split()) == "".join("".join(each.split()) for each in texts)
    assert joined(text_blocks(as_content(texts))) == text


@pytest.mark.parametrize(
    ("blocks", "spoken"),
    [
        (["<think>They like tea.", "Or not.</think>Green tea."], "Green tea."),
        (["<think>x</think>", "Hello"], "Hello"),
        (["Hello", "<think>x</think>", "there"], "Hello\nthere"),
        (["Hello there", "friend"], "Hello there\nfriend"),
        (["<think>x"], ""),
        ([" ", "\n"], ""),
    ],
)
def test_reasoning_may_go_on_in_the_next_block(blocks, spoken):
    assert spoken_text(AIMessage([block(text) for text in blocks])) == spoken


def test_what_a_user_writes_is_no_reasoning():
    assert spoken_text(HumanMessage("<think>x</think>")) == "<think>x</think>"


def test_pieces_of_one_text_are_one_text():
    pieces = [AIMessageChunk([block(text, index=0)]) for text in ("41", "11 11", "11")]
    last = AIMessageChunk([block("2 nights", index=1)])
    assert text_of(sum(pieces[1:], pieces[0]) + last) == "4111 1111\n2 nights"
