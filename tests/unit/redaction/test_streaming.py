import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.redaction import Redactor, StreamingRedactor
from discreet.redaction.streaming import HOLD_BACK, MAX_RUN

REDACTOR = Redactor()
THREAD = Redactor(placeholder_key=bytes(32)).for_thread("1")
MAIL = "ann@example.com"
BODY = "".join(random.Random(3).choices(string.ascii_letters + string.digits + "+/", k=64)) + "\n"


def private_key(lines, kind="RSA PRIVATE KEY", end=True):
    return f"-----{'BEGIN'} {kind}-----\n" + BODY * lines + (f"-----END {kind}-----\n" if end else "")


def streamed(text, sizes, redactor=REDACTOR):
    """Return what comes out for chunks of the given sizes, over and over."""
    stream = StreamingRedactor(redactor)
    out = []
    start, turn = 0, 0
    while start < len(text):
        end = start + sizes[turn % len(sizes)]
        out.append(stream.feed(text[start:end]))
        start, turn = end, turn + 1
    return "".join([*out, stream.close()])


PIECES = [
    MAIL,
    "write to ann [at] example [dot] com",
    "信箱test@example.com謝謝。",
    "(0912) 345 678",
    "+84 912\n345 678",
    "8 921 651 47 69",
    "4111 1111 1111 1111",
    "mật khẩu của tôi là " + "tr0ub4dor" + "&3",
    "password = 'two words of it'",
    'the "api_key": "' + "a1B2c3D4" * 4 + '"',
    "sk-" + "a1" * 20,
    "postgres://app:" + "hunter2" + "@db/app",
    private_key(3),
    private_key(2, end=False),
    "12 34 56 78 90",
    "<EMAIL> <PHONE:7K2QX3MD>",
    "ann%40example.com",
    "Đường phố hôm nay rất đông.",
    "Мы гуляли по Невскому проспекту.",
    "我昨天在忠孝東路逛街。",
    "The quick brown fox jumps over the lazy dog, twice. ",
    "lorem ipsum dolor sit amet " * 30,
    "\n\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
]
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=20)), max_size=40).map(" ".join)
SIZES = st.lists(st.one_of(st.integers(1, 9), st.integers(1, 900)), min_size=1, max_size=20)


@pytest.mark.slow
@given(TEXTS, SIZES)
def test_a_stream_comes_out_as_the_whole_text_would(text, sizes):
    assert streamed(text, sizes) == REDACTOR.redact(text)


@pytest.mark.slow
@pytest.mark.slow
@given(TEXTS, SIZES)
def test_a_thread_streams_with_its_tags(text, sizes):
    assert streamed(text, sizes, THREAD) == THREAD.redact(text)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 10_000])
def test_no_value_leaks_whatever_the_chunks(size):
    text = ("Some words before it. " * 30 + f"{MAIL} and 0912 345 678, " + private_key(40)) * 5
    out = streamed(text, [size])
    assert out == REDACTOR.redact(text)
    assert MAIL not in out
    assert BODY.strip() not in out


def test_text_comes_out_while_it_arrives():
    stream = StreamingRedactor(REDACTOR)
    out = [stream.feed("word ") for _ in range(1000)]
    shown = len("".join(out))
    assert 5000 - shown <= 2 * HOLD_BACK
    assert "".join([*out, stream.close()]) == "word " * 1000


def test_a_run_without_a_place_to_cut_is_masked():
    text = "before " + "x" * (3 * MAX_RUN) + " after it all"
    assert streamed(text, [100]) == "before <OVERSIZE> after it all"


def test_numbers_without_end_are_masked_and_so_is_the_one_they_end_in():
    text = "see 12 345 6789 " * 2 + "12 345 6789 " * 2000 + "0912 345 678 then words"
    assert streamed(text, [50]) == "see 12 345 6789 see <OVERSIZE> then words"


@pytest.mark.slow
def test_a_key_longer_than_what_is_held_is_masked_to_its_end():
    out = streamed("here: " + private_key(1500) + "bye, now. " * 100, [300])
    assert BODY[:20] not in out
    assert out.startswith("here: <SECRET>")
    assert out.endswith("bye, now. " * 100)


def test_characters_cut_in_two_come_out_whole():
    assert streamed("so 😀 ok".replace("😀", "\ud83d\ude00"), [1]) == "so 😀 ok"
    assert streamed("half \ud83d", [3]) == "half \ufffd"
    assert streamed("half \ud83dx \0y", [1]) == "half \ufffdx y"


def test_a_placeholder_cut_in_two_is_left_alone():
    text = "see <EMAIL> and <PHONE> " * 60
    assert streamed(text, [1]) == text


def test_a_closed_stream_starts_anew():
    stream = StreamingRedactor(REDACTOR)
    stream.feed("password: ")
    assert stream.close() == "password: "
    stream.feed("hunter2xyz is a word")
    assert stream.close() == "hunter2xyz is a word"


def test_an_empty_stream_is_empty():
    stream = StreamingRedactor(REDACTOR)
    assert stream.feed("") + stream.close() == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("login,password\n", "user{0},Tul{0}ip!x{0}\n"),
        ("| user | password |\n|---|---|\n", "| user{0} | Tul{0}ip!x{0} |\n"),
        ("phones: ", "358 {0:04}, "),
    ],
)
def test_what_a_heading_tells_holds_for_the_whole_of_a_long_stream(head, row):
    text = "Here you are.\n" + head + "".join(row.format(number) for number in range(200)) + "\n\nThat is all of it."
    assert streamed(text, [37]) == REDACTOR.redact(text)
