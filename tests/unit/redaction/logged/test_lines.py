"""What stays in a line, what never does, and that a line seen before is redacted as if it had not been."""

import logging
import re
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import metrics
from discreet.redaction import Redactor
from discreet.redaction.logged.kept import kept_spans
from discreet.redaction.logged.lines import LineRedactor, TakesLong
from discreet.redaction.logs import RedactingFilter

REDACTOR = Redactor()
ID = "0d2c5b1e-7a44-4f0b-9b7a-3f2f6f0c9e11"

VALUES = (
    "ann@example.com",
    "ann (at) example (dot) com",
    "+1 202 456 1111",
    "0912 345 678",
    "8 (495) 123-45-67",
    "4111 1111 1111 1111",
    "my password is hunter2!x",
    "мой пароль: kotik-2019",
    "mật khẩu của tôi là conmeo99",
    "密碼是 kitty8899",
    "your code is 482910",
    "614 Lyons Street, Apt 14B, Lyonsmouth",
    "ул. Ленина, д. 5, кв. 12",
    "台北市信義區市府路45號",
    "https://ann:hunter22@example.com/x?token=abcdef1234567890",
    "203.0.113.7",
    "DE89 3704 0044 0532 0130 00",
    "api_key=" + "a1b2" * 8,
)
PROSE = (
    "turn.ended",
    "the store answered",
    "GET /threads/",
    "status=200",
    "thread_id=",
    "сохранено",
    "đã lưu",
    "已儲存",
    " - ",
    '"',
    ": ",
    "code",
    "call",
    "token",
    "key=",
)
STAMPS = st.builds(
    "{:%Y-%m-%d}{}{:%H:%M:%S.%f}{}".format,
    st.dates(),
    st.sampled_from("T "),
    st.times(),
    st.sampled_from(["", "Z", "+00:00", "+0800"]),
).filter(re.compile("[12][0-9]{3}-").match)
AMOUNTS = st.one_of(
    st.builds("{}ms".format, st.integers(0, 9_999_999)),
    st.builds("{:.3f}s".format, st.floats(0, 999)),
    st.builds("run_exec_ms={}".format, st.integers(0, 9_999_999)),
    st.builds("status={}".format, st.integers(100, 599)),
)
KEPT = st.one_of(st.uuids(version=4).map(str), STAMPS, AMOUNTS)


def lines(*fragments):
    parts = st.one_of(st.sampled_from(PROSE), *fragments)
    return st.lists(parts, min_size=1, max_size=8).map(" ".join)


@pytest.mark.parametrize(
    "line",
    [
        "2026-04-13T16:04:04.491258Z [info     ] Background run succeeded",
        "at 2024-07-14T22:18:00.637148Z done",
        "2026-11-26 16:51:22,123 INFO discreet.worker worker.started",
        '127.0.0.1:54321 - "GET /threads/0d2c5b1e-7a44-4f0b-9b7a-3f2f6f0c9e11/state HTTP/1.1" 200',
        "127.0.0.1 - - [26/Nov/2026:16:51:22 +0000] 200 12ms",
        f"GET /threads/{ID} 200 152399ms",
        f"run_id={ID} thread_id={ID} tokens=4121 run_exec_ms=2024561",
        "request_id=9f86d081884c7d659a2feaa0c55ad015 took_ms=1523.25",
        "created_at=1764175882.123456 timestamp: 1764175882123",
        "persist.failed cause=PoolTimeout seconds=10.002",
    ],
)
def test_what_says_when_which_and_how_long_stays(line):
    assert LineRedactor(REDACTOR).redact(line) == line


@pytest.mark.parametrize(
    ("line", "redacted"),
    [
        (f"api token: {ID}", "api token: <SECRET>"),
        (f"password={ID}", "password=<SECRET>"),
        ("my password since 2024-01-01 10:00 is hunter2!x", "my password since 2024-01-01 10:00 is <SECRET>"),
        ("password: 12ms", "password: 12ms"),
        ("waited +49 170 5551234ms", "waited <PHONE>ms"),
        ("waited 0170 5551234ms", None),
        ("waited 4111 1111 1111 1111ms", "waited <CARD>ms"),
        ("call 202 456 1111 s later", "call <PHONE> s later"),
        ("code 482910 took 12ms", None),
        ("Apt 14B, 614 Lyons Street", None),
        ("phone_ms=+12024561111", "phone_ms=<PHONE>"),
        ("request_id=4111111111111111", "request_id=<CARD>"),
        ("thread_id=ann@example.com", "thread_id=<EMAIL>"),
    ],
)
def test_what_only_looks_like_that_goes_as_it_does_elsewhere(line, redacted):
    assert LineRedactor(REDACTOR).redact(line) == (REDACTOR.redact(line) if redacted is None else redacted)


@pytest.mark.slow
@settings(deadline=None)
@given(lines(KEPT, st.sampled_from(VALUES)), st.data())
def test_a_line_seen_before_with_other_ids_is_redacted_as_if_it_were_new(line, data):
    spans = list(kept_spans(line))
    twin = line
    for start, end in reversed(spans):
        fresh = re.sub("[0-9]", lambda _: str(data.draw(st.integers(0, 9))), line[start:end])
        if next(iter(kept_spans(line[:start] + fresh + line[end:])), None):
            twin = twin[:start] + fresh + twin[end:]
    seen = LineRedactor(REDACTOR)
    seen.redact(twin)
    assert seen.redact(line) == LineRedactor(REDACTOR).redact(line)


@pytest.mark.slow
@settings(deadline=None)
@given(lines(KEPT, st.sampled_from(VALUES)))
def test_a_line_that_passes_holds_nothing_the_redactor_finds_but_what_stays(line):
    redacted = LineRedactor(REDACTOR).redact(line)
    blanked = "".join(" " if any(start <= place < end for start, end in kept_spans(redacted)) else char
                      for place, char in enumerate(redacted))  # fmt: skip
    left = [blanked[each.start : each.end] for each in REDACTOR.findings(redacted)]
    assert {value for value in VALUES if value in redacted} <= {
        value for value in VALUES if value in REDACTOR.redact(line)
    }
    assert all(not value.strip(" \"':=") or value not in line for value in left), (line, left)


@pytest.mark.fast_cases(6)
@pytest.mark.parametrize("value", VALUES)
@settings(max_examples=8, deadline=None)
@given(KEPT, KEPT)
def test_a_value_beside_what_stays_goes(value, before, after):
    redacted = LineRedactor(REDACTOR).redact(f"{before}; {value}; {after}")
    parts = {part for part in re.findall(r"\w{4,}", value) if part not in before + after}
    assert not {part for part in parts if part in redacted} - {*re.findall(r"\w{4,}", REDACTOR.redact(value))}


def test_what_was_found_is_known_by_its_digest_and_holds_no_text():
    redactor = LineRedactor(REDACTOR)
    redactor.redact("mail to ann@example.com")
    assert "ann" not in repr(vars(redactor._known))


def test_a_search_that_is_not_allowed_is_taken_back():
    redactor = LineRedactor(REDACTOR)
    line = f"thread_id={ID} " + "word " * 100
    with pytest.raises(TakesLong), redactor.within(300):
        redactor.redact(line)
    redactor.redact(line)
    with redactor.within(300):
        assert redactor.redact(line.replace(ID, str(uuid.uuid4())))
    with pytest.raises(TakesLong), redactor.within(300):
        redactor.redact("word " * 10_000)


def test_placeholders_in_a_log_are_not_counted_as_text_of_users():
    def counted():
        samples = [each for metric in metrics.redactions.collect() for each in metric.samples]
        return sum(each.value for each in samples if each.name.endswith("_total"))

    before = counted()
    record = logging.makeLogRecord({"msg": "mail to %s", "args": ("ann@example.com",), "thing": object(), "key": b"x"})
    RedactingFilter().filter(record)
    assert record.getMessage() == "mail to <EMAIL>"
    assert counted() == before
    REDACTOR.redact("mail to ann@example.com")
    assert counted() == before + 1
