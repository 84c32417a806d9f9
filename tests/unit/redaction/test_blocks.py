"""Each block of a message is redacted by itself, and all of them together."""

import random
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import values
from kit.blocks import block, in_blocks
from kit.sentences import SAID
from kit.values import Chance
from langchain_core.messages import HumanMessage

from discreet.redaction import Redactor
from discreet.redaction.blocks import redact_blocks
from discreet.redaction.value_capture import CollectingRedactor
from discreet.redaction.walker import redact_object
from discreet.state.message_text import joined, text_blocks

REDACTOR = Redactor(placeholder_key=bytes(32))
THREAD = REDACTOR.for_thread("1")
KINDS = {"CARD": values.card, "PHONE": values.phone, "IBAN": values.iban, "IP": values.ip, "EMAIL": values.email}


@pytest.mark.parametrize("serial", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_no_neighbour_hides_a_value(kind, serial):
    value = KINDS[kind](Chance(serial, random.Random(serial)))
    for name, content in in_blocks(value):
        redacted = redact_blocks(text_blocks(content), THREAD)
        assert value not in redacted.replace("\n", " "), name
        assert f"<{kind}" in redacted, name


@pytest.mark.parametrize("kind", ["CARD", "PHONE", "IBAN", "IP", "EMAIL", "NATIONAL_ID", "PASSWORD"])
@pytest.mark.parametrize("language", ["en", "vi", "ru", "zh"])
def test_in_four_languages(kind, language):
    make, sentence = SAID[kind][language]
    value = make(Chance(5, random.Random(5)))
    head = sentence.split("{}")[0]
    assert value not in redact_blocks([head + value, "2024"], THREAD)


BLOCKS = st.lists(
    st.sampled_from(
        ["221-6565", "2", "at 12:30", "call", "2026-01-02", "4111 1111 1111 1111 it is", "+44 20 7946 0958"]
    )
    | st.text(st.sampled_from("0123456789 -+.\nab"), min_size=1, max_size=24),
    min_size=2,
    max_size=4,
)


@given(BLOCKS)
def test_what_a_block_alone_tells_is_nowhere(blocks):
    redacted = redact_blocks(blocks, THREAD)
    alone = [text[each.start : each.end] for text in blocks for each in REDACTOR.findings(text)]
    others = joined(each for text in blocks for each in [REDACTOR.redact(text)])
    assert [value for value in alone if value in redacted and value not in others] == []


def test_digits_of_the_block_before_do_not_halve_a_card():
    assert "1111" not in redact_blocks(["221-6565", "4111 1111 1111 1111 it is"], THREAD)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("said", ["it is {}", "{}, please", "Я живу: {}."])
def test_a_value_that_is_cut_anywhere_is_in_no_block(kind, said):
    value = KINDS[kind](Chance(3, random.Random(3)))
    text = said.format(value)
    start = text.index(value) + 1
    in_two = [[text[:at], text[at:]] for at in range(start, start + len(value) - 1)]
    streamed = [text[at : at + 4] for at in range(0, len(text), 4)]
    with_a_blank = [text[:start], " ", text[start:]]
    for blocks in (*in_two, streamed, with_a_blank):
        content = [{"type": "text", "text": block} for block in blocks]
        apart = "".join(text_blocks(redact_object(content, THREAD)))
        for redacted in (redact_blocks(blocks, THREAD), apart):
            assert "".join(value.split()) not in "".join(redacted.split()), blocks


TOLD = {
    "en": ["Note: password=Trembl3Kite9", "My passphrase is Trembl3Kite9", "I was born on 14 March 1987"],
    "vi": ["Mật khẩu của tôi là Trembl3Kite9", "Ngày sinh của tôi: 14/03/1987"],
    "ru": ["Мой пароль Trembl3Kite9", "Дата рождения: 14.03.1987"],
    "zh": ["我的密码是 Trembl3Kite9", "我的出生日期是1987年3月14日"],
}
"""Values that a word before them tells."""


@pytest.mark.parametrize("language", TOLD)
def test_a_word_that_is_cut_anywhere_still_tells_the_value_behind_it(language):
    for text in TOLD[language]:
        value = re.search("Trembl3Kite9|[0-9].*", text)[0]
        for at in range(1, len(text) - len(value) + 1):
            blocks = [text[:at], text[at:]]
            assert value not in redact_blocks(blocks, THREAD), blocks
            apart = text_blocks(redact_object([block(each) for each in blocks], THREAD))
            assert value not in "".join(apart), blocks


HARMLESS = tomllib.loads(Path(__file__).with_name("harmless_blocks.toml").read_text("utf-8"))


@pytest.mark.parametrize("language", HARMLESS)
def test_blocks_that_tell_nothing_stay_as_they_are(language):
    for blocks in HARMLESS[language]:
        assert redact_blocks(blocks, THREAD) == joined(blocks)
        assert text_blocks(redact_object([block(each) for each in blocks], THREAD)) == blocks


def test_what_two_blocks_hold_together_has_one_placeholder():
    assert redact_blocks(["card 4111 1111", "1111 1111 ok"], REDACTOR) == "card <CARD> ok"


def test_the_values_of_blocks_can_be_put_back():
    collecting = CollectingRedactor(THREAD)
    redacted = redact_blocks(["write to ann@example.com", "2 nights <EMAIL:AAAAAAAA>"], collecting)
    assert redacted == "write to <EMAIL:I77NUSRH>\n2 nights <EMAIL>"
    assert collecting.values == {"<EMAIL:I77NUSRH>": "ann@example.com"}


def test_a_redactor_that_tells_no_places_gets_each_block():
    class Upper:
        def redact(self, text):
            return "<CARD>" if text == "4111" else text

    assert redact_blocks(["4111", "2 nights"], Upper()) == "<CARD>\n2 nights"


def test_blocks_that_stay_apart_have_a_placeholder_each():
    content = [block("card 4111 1111"), block("1111 1111 ok"), {"type": "image", "url": "x"}, block("2 nights")]
    masked = redact_object({"messages": [HumanMessage(content)]}, CollectingRedactor(THREAD))["messages"][0].content
    assert [each.get("text") for each in masked] == ["card <CARD>", "<CARD> ok", None, "2 nights"]
    whole = [block("write to ann@example.com"), block("2 nights")]
    assert redact_object(whole, THREAD) == [block("write to <EMAIL:I77NUSRH>"), block("2 nights")]


@pytest.mark.parametrize("kind", KINDS)
def test_no_block_that_stays_apart_shows_a_piece(kind):
    value = KINDS[kind](Chance(3, random.Random(3)))
    for name, content in in_blocks(value):
        shown = "".join("".join(text_blocks(redact_object(content, THREAD))).split())
        assert "".join(value.split()) not in shown, name


def test_blocks_of_nothing_are_nothing():
    assert redact_blocks(text_blocks([block(""), block("")]), THREAD) == ""


def test_a_block_without_text_tells_its_kind_alone():
    assert redact_blocks(text_blocks([block(""), {"type": "image"}]), THREAD) == "[image]"


@pytest.mark.parametrize(
    "sentence", ["Please book room 12.", "Xin đặt phòng 12.", "Пожалуйста, номер 12.", "请订12号房。"]
)
def test_an_address_at_the_end_of_a_block_takes_no_word_of_the_next(sentence):
    shown = redact_blocks(["Write to ann@example.org", sentence], THREAD)
    assert re.fullmatch(r"Write to <EMAIL:\w+>\n" + re.escape(sentence), shown)
