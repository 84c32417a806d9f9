import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.redaction import Finding, Redactor
from discreet.redaction.engine import MOST_WORK, SHORT_CHARS
from discreet.redaction.rescan import MARGIN, REACH, inside, neighbourhoods, with_placeholders


def test_of_a_long_text_only_what_changed_is_looked_at():
    text = "x" * 20_000
    findings = [Finding("EMAIL", 100, 120), Finding("PHONE", 9_000, 9_010), Finding("PHONE", 9_500, 9_503)]
    shift = len("<EMAIL>") - 20
    growth = len("<PHONE>") - 10 + len("<PHONE>") - 3
    assert neighbourhoods(text, findings, findings[1:]) == [(9_000 + shift - REACH, 9_503 + shift + growth + REACH)]
    assert neighbourhoods(text, findings, findings[:1]) == [(0, 100 + 7 + REACH)]
    assert neighbourhoods(text[:1000], findings[:1], findings[:1]) is None


def test_what_was_united_with_an_older_finding_counts_as_changed():
    text = "x" * 20_000
    assert neighbourhoods(text, [Finding("EMAIL", 5_000, 5_100)], [Finding("PHONE", 5_050, 5_060)]) == [
        (5_000 - REACH, 5_007 + REACH)
    ]


def test_the_edges_of_a_part_are_context_only():
    view = with_placeholders("x" * 10_000, [Finding("EMAIL", 2_000, 2_100)])
    part = view.part(1_500, 4_000)
    assert inside(part, at_start=False, at_end=False) == (1_500 + MARGIN, 4_093 - MARGIN)
    assert inside(part, at_start=True, at_end=True) == (0, 4_093)


class Uncovering:
    """Finds an `a` that stands right behind a placeholder or at the start of a line, one after the other."""

    type = "LETTER"
    seen = 0

    def spans(self, view):
        self.seen += len(view.text)
        return [(i, i + 1) for i, char in enumerate(view.text) if char == "a" and view.text[i - 1] in "\0\n" and i]


def test_values_that_uncover_one_another_are_all_found_in_a_long_text():
    recogniser = Uncovering()
    text = "filler " * 3_000 + "\n" + "a" * 30 + " filler" * 3_000
    out = Redactor(recognisers=[recogniser]).redact(text)
    assert out == text.replace("a" * 30, "<LETTER>" * 30)
    assert recogniser.seen < 2 * len(text)


@pytest.mark.slow
def test_a_text_that_goes_on_uncovering_is_masked_as_a_whole():
    text = "filler " * 3_000 + "\n" + "a" * 3_000 + " filler" * 3_000
    recogniser = Uncovering()
    assert Redactor(recognisers=[recogniser]).redact(text) == "<UNKNOWN>"
    assert recogniser.seen < (MOST_WORK + 1) * len(text)


PIECES = [
    "ann@example.com",
    "0912 345 678, ",
    "phone 358 0594 ",
    "4 1 1 1 ",
    "1.2.3.",
    "三 ",
    "password: ",
    "<EMAIL>",
    "word ",
    "12 Main St, ",
    "\n",
]


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(st.tuples(st.sampled_from(PIECES), st.integers(1, 60)), min_size=12, max_size=24))
def test_redaction_of_long_texts_is_idempotent(pieces):
    text = "".join(piece * times for piece, times in pieces) * 8
    redactor = Redactor()
    once = redactor.redact(text)
    assert redactor.redact(once) == once


@pytest.mark.parametrize("size", [SHORT_CHARS - 50, SHORT_CHARS + 50])
def test_short_and_long_texts_come_out_alike(size):
    text = "call 0912 345 678, 358 0594 or ann@example.com. " * (size // 48)
    assert Redactor().redact(text) == "call <PHONE>, <PHONE> or <EMAIL>. " * (size // 48)


FILLER = "lorem ipsum dolor sit amet " * 60


@pytest.mark.fast_cases(8)
@pytest.mark.parametrize("space", [" ", ""])
@pytest.mark.parametrize("before", ["", "word ", "x" * 70, "x" * 300 + "/"])
@pytest.mark.parametrize("after", ["", " word", "/" + "x" * 300])
def test_what_is_encoded_is_found_wherever_words_end(space, before, after):
    text = f"{FILLER}{space}{before}?to=ann%40example.com&x=1{after}{FILLER}"
    assert "<EMAIL>" in Redactor().redact(text) or "<URL>" in Redactor().redact(text)
    assert "ann%40example" not in Redactor().redact(text)
