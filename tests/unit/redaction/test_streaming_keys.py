"""Private keys in a stream, behind what logs, quotes, comments and differences write before each line."""

import base64
import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.redaction import Redactor, StreamingRedactor
from discreet.redaction.recognisers import PrivateKeyRecogniser
from discreet.redaction.streaming import HOLD_BACK, MAX_HELD
from discreet.redaction.tail import open_from

REDACTOR = Redactor()
KEYS = Redactor(recognisers=[PrivateKeyRecogniser()])
DASHES = "-" * 5
MARKS = {
    "nothing": ("", ""),
    "a quote": ("> ", ""),
    "a comment": ("# ", ""),
    "an indent": ("  ", ""),
    "an added line": ("+", ""),
    "a removed line": ("-", ""),
    "a numbered line": ("  12: ", ""),
    "a list of strings": ('"', r"\n" + '",'),
    "a log": ("2024-01-01 12:00:00 app | ", ""),
    "a log of much": ("2024-01-01T12:00:00.123456Z host-17 app[1234]: INFO request 5f2a module.part.name worker-3 | ", ""),
    "a log of objects": ('{"log":"', r"\n" + '","stream":"out","time":"2024-01-01T12:00:00Z"}'),
}  # fmt: skip


def key(rows: int, *, seed: int = 1, last: int = 36, kind: str = "PRIVATE KEY", end: bool = True) -> list[str]:
    """Return the lines of a key, of which the last row of base64 has `last` bytes."""
    body = base64.b64encode(random.Random(seed).randbytes(48 * rows + last)).decode()
    lines = [f"{DASHES}BEGIN {kind}{DASHES}", *(body[at : at + 64] for at in range(0, len(body), 64))]
    return [*lines, f"{DASHES}END {kind}{DASHES}"] if end else lines


SHAPES = {
    "a short key": key(1),
    "a key": key(12),
    "a key with a short last row": key(12, last=3),
    "a key cut off": key(12, end=False),
    "a key cut off in a short row": key(12, last=3, end=False),
    "two keys": key(9) + key(9, seed=2),
    "a key cut off and another": key(9, end=False) + key(9, seed=2),
    "an OpenPGP key": [
        *key(9, kind="PGP PRIVATE KEY BLOCK", last=3)[:1],
        "Comment: made for nobody",
        "",
        *key(9, kind="PGP PRIVATE KEY BLOCK", last=3)[1:-1],
        "=aB3d",
        key(1, kind="PGP PRIVATE KEY BLOCK")[-1],
    ],
}
BEFORE = ["Some line before it."] * 3
BEHIND = ["And some line behind it, which is longer."] * 16


def marked(lines: list[str], marks: str, newline: str = "\n") -> str:
    before, behind = MARKS[marks]
    return newline.join(before + line + behind for line in [*BEFORE, *lines, *BEHIND]) + newline


def streamed(pieces: Iterator[str] | list[str], *, early: bool, redactor: Redactor = KEYS) -> str:
    stream = StreamingRedactor(redactor, early=early)
    return "".join([*map(stream.feed, pieces), stream.close()])


def by(size: int, text: str) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("marks", MARKS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_key_comes_out_as_in_the_whole_text_whatever_stands_before_its_lines(shape, marks, early):
    for newline, sizes in (("\n", (1, 7, 40, 700)), ("\r\n", (3, 200))):
        text = marked(SHAPES[shape], marks, newline)
        whole = KEYS.redact(text)
        assert whole.count("<SECRET>") == (2 if len(SHAPES[shape]) > 15 and shape != "an OpenPGP key" else 1)
        assert [size for size in sizes if streamed(by(size, text), early=early) != whole] == []


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("marks", [marks for marks in MARKS if len("".join(MARKS[marks])) < 30])
@pytest.mark.parametrize(("shape", "step"), [("a short key", 1), ("a key with a short last row", 29)])
def test_every_split_into_two_comes_out_as_the_whole(shape, step, marks, early):
    text = marked(SHAPES[shape], marks)
    text = text[: text.index(BEHIND[0]) + HOLD_BACK + 100]
    whole = KEYS.redact(text)
    cuts = range(text.index(DASHES) - 1, text.rindex(DASHES) + 10, step)
    assert [cut for cut in cuts if streamed([text[:cut], text[cut:]], early=early) != whole] == []


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.sampled_from(list(SHAPES)),
    st.sampled_from(list(MARKS)),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.lists(st.integers(0, 1200), min_size=2, max_size=2),
)
def test_three_pieces_come_out_as_the_whole_with_all_recognisers(shape, marks, newline, early, cuts):
    text = marked(SHAPES[shape], marks, newline)
    first, second = sorted(cuts)
    pieces = [text[:first], text[first:second], text[second:]]
    assert streamed(pieces, early=early, redactor=REDACTOR) == REDACTOR.redact(text)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("marks", MARKS)
def test_a_key_that_is_longer_than_what_is_held_has_one_placeholder(marks, early):
    text = marked(key(MAX_HELD // 64 + 60), marks)
    before, behind = MARKS[marks]
    ordinary = [before + line + behind for line in [*BEFORE, "<SECRET>", *BEHIND]]
    assert streamed(by(977, text), early=early) == "\n".join(ordinary) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("newline", [r"\n", r"\r\n", r"\\n"])
def test_a_long_key_with_escaped_line_breaks_is_masked_to_its_end(newline, early):
    for shift in range(0, 64, 13):
        rows = newline.join(key(MAX_HELD // 64 + 60, end=shift % 2 == 0))
        text = "x" * shift + " here: " + rows + f"{newline} and so on. " * 3
        assert streamed(by(300, text), early=early) == KEYS.redact(text)


@pytest.mark.slow
@pytest.mark.parametrize("marks", MARKS)
def test_of_a_key_that_is_being_written_nothing_is_let_go_early(marks):
    before, _ = MARKS[marks]
    text = marked(SHAPES["a key"], marks)
    start, end = text.index(DASHES + "BEGIN"), text.index(DASHES + "END")
    first_row = text.index("\n", start)
    assert max(open_from(text[:at]) for at in range(first_row, end)) == start
    whole = text[: end + len(SHAPES["a key"][-1])]
    assert open_from(f"{whole}\n{before}And then we went home again.\n{before}So") > end
