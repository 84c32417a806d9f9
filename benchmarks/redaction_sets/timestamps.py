"""Time stamps with fractions of a second, as programs write them: `rows(count, seed)`. Nothing in them may be masked."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

FIRST = datetime(2000, 1, 1, tzinfo=UTC)
DAYS = 36 * 365
"""Until 2036."""
ZONES = ("Z", "+00:00", "+07:00", "-0500", "+0530", "+03", " +0200", " UTC", "")
AROUND = (
    "{}",
    "{}",
    "[{}] INFO worker started",
    "{} WARN pool: no free connection",
    '{{"ts": "{}", "level": "info"}}',
    "ts={} msg=done",
    "it stopped at {} and came back",
    "created_at: {}\nupdated_at: {}",
    "({})",
    "в логе {} и дальше пусто",
    "lỗi lúc {} nhé",
    "日志里是 {} 这一行",
)
"""What stands beside a stamp; a stamp that occurs twice is the same."""

Form = Callable[[datetime, random.Random], str]


def fraction(rng: random.Random, *sizes: int) -> str:
    """Return the digits of a fraction, of one of the sizes."""
    size = rng.choice(sizes or (1, 2, 3, 6, 7, 9))
    return f"{rng.randrange(10**size):0{size}}"


def written(pattern: str, *sizes: int, sign: str = ".", zones: tuple[str, ...] = ("",)) -> Form:
    """Return a form in the words of `strftime`, where `%f` is a fraction of one of the sizes behind `sign`."""

    def form(moment: datetime, rng: random.Random) -> str:
        return moment.strftime(pattern.replace("%f", sign + fraction(rng, *sizes))) + rng.choice(zones)

    return form


def epoch(scale: int, *sizes: int) -> Form:
    """Return a form in units since 1970, `scale` of them a second; a fraction behind it has one of the sizes, none without."""

    def form(moment: datetime, rng: random.Random) -> str:
        whole = int(moment.timestamp()) * scale + rng.randrange(scale)
        return f"{whole}.{fraction(rng, *sizes)}" if sizes else str(whole)

    return form


def since_start(_moment: datetime, rng: random.Random) -> str:
    """Return seconds since a machine started, as a kernel's log has them."""
    return f"[{rng.randrange(10**7):5}.{fraction(rng, 6)}]"


def day_number(origin: datetime, first: float) -> Form:
    """Return a form in days since `origin`, which is day `first`."""

    def form(moment: datetime, rng: random.Random) -> str:
        return f"{first + (moment - origin) / timedelta(days=1):.{rng.choice((5, 6, 8, 10))}f}"

    return form


def subtitle(moment: datetime, rng: random.Random) -> str:
    """Return from when to when a subtitle is shown."""
    until = moment + timedelta(seconds=rng.randrange(1, 9))
    return f"{moment:%H:%M:%S},{fraction(rng, 3)} --> {until:%H:%M:%S},{fraction(rng, 3)}"


def of_go(moment: datetime, rng: random.Random) -> str:
    """Return what Go prints of a time, with its monotonic clock."""
    return f"{moment:%Y-%m-%d %H:%M:%S}.{fraction(rng, 9)} +0000 UTC m=+{rng.randrange(10**4)}.{fraction(rng, 9)}"


FORMS: Mapping[str, Form] = {
    "ISO 8601": written("%Y-%m-%dT%H:%M:%S%f", zones=ZONES),
    "ISO 8601, comma": written("%Y-%m-%dT%H:%M:%S%f", sign=",", zones=ZONES),
    "ISO 8601, basic": written("%Y%m%dT%H%M%S%f", zones=("Z", "+0700", "")),
    "ISO 8601, week": written("%G-W%V-%uT%H:%M:%S%f", zones=("Z", "")),
    "ISO 8601, day of year": written("%Y-%jT%H:%M:%S%f", zones=("Z", "")),
    "ISO 8601 with a zone's name": written("%Y-%m-%dT%H:%M:%S%f+07:00[Asia/Ho_Chi_Minh]", 3, 6, 9),
    "SQL": written("%Y-%m-%d %H:%M:%S%f", zones=ZONES),
    "SQL, DB2": written("%Y-%m-%d-%H.%M.%S%f", 6),
    "SQL, Oracle": written("%d-%b-%y %I.%M.%S%f %p", 6, 9),
    "Python logging": written("%Y-%m-%d %H:%M:%S%f", 3, sign=","),
    "compact": written("%Y%m%d%H%M%S%f", 3, 6),
    "compact, with a line": written("%Y%m%d_%H%M%S%f", 3, 6),
    "slashes": written("%Y/%m/%d %H:%M:%S%f", 3, 6),
    "slashes, American": written("%m/%d/%Y %I:%M:%S%f %p", 3, 6),
    "dots, German": written("%d.%m.%Y %H:%M:%S%f", 3, 6, sign=","),
    "dots, Russian": written("%d.%m.%Y %H:%M:%S%f", 3, 6),
    "Chinese": written("%Y年%m月%d日 %H时%M分%S%f秒", 3),
    "web server": written("%d/%b/%Y:%H:%M:%S%f +0000", 3, 6),
    "syslog": written("%b %d %H:%M:%S%f", 3, 6),
    "klog": written("I%m%d %H:%M:%S%f   12345 main.go:88]", 6),
    "Android": written("%m-%d %H:%M:%S%f  1234  5678 I", 3),
    "with the day": written("%a %b %d %H:%M:%S%f %Y", 3, 6, 9),
    "time alone": written("%H:%M:%S%f"),
    "time alone, comma": written("%H:%M:%S%f", 3, sign=","),
    "minutes": written("%M:%S%f", 1, 2, 3),
    "subtitle": subtitle,
    "Go": of_go,
    "kernel": since_start,
    "epoch, seconds": epoch(1, 1, 2, 3, 6, 7, 9),
    "epoch, milliseconds": epoch(1_000),
    "epoch, milliseconds with a fraction": epoch(1_000, 1, 2, 3),
    "epoch, microseconds": epoch(1_000_000),
    "epoch, nanoseconds": epoch(1_000_000_000),
    "spreadsheet": day_number(datetime(1899, 12, 30, tzinfo=UTC), 0),
    "Julian day": day_number(datetime(2000, 1, 1, 12, tzinfo=UTC), 2_451_545),
}


def rows(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield `count` rows, the forms in turns, `{id, lang, kind, text, spans, neg}` as in `redaction_sets.phrases`."""
    rng = random.Random(seed)
    forms = list(FORMS.items())
    for number in range(count):
        kind, form = forms[number % len(forms)]
        moment = FIRST + timedelta(seconds=rng.randrange(DAYS * 86_400))
        stamp = form(moment, rng)
        around = rng.choice(AROUND)
        text = around.format(*[stamp] * around.count("{}"))
        yield {"id": f"timestamps:{number}", "lang": "en", "kind": kind, "text": text, "spans": [], "neg": True}
