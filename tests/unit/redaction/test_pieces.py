"""A long text is searched in pieces, and found in it is what is found in the whole."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.sentences import LANGUAGES, SAID
from kit.values import Chance

from discreet.redaction import Redactor
from discreet.redaction.findings import Finding

WHOLE, IN_PIECES = Redactor(), Redactor(piece_chars=800)
FILLER = {
    "en": "The quick brown fox jumps over the lazy dog, twice. ",
    "vi": "Đường phố hôm nay rất đông. ",
    "ru": "Мы гуляли по Невскому проспекту. ",
    "zh": "我昨天在忠孝東路逛街，天气很好。",
}


def told(language, count, seed):
    """Return sentences of a language, each tenth of which says a value."""
    chance, parts = random.Random(seed), []
    for serial in range(count):
        make, sentence = SAID[chance.choice([*SAID])][language]
        parts.append(sentence.format(make(Chance(serial, chance))) if serial % 10 == 0 else FILLER[language])
    return " ".join(parts)


@pytest.mark.parametrize("language", LANGUAGES)
def test_pieces_tell_what_the_whole_tells(language):
    text = told(language, 60, 1)
    assert IN_PIECES.findings(text) == WHOLE.findings(text) != []


@pytest.mark.parametrize("kind", SAID)
def test_a_value_stands_across_the_end_of_a_piece(kind):
    make, sentence = SAID[kind]["en"]
    said = sentence.format(make(Chance(3, random.Random(3))))
    for shift in range(0, len(said), 16):
        text = (FILLER["en"] * 20)[: 800 - shift] + f" {said} " + FILLER["en"] * 20
        assert IN_PIECES.findings(text) == WHOLE.findings(text) != [], shift


RUNS = {
    "letters": "x" * 3_000,
    "digits": "12 345 6789 " * 300,
    "a key": f"-----{'BEGIN'} PRIVATE KEY-----\n" + "aB3+" * 600,
}


@pytest.mark.parametrize("run", RUNS)
def test_what_has_no_place_to_cut_is_searched_as_a_whole(run):
    text = f"mail ann@example.com {RUNS[run]} mail bob@example.com"
    assert IN_PIECES.findings(text) == WHOLE.findings(text)


@pytest.mark.slow
@given(st.sampled_from(LANGUAGES), st.integers(0, 10**6), st.integers(200, 3_000))
def test_drawn_texts_in_pieces_of_any_length(language, seed, chars):
    text = told(language, 120, seed)
    assert Redactor(piece_chars=chars).findings(text) == WHOLE.findings(text)


def test_a_text_beyond_a_piece_is_redacted_and_not_given_up():
    text = FILLER["en"] * 2_000 + "Write to ann@example.com."
    assert len(text) > 101_000
    at = text.index("ann@")
    assert WHOLE.findings(text) == IN_PIECES.findings(text) == [Finding("EMAIL", at, at + len("ann@example.com"))]
    assert WHOLE.redact(text) == text.replace("ann@example.com", "<EMAIL>")
