import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.state.reasoning import SpokenStream, without_reasoning

SPOKEN = [
    ("Hello.", "Hello."),
    ("  1 < 2 and a[0] stays.\n", "  1 < 2 and a[0] stays.\n"),
    ("<think>planted</think>\n\nHello.", "Hello."),
    ("<THINK>\nplanted\n</THINK >Hello.", "Hello."),
    ('<thinking mode="deep">planted</thinking>Hello.', "Hello."),
    ("<seed:think>planted</seed:think>Hello.", "Hello."),
    ("<reasoning>planted</reasoning>Hello.", "Hello."),
    ("<thought>planted</thought>Hello.", "Hello."),
    ("◁think▷planted◁/think▷Привет.", "Привет."),
    ("[THINK]planted[/THINK]你好。", "你好。"),
    ("<|START_THINKING|>planted<|END_THINKING|>Hello.", "Hello."),
    ("<|begin_of_thought|>planted<|end_of_thought|>Xin chào.", "Xin chào."),
    (
        "<|channel|>analysis<|message|>planted<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>",
        "Hello.",
    ),
    ("<|channel|>analysis<|message|>planted<|end|><|start|>assistant<|channel|>commentary<|message|>planted", ""),
    ("<|channel|>final<|message|>Hello.", "Hello."),
    ("<|channel|>analysis planted<|channel|>final <|constrain|>json<|message|>{}", "{}"),
    ("Sure. <think>planted</think>Hello.", "Sure. Hello."),
    ("<think>planted</think>A.<think>planted</think>B.", "A.B."),
    ("<think>planted", ""),
    ("Hello. <think>planted", "Hello."),
    ("<think></think>", ""),
    ("planted</think>Hello.", "Hello."),
    ("planted ◁/think▷ Hello.", "Hello."),
    ("Write `<think>` first, and `</think>` last.", "Write `<think>` first, and `</think>` last."),
    ("```\n<think>x</think>\n```\nThat is it.", "```\n<think>x</think>\n```\nThat is it."),
    ("````\n```\n<think>x</think>\n```\n````\nDone.", "````\n```\n<think>x</think>\n```\n````\nDone."),
    ("~~~\n<think>x</think>\n~~~\nThat is it.", "~~~\n<think>x</think>\n~~~\nThat is it."),
    ("~~~\nHello. <think>planted</think>Bye.", "~~~\nHello. Bye."),
    ("[think] of it as a list: [THINK]planted[/THINK] one.", "[think] of it as a list:  one."),
    ("<think>planted ``` planted</think>Hello.", "Hello."),
    ("<thinker> is no tag, nor is <b>this</b>.", "<thinker> is no tag, nor is <b>this</b>."),
    ("<ant_thinking>planted</ant_thinking>Hello.", "Hello."),
    ("<mm:think>planted</mm:think>Hello.", "Hello."),
    ("<longcat_think>planted</longcat_think>Hello.", "Hello."),
    ("<think:opensource>planted</think:opensource>Hello.", "Hello."),
    ("<reasoning_content>planted</reasoning_content>Hello.", "Hello."),
    ("<thinking_process>planted</thinking_process>Hello.", "Hello."),
    ("<chain_of_thought>planted</chain_of_thought>Hello.", "Hello."),
    ("<|think|>planted<|end|><|begin|>assistant<|content|>Hello.", "Hello."),
    ("<|inner_prefix|>planted<|inner_suffix|>Hello.", "Hello."),
    ("<unused94>thought\nplanted<unused95>Hello.", "Hello."),
    ("<|channel>thought\nplanted<channel|>Hello.", "Hello."),
    ("planted\n[BEGIN FINAL RESPONSE]\nHello.\n[END FINAL RESPONSE]", "Hello."),
    ("&lt;think&gt;planted&lt;/think&gt;Hello. 1 &lt; 2", "Hello. 1 &lt; 2"),
    (
        '<details type="reasoning" done="true">\n<summary>Thought</summary>\nplanted</details>\nHello.',
        "Hello.",
    ),
    ("<details><summary>More</summary>Hello.</details>", "<details><summary>More</summary>Hello.</details>"),
    ("<|START_THINKING|>planted<|END_THINKING|><|START_RESPONSE|>Hello.<|END_RESPONSE|>", "Hello."),
    ("<|begin_of_thought|>planted<|end_of_thought|>\n<|begin_of_solution|>Hi.<|end_of_solution|>", "Hi."),
    ("```\nHello. <think>planted</think>Bye.", "```\nHello. Bye."),
    ("Hello `<think>planted", "Hello `"),
    ("Hello `<think>planted\nplanted</think>Bye.", "Hello `Bye."),
    ("Put an <analysis> element first. Bye at 12:40.", "Put an <analysis> element first. Bye at 12:40."),
    ("Price 3 <thought of the day> 12:40", "Price 3 <thought of the day> 12:40"),
    ("Put a &lt;reflection&gt; first. <think>planted</think>Bye.", "Put a &lt;reflection&gt; first. Bye."),
    ("Hello.\n<analysis>planted", "Hello."),
    ("- <analysis>planted", "-"),
    ("Hello. <analysis>planted</analysis>Bye.", "Hello. Bye."),
    ("Use <thinking> and planted", "Use"),
]


@pytest.mark.parametrize(("text", "spoken"), SPOKEN)
def test_reasoning_is_left_out_and_all_else_stays(text, spoken):
    assert without_reasoning(text) == spoken


@pytest.mark.parametrize(("text", "spoken"), [pair for pair in SPOKEN if not pair[0].startswith("planted")])
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pieces_say_what_the_whole_says(text, spoken, size):
    stream = SpokenStream()
    shown = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
    assert ("".join(shown) + stream.close()).strip() == spoken.strip()


def test_what_is_no_reasoning_comes_at_once():
    stream = SpokenStream()
    assert stream.feed("It is 1 < 2") == "It is 1 < 2"
    assert stream.feed(" <b>bold</b>") == " <b>bold</b>"
    assert stream.feed("<think>planted " * 1000) == ""
    assert stream.close() == ""


def test_what_may_be_a_mention_is_held_back_until_it_is_known():
    for text in ("Put an <analysis> first, planted", "```\n<think>planted"):
        stream = SpokenStream()
        assert "planted" not in "".join(stream.feed(character) for character in text)
    stream = SpokenStream()
    assert stream.feed("```\n<think> is a tag.\n```\n") == "```\n<think> is a tag.\n```\n"


PARTS = st.sampled_from(
    [
        "<analysis>",
        "</analysis>",
        "<details type=reasoning>",
        "</details>",
        "&lt;think&gt;",
        "&lt;/",
        "think&gt;",
        "<|channel>",
        "<channel|>",
        "<unused9",
        "4>",
        "<think>",
        "</think>",
        "`",
        "```",
        "````",
        "~~~",
        "\n",
        "a",
        " ",
        "<",
        "◁think▷",
        "◁/think▷",
        "<|channel|>",
        "final",
        "<|message|>",
    ]
)


def test_of_a_text_that_hides_marks_in_marks_without_end_nothing_is_left():
    nested = "<|e" * 3_000 + "<|end|>" + "nd|>" * 3_000
    assert without_reasoning(f"Hello. {nested}") == ""
    assert without_reasoning("Hello. " + "<|e" * 3 + "<|end|>" + "nd|>" * 3) == "Hello."


def test_marks_that_hide_in_marks_are_left_out_as_deep_as_they_may():
    for deep in (1, 8):
        assert without_reasoning("Hello. " + "<|e" * (deep - 1) + "<|end|>" + "nd|>" * (deep - 1)) == "Hello."


@given(st.lists(PARTS).map("".join))
def test_nothing_is_left_out_of_what_was_left(text):
    once = without_reasoning(text)
    assert without_reasoning(once) == once


@given(st.lists(st.lists(PARTS).map("".join)))
def test_pieces_say_the_same_but_for_what_an_end_takes_back(pieces):
    stream, text = SpokenStream(), "".join(pieces)
    shown = "".join([*map(stream.feed, pieces), stream.close()])
    assert shown.endswith(SpokenStream().close(text))


@given(st.lists(PARTS).map("".join).filter(lambda text: not re.search(r">|gt;", text)))
def test_an_unclosed_tag_hides_all_that_follows(text):
    assert without_reasoning(f"<think>{text}") == ""


@given(st.text())
def test_a_text_without_marks_is_returned_as_it_is(text):
    plain = re.sub("[<◁[&]", "", text)
    assert without_reasoning(plain) == plain
