"""Time stamps have as many digits as telephone numbers, cards and codes, and are none of them."""

import random
from datetime import UTC, datetime, timedelta, timezone

import pytest

from discreet.redaction import Redactor

REDACTOR = Redactor()
STAMPS = 10_000
TOGETHER = 40
"""A text has so many of a form: one that has few takes longer for each."""
FIRST = datetime(2002, 1, 1, tzinfo=UTC)
SECONDS = 30 * 365 * 24 * 3600
ZONES = [timezone(timedelta(minutes=minutes)) for minutes in (0, 60, 120, 180, 330, 420, 540, -300, -480)]


def iso(moment, chance):
    return moment.isoformat(chance.choice(" T"), chance.choice(("seconds", "milliseconds", "microseconds")))


def utc(moment, chance):
    fraction = "".join(chance.choices("0123456789", k=chance.choice((1, 2, 3, 6, 7, 9))))
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{fraction}Z"


def compact(moment, chance):
    return f"{moment:%Y%m%dT%H%M%S}{chance.choice(('Z', f'.{chance.randrange(1000):03}Z', ''))}"


def comma(moment, chance):
    """Return what Python's logging writes by default."""
    return f"{moment:%Y-%m-%d %H:%M:%S},{chance.randrange(1000):03}"


def slashes(moment, chance):
    """Return what Go's log writes, with microseconds or without."""
    return f"{moment:%Y/%m/%d %H:%M:%S}{chance.choice(('', f'.{moment.microsecond:06}'))}"


def syslog(moment, chance):
    return f"{moment:%b} {moment.day:2} {moment:%H:%M:%S}{chance.choice(('', f'.{moment.microsecond:06}'))}"


def apache(moment, _):
    return f"[{moment:%d/%b/%Y:%H:%M:%S %z}]"


def mail(moment, _):
    return f"{moment:%a, %d %b %Y %H:%M:%S %z}"


def epoch(moment, chance):
    seconds = moment.timestamp()
    return chance.choice((f"{seconds:.0f}", f"{seconds:.3f}", f"{seconds:.6f}", f"{seconds * 1000:.0f}"))


def klog(moment, chance):
    """Return what Kubernetes' components write."""
    return f"I{moment:%m%d %H:%M:%S}.{moment.microsecond:06} {chance.randrange(1, 99999):7}"


def european(moment, chance):
    return f"{moment:%d.%m.%Y %H:%M:%S}{chance.choice(('', f'.{chance.randrange(1000):03}', f',{chance.randrange(1000):03}'))}"


def clock(moment, chance):
    return f"{moment:%H:%M:%S}.{chance.choice((f'{chance.randrange(1000):03}', f'{moment.microsecond:06}'))}"


FORMS = (iso, utc, compact, comma, slashes, syslog, apache, mail, epoch, klog, european, clock)
LINES = (
    "{}",
    "{} done",
    "{} INFO ok",
    "[{}]",
    "t={} n={:.3f}",
    '{{"t": "{}"}}',
    "lúc {} xong",
    "в {} готово",
    "在{}重启",
    "({})",
)


def stamp(form, chance):
    """Return a time stamp of any of thirty years."""
    moment = FIRST + timedelta(seconds=chance.randrange(SECONDS), microseconds=chance.randrange(1_000_000))
    return form(moment.astimezone(chance.choice(ZONES)), chance)


def paragraphs(form):
    """Return texts with as many time stamps of a form as are due, each in a paragraph of its own."""
    chance = random.Random(form.__name__)
    for place in range(STAMPS // len(FORMS) // TOGETHER + 1):
        line = LINES[place % len(LINES)]
        yield "\n\n".join(line.format(stamp(form, chance), chance.uniform(0, 900)) for _ in range(TOGETHER))


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("form", FORMS)
def test_time_stamps_stay(form):
    changed = [
        (text[each.start - 24 : each.end + 8], each.type)
        for text in paragraphs(form)
        for each in REDACTOR.findings(text)
    ]
    assert changed == []


@pytest.mark.fast_cases(6)
@pytest.mark.parametrize("form", FORMS)
def test_a_time_stamp_alone_stays(form):
    chance = random.Random(form.__name__)
    alone = [stamp(form, chance) for _ in range(40)]
    assert list(map(REDACTOR.redact, alone)) == alone


@pytest.mark.fast_cases(5)
@pytest.mark.parametrize("form", [form for form in FORMS if form is not epoch])
def test_a_log_of_time_stamps_stays(form):
    chance = random.Random(form.__name__)
    moments = (FIRST + timedelta(seconds=1000 * place, microseconds=place * 997) for place in range(200))
    text = "".join(f"{form(moment, chance)} INFO app step {place}\n" for place, moment in enumerate(moments))
    assert REDACTOR.redact(text) == text


def test_there_are_enough_time_stamps():
    assert sum(len(text.split("\n\n")) for form in FORMS for text in paragraphs(form)) >= STAMPS
