"""What stays in a log line as it is: time stamps, ids, durations, sizes. It says when and how much, and nobody's value."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.normalized_text import Span

_UUID = r"(?=[0-9-]{0,35}[A-Fa-f])[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-6][0-9](?:[.,][0-9]{1,9})?)?"
_DAY = r"[12][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_ZONE = r"(?: ?(?:Z|UTC|[+-](?:0[0-9]|1[0-4]):?[0-5][0-9]))?"
_APACHE = r"[0-3][0-9]/[A-Z][a-z]{2}/[12][0-9]{3}:"
_TIME = rf"(?:{_DAY}[T ]|{_APACHE}){_CLOCK}{_ZONE}"
"""ISO 8601 as `isoformat`, structlog and `logging` write it, and the form of web servers' access logs."""

CANDIDATE = re.compile(
    rf"(?<![0-9A-Za-z])(?P<uuid>{_UUID})(?![0-9A-Za-z])"
    rf"|(?<![\w.+-])(?:(?P<time>{_TIME})|(?P<hex>(?=(?:[0-9]{{0,32}}[a-f]){{3}})[0-9a-f]{{16}}(?:[0-9a-f]{{16}})?)"
    r"|(?P<number>[0-9]{1,13}(?:\.[0-9]{1,20})?)(?P<unit> ?(?:[nuµm]s|s|sec|seconds|[kKMG]i?B|bytes))?)(?![\w]|[.-]\w)"
)

MOST_DIGITS = 7
"""Digits of a number before its point: milliseconds of two hours, bytes of ten megabytes. No telephone number with its area is as short."""

SECRET_BEFORE = re.compile(
    r"pass|pwd|secret|token|key|credential|auth|bearer|cookie|session(?!_id)|sid\b|otp|pin\b|(?<!status_)code|signature|jwt"
    r"|\u043f\u0430\u0440\u043e\u043b|\u043a\u043b\u044e\u0447|\u0442\u043e\u043a\u0435\u043d"
    r"|\u0441\u0435\u043a\u0440\u0435\u0442|m\u1eadt|kh\u00f3a|m\u00e3|\u5bc6|\u53e3\u4ee4|\u4ee4\u724c"
    r"|\u91d1\u9470|\u6b0a\u6756|\u6743\u6756|\u79c1\u9470|\u79c1\u94a5|\u78bc|\u7801",
    re.IGNORECASE,
)
"""Names of secrets in the four languages: an id anywhere behind one may be the secret itself."""
LOOKED_AT_BEFORE = 24
"""Characters that a name has, with what follows it."""

AMOUNT_BEFORE = re.compile(
    r"(?:_(?:ms|us|ns|s|secs?|seconds|bytes|chars|tokens|count|size|length|attempts?)|\b(?:status|status_code"
    r"|seconds|ms|duration|elapsed|latency|took|attempt|port"
    r"|pid|lineno|size|bytes|length|rows|count))[\"']?[ ]?[=:][ ]?\Z|[0-9]\.[0-9]{1,3}:\Z|localhost:\Z"
)
"""What stands before an amount, and before the port of an address."""
EPOCH_BEFORE = re.compile(r"(?:timestamp|time|created|updated|started|ended|\bts|_at)[\"']?[ ]?[=:][ ]?\Z")
EPOCH = re.compile(r"[12][0-9]{9}(?:[0-9]{3})?(?:\.[0-9]{1,9})?")
"""Seconds or milliseconds since 1970."""
ID_BEFORE = re.compile(
    r"(?:(?:trace|span|request|correlation|run|thread|assistant|checkpoint|cron|graph|task|job|batch)_?[iI]d[\"']?[ ]?[=:][ ]?[\"']?"
    r"|/(?:threads|runs|assistants|crons)/)\Z"
)
"""What stands before an id that names no secret, whatever else the line is about."""
ATTACHED = frozenset({"ns", "us", "µs", "ms"})
"""Units that nobody writes right behind a telephone number, though a program may."""
NUMBER_BEFORE = re.compile(r"(?<!\w)(?P<zone>[+(0]*)[0-9][0-9 ()./-]*\Z")
"""Digits that the number may go on from."""
FEWEST_DIGITS = 10
"""Of a number in groups that is somebody's, and has no `+` or `0` in front. A status and a duration have fewer together."""
DIGIT_NEAR = re.compile(r"[0-9][ ()./-]{1,3}\Z")
"""A number before the number, which may be one with it."""


def kept_spans(text: str) -> Iterator[Span]:
    """Return the spans of what stays, in order and apart."""
    named_from: int | None = None
    for match in CANDIDATE.finditer(text):
        start, kind = match.start(), match.lastgroup
        before = text[max(0, start - LOOKED_AT_BEFORE) : start]
        if kind in ("uuid", "hex"):
            stays = ID_BEFORE.search(before) is not None
            if kind == "uuid" and not stays:
                named_from = _first_secret(text) if named_from is None else named_from
                stays = start < named_from
        else:
            stays = kind == "time" or _is_amount(match["number"], match["unit"], before)
        if stays:
            yield match.span()


def _first_secret(text: str) -> int:
    """Return where in a text a secret is named first; its length if none is."""
    named = SECRET_BEFORE.search(text)
    return named.start() if named else len(text)


def _is_amount(number: str, unit: str | None, before: str) -> bool:
    """Tell a duration, a size or a time in seconds from a number that may be somebody's."""
    whole = number.partition(".")[0]
    if len(whole) > MOST_DIGITS:
        return EPOCH.fullmatch(number) is not None and EPOCH_BEFORE.search(before) is not None
    if unit == "s" and "." not in number:
        return False  # Apt 14s
    if unit:
        return not DIGIT_NEAR.search(before) or (unit in ATTACHED and not _goes_on(whole, before))
    return AMOUNT_BEFORE.search(before) is not None


def _goes_on(number: str, before: str) -> bool:
    """Tell whether a number may be the last group of a longer one, such as a card's."""
    groups = NUMBER_BEFORE.search(before)
    if groups is None:
        return False
    return bool(groups["zone"]) or sum(map(str.isdigit, groups[0] + number)) >= FEWEST_DIGITS
