"""Redact what one line of a log is made of, and look at what was seen before only once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, time, timedelta
from typing import Any
from uuid import UUID

from discreet.ports import TextRedactor
from discreet.redaction.clean_texts import digest_of
from discreet.redaction.engine import Redactor
from discreet.redaction.findings import Finding, merge
from discreet.redaction.logged.kept import kept_spans
from discreet.redaction.logged.tracebacks import frame_spans
from discreet.redaction.normalized_text import BLANK, Span
from discreet.redaction.placeholders import OVERSIZE, UNKNOWN, issue, untagged, written
from discreet.redaction.walker import redact_object
from discreet.state.text import storable

SCALARS = (str, int, float, bool, type(None), UUID, date, time, timedelta)
"""Types whose `repr` tells all that redacting looks at. Subclasses may write themselves out otherwise."""
_SCALARS = frozenset((*SCALARS,))
MOST_LOOKED_OVER = 4_000
"""Characters that take 0.3 ms to find what stays in, before a table can be looked into."""
MOST_READ = 100_000
"""Characters of one text of a line. To search more takes half a second, in which nothing else is written."""
_MOST_KNOWN = 10_000
_STAND_IN = written(UNKNOWN)
"""Stands for what stays where nothing may be found in it, nor across it: no number goes on behind a time."""
_WORD = "yesterday"
"""Stands for it where a sentence goes on across it: "my password of yesterday is …"."""


class TakesLong(BaseException):
    """More has not been seen before than `LineRedactor.within` allows. No `Exception`, which redacting objects turns into `<UNKNOWN>`."""


class Known:
    """What was found in the newest texts, by their digests: types and places. Holds no text and no value.

    Thread-safe without a lock, as `CleanTexts` is: what two threads do at once is at worst forgotten.
    """

    def __init__(self, most: int = _MOST_KNOWN) -> None:
        self._most = most
        self._newer: dict[bytes, Any] = {}
        self._older: dict[bytes, Any] = {}

    def get(self, digest: bytes) -> Any:
        """Return what is known of the text of this digest, None if nothing is."""
        known = self._newer.get(digest)
        if known is None and (known := self._older.get(digest)) is not None:
            self.add(digest, known)
        return known

    def add(self, digest: bytes, found: Any) -> None:
        """Know `found` of the text of this digest."""
        if len(self._newer) >= self._most:
            self._older, self._newer = self._newer, {}
        self._newer[digest] = found


class LineRedactor:
    """Redacts texts and objects of log records with `redactor`, but for what `kept_spans` and `frame_spans` say that stays.

    The recognisers see what stays as a placeholder, and as a word, whatever it is, so two lines that differ in it only are searched once:
    programs write the same lines all the time. Ids, hours and durations so cost a look into a table, whatever the line
    is about, and what is found is what the redactor finds, by construction.

    A redactor that can't tell places (one that is no `Redactor`) is asked for every text anew, and keeps nothing.
    """

    def __init__(self, redactor: TextRedactor) -> None:
        self._redactor = redactor
        self._known = Known()
        self._local = threading.local()

    @contextmanager
    def within(self, chars: int) -> Iterator[None]:
        """Let this thread search so many characters at most that were not seen before, and no text at all that is much longer.

        Raises:
            TakesLong: There are more.
        """
        self._local.left = chars
        try:
            yield
        finally:
            self._local.left = None

    def redact(self, text: str) -> str:
        """Return `text` redacted, never with a tag; `<OVERSIZE>` if it is longer than what is read of a line."""
        if len(text) > MOST_READ:
            return issue(OVERSIZE)
        if not isinstance(self._redactor, Redactor):
            self._spend(len(text))
            return self._redactor.redact(text)
        self._look_over(len(text))
        text = untagged(storable(text))
        masked, kept = _masked(text)
        found: tuple[Finding, ...] | None = self._known.get(digest := digest_of(masked))
        if found is None:
            found = tuple(self._found(masked, is_whole=not kept))
            self._known.add(digest, found)
        return text if not found else _written(text, masked.replace(BLANK, _STAND_IN), kept, found)

    def _found(self, masked: str, *, is_whole: bool) -> list[Finding]:
        """Return what is found in a line in which `_STAND_IN` or `_WORD`, which are equally long, stands for each thing that stays."""
        assert isinstance(self._redactor, Redactor)  # as `redact` has seen
        self._spend(len(masked) * (1 if is_whole else 2))
        if is_whole:
            return self._redactor.findings(masked)
        findings = self._redactor.findings(masked.replace(BLANK, _STAND_IN))
        worded = masked.replace(BLANK, _WORD)
        return merge(
            [*findings, *(each for each in self._redactor.findings(worded) if worded[each.start : each.end] != _WORD)]
        )

    def object(self, value: Any, name: str | None = None) -> Any:
        """Return `value`, which stands under `name`, as `redact_object` does: itself if there is nothing to redact and it is plain."""
        if isinstance(value, str) and name is None:
            return redact_object(value, self)
        plain = isinstance(self._redactor, Redactor) and is_plain(value)
        if plain:
            written_out = repr((name, value))
            self._look_over(len(written_out))
            digest = digest_of("object", _masked(written_out)[0])
            if self._known.get(digest):
                return value
        copy = redact_object(value if name is None else {name: value}, self)
        copy = copy if name is None else copy.get(name, issue(UNKNOWN))
        if plain and copy == value:
            self._known.add(digest, True)
            return value
        return copy

    def _look_over(self, chars: int) -> None:
        if chars > MOST_LOOKED_OVER and getattr(self._local, "left", None) is not None:
            raise TakesLong

    def _spend(self, chars: int) -> None:
        left = getattr(self._local, "left", None)
        if left is None:
            return
        if chars > left:
            raise TakesLong
        self._local.left = left - chars


def is_plain(value: Any, depth: int = 5) -> bool:
    """Tell whether a value is made of scalars, dicts, lists and tuples only, exactly."""
    kind = type(value)
    if kind in _SCALARS:
        return True
    if not depth:
        return False
    if kind is dict:
        return all(
            type(key) is str and (type(each) in _SCALARS or is_plain(each, depth - 1)) for key, each in value.items()
        )
    return kind in (list, tuple) and all(is_plain(each, depth - 1) for each in value)


def _masked(text: str) -> tuple[str, list[Span]]:
    """Return a text with one NUL, which it has none of, for each thing that stays, and where those are in `text`."""
    frames = frame_spans(text)
    kept = [each for each in kept_spans(text) if not any(start < each[1] and each[0] < end for start, end in frames)]
    if frames:
        kept = sorted([*frames, *kept])
    if not kept:
        return text, kept
    parts: list[str] = []
    done = 0
    for start, end in kept:
        parts += text[done:start], BLANK
        done = end
    return "".join((*parts, text[done:])), kept


def _written(text: str, masked: str, kept: list[Span], found: tuple[Finding, ...]) -> str:
    """Return the text with what stays and a placeholder for each finding, whose places are those of `masked`."""
    places: dict[int, str] = {}
    shift = 0
    for start, end in kept:
        places[start - shift] = text[start:end]
        shift += end - start - len(_STAND_IN)
    parts: list[str] = []
    done = 0

    def copy(until: int) -> None:
        nonlocal done
        for place in [each for each in places if done <= each < until]:
            parts.extend((masked[done:place], places[place]))
            done = place + len(_STAND_IN)
        parts.append(masked[done:until])
        done = until

    for finding in found:
        copy(finding.start)
        parts.append(issue(finding.type))
        done = finding.end
    copy(len(masked))
    return "".join(parts)
