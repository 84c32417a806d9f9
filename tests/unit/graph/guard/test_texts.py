"""The texts of one run: redacted once, values kept, ids left alone."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.graph.guard.objects import RunTexts
from discreet.redaction import Redactor, resolve
from discreet.redaction.clean_texts import CleanTexts

REDACTOR = Redactor(placeholder_key=bytes(32))
PLANTED = ("ann@example.com", "+1 202 456 1111", "nguyễn.văn@example.vn", "4111 1111 1111 1111", "пётр@example.ru")


class Counting:
    """A redactor of a thread that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self._redactor = REDACTOR.for_thread("t")

    def redact(self, text: str) -> str:
        return self._redactor.redact(text)

    def mask(self, text: str, known: object = None, *, trusted: bool = False) -> tuple[str, dict[str, str]]:
        self.asked += 1
        return self._redactor.mask(text, None, trusted=trusted)


def run_texts() -> RunTexts:
    return RunTexts(REDACTOR.for_thread("t"), {}, thread="t")


@given(st.lists(st.sampled_from([*PLANTED, "hello", "你好,", "call me:", "\n", "and"]), max_size=30), st.data())
def test_a_text_in_pieces_is_redacted_as_if_it_had_come_whole(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=20)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    texts = run_texts()
    stream = texts.stream()
    shown = "".join([*(stream.feed(piece) for piece in pieces), stream.close()])
    assert not any(value in shown for value in PLANTED)
    assert shown == run_texts().redact(text)
    assert resolve(shown, texts.taken()) == text


def test_the_same_text_is_redacted_once_a_run() -> None:
    redactor = Counting()
    texts = RunTexts(redactor, {})
    first = texts.redact("write to ann@example.com")
    assert texts.redact("write to ann@example.com") == first != "write to ann@example.com"
    assert redactor.asked == 1


def test_a_clean_text_of_one_run_is_not_searched_in_the_next_but_in_another_thread_it_is() -> None:
    redactor, clean = Counting(), CleanTexts()
    for thread in ("a", "a", "b"):
        RunTexts(redactor, {}, thread=thread, clean=clean).redact("good morning")
    assert redactor.asked == 2


def test_values_are_given_out_once() -> None:
    texts = run_texts()
    texts.redact("ann@example.com")
    assert list(texts.taken().values()) == ["ann@example.com"]
    assert texts.taken() == {}


def test_placeholders_of_the_thread_stay() -> None:
    redacted = run_texts().redact("ann@example.com")
    assert run_texts().redact(f"I wrote to {redacted}.") == f"I wrote to {redacted}."


@pytest.mark.parametrize(
    "name",
    [
        lambda: str(uuid4()),
        lambda: f"lc_run--{uuid4()}-0",
        lambda: "call_5f7f2ayrDrYYxOV2EXvyDZhE",
        lambda: "toolu_015u3y7Pysfo0UCJwBBT5UVB",
        lambda: "msg_566b643a5ef0f20eabbd433ea52c0e049891ff140fd173c090",
    ],
)
def test_ids_of_engines_and_providers_stay(name: object) -> None:
    assert callable(name)
    written = name()
    assert run_texts().redact(written) == written
    assert run_texts().redact(f"tool_call_id: {written}") == f"tool_call_id: {written}"
    assert run_texts().identifier(written) == written


def test_a_password_in_the_form_of_an_id_is_taken() -> None:
    assert "SECRET" in run_texts().redact("password: msg_566b643a5ef0f20eabbd433ea52c0e04")


def test_an_id_that_says_something_becomes_one_that_does_not_and_stays_apart_from_others() -> None:
    first, again, other = (
        run_texts().identifier(each) for each in ("ann@example.com", "ann@example.com", "b@example.com")
    )
    assert first == again != other
    assert UUID(first)


def test_nothing_raw_is_in_what_the_objects_show() -> None:
    texts = RunTexts(REDACTOR.for_thread("t"), {"<EMAIL:AAAAAAAA>": "ann@example.com"})
    stream = texts.stream()
    stream.feed("ann@example.com")
    assert "ann" not in repr(texts) + repr(stream)


def test_a_redactor_that_gives_no_values_holds_a_stream_back_to_its_end() -> None:
    class Plain:
        def redact(self, text: str) -> str:
            return text.replace("ann", "<NAME>")

    texts = RunTexts(Plain(), {})
    stream = texts.stream()
    assert [stream.feed("I am a"), stream.feed("nn."), stream.close()] == ["", "", "I am <NAME>."]
