"""A word is found however it is written, and no other is."""

from __future__ import annotations

import json
import re

import pytest

from discreet.rights.erasure.spellings import in_columns, in_text

WORDS = ["zebrafinch", "зяблик", "chim sẻ", "斑胸草雀", 'der "Grüne"', r"a\b", "50 % (c.)", "straße", "🦜"]
WRITTEN = [
    str,
    str.upper,
    str.title,
    json.dumps,
    lambda word: re.sub(r"(?<=\\u)\w{4}", lambda digits: digits[0].upper(), json.dumps(word)),
    lambda word: json.dumps(json.dumps(json.dumps({"said": word}))),
]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("written", WRITTEN)
def test_a_word_is_found_however_it_is_written(word, written):
    said = f"It said {written(word)}."
    assert re.search(in_text(word), said)
    assert re.search(in_text(word).encode(), said.encode())
    assert re.search(in_columns(["goldcrest", word]), said)
    assert re.search(in_columns(["goldcrest", word]), f"\\x{said.encode().hex()}")


@pytest.mark.parametrize("word", WORDS)
def test_another_word_is_not(word):
    said = "A goldcrest, ab, 50 percent (cx)"
    assert not re.search(in_text(word), said)
    assert not re.search(in_columns([word]), f"{said} \\x{said.encode().hex()}")


def test_no_word_is_nothing_to_look_for():
    assert in_columns([]) is None
