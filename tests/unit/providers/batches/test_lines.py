"""JSON lines, however the network cuts them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.ports import BatchResult
from discreet.providers.batches.lines import code_of, line_of, lines_file, results_of, split


async def pieces(*given):
    for piece in given:
        yield piece


async def lines(*given, **options):
    return [line async for line in split(pieces(*given), **options)]


@given(st.lists(st.binary(max_size=9), max_size=6), st.data())
async def test_lines_are_the_same_however_they_are_cut(parts, data):
    whole = b"\n".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    cut = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    found = await lines(*cut)
    assert found == (whole.split(b"\n") if not whole.endswith(b"\n") and whole else whole.split(b"\n")[:-1])


async def test_of_an_endless_line_only_its_beginning_is_held():
    assert await lines(*[b"x" * 10] * 100, b"\nshort\n", most=25) == [b"x" * 30, b"short"]


async def test_lines_that_are_none_of_ours_are_left_out_and_counted(caplog):
    given = [b'{"id": "1"}\n\n', b"null\n[1]\n3\n{\n\xff\n", b"[" * 100_000 + b"\n", b'{"other": 1}\n{"id": "2"}']
    results = results_of(
        pieces(*given), lambda line: BatchResult(custom_id=line["id"], state="succeeded"), batch_id="b-1"
    )
    assert [each.custom_id async for each in results] == ["1", "2"]
    assert "batch_lines_unreadable batch=b-1 lines=7" in caplog.text


async def test_a_file_of_lines_begins_at_its_beginning():
    async with lines_file({"a": number, "b": "茶\u2028"} for number in range(3)) as file:
        content = file.read().decode()
    assert [json.loads(line)["a"] for line in content.splitlines()] == [0, 1, 2]
    assert "茶" in content


def test_a_line_is_one_line():
    value = {"a": "x\u2028y\u2029z\x85\r\n"}
    line = line_of(value)
    assert len(line.decode().splitlines()) == 1
    assert json.loads(line) == value


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ((None, "", "server_error"), "server_error"),
        ((429,), "429"),
        (("It says: tea", "rate.limit-1"), "rate.limit-1"),
        (("x" * 65,), "unknown"),
        ((), "unknown"),
    ],
)
def test_a_code_is_told_and_never_a_sentence(given, code):
    assert code_of(*given) == code
