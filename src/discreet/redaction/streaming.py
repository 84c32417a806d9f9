"""Redact a text that arrives in pieces, as if it had come whole."""

from __future__ import annotations

import re
from typing import Protocol

from discreet.redaction.findings import Finding
from discreet.redaction.pieces import CONTEXT, HOLD_BACK, PLACE, context_start, last_cut
from discreet.redaction.placeholders import OVERSIZE, issue
from discreet.state.text import storable

NEARBY = 32
"""Characters behind a value that are known before what follows it comes out early: they may be more of it."""

STEP = 64
"""New characters that are worth another look; more where much is held, so that the work stays linear."""

EARLY_STEPS = 32
"""Looks at a text that comes out early while it grows to twice its length: as much work for a character as `STEP` makes."""

MAX_RUN = 4096
"""Characters without a place to cut, after which they are masked unread."""

MAX_HELD = 32_768
"""Characters of one value, a private key, and what it stands in."""

ESCAPED_ROWS = re.compile(r".*[A-Za-z0-9+/=]{16}(?=\\)", re.DOTALL)
"""Lines of a key whose breaks are written as escapes, to the end of one. What is put behind it goes on with it."""

END_OF_RUN = re.compile(r"\s+[^\s\d+(.-]")
"""Where something else begins than a run that was masked, or the rest of a number in it."""


class Findable(Protocol):
    """What a `Redactor` and a `ThreadRedactor` have in common."""

    def findings(self, text: str) -> list[Finding]:
        """Return what is replaced, as places in storable `text`."""
        ...

    def label(self, text: str, finding: Finding) -> str:
        """Return the placeholder for a finding in `text`."""
        ...

    def literal(self, text: str) -> str:
        """Return what is written of text between findings."""
        ...

    def carried(self, text: str) -> str:
        """Return what of a text that is out has to stay in front of the rest."""
        ...

    def open_from(self, text: str) -> int:
        """Return where in `text` begins what may be part of a value once more is written."""
        ...


class StreamingRedactor:
    """Takes chunks of any size and returns what is safe to show; `close` returns the rest.

    What comes out, put together, is what the redactor makes of the whole text, as long as no run without white space (or of
    numbers alone) has 4,096 characters or more. Such a run becomes `<OVERSIZE>`. About 512 characters are held back; `early`,
    only what is open at the end: a word, a number, what may follow "password". Values that only the words behind
    them tell then come out in part or whole ("opensesame is my password"), so this is for who may see them.

    Example:
        >>> from discreet.redaction import Redactor
        >>> stream = StreamingRedactor(Redactor())
        >>> "".join([stream.feed("write to ann@exa"), stream.feed("mple.com today"), stream.close()])
        'write to <EMAIL> today'
    """

    def __init__(self, redactor: Findable, *, early: bool = False) -> None:
        self._redactor = redactor
        self._early = early
        self._text = ""
        self._done = 0
        """Characters of `_text` that are out already and stay as context."""
        self._told = -1
        """Where in `_text` a value begins whose placeholder is out, though more of it may come; -1 if none does."""
        self._awaited = 1 if early else HOLD_BACK + STEP
        """Characters to be held before it is worth to look again."""
        self._half = ""
        """First half of a surrogate pair, whose other half is in the next chunk."""
        self._overrun = False
        """Whether a run that was masked goes on."""

    def feed(self, chunk: str) -> str:
        """Take the next characters; return those that are settled by now, redacted."""
        self._take(chunk)
        if self._overrun or len(self._text) - self._done < self._awaited:
            return ""
        return self._settle()

    def close(self) -> str:
        """Return the rest, redacted. The stream can be used for another text then."""
        text, self._half = storable(self._half), ""
        self._text += text
        rest = self._emit(len(self._text), self._redactor.findings(self._text))
        self.__init__(self._redactor, early=self._early)  # type: ignore[misc]  # as new
        return rest

    def _take(self, chunk: str) -> None:
        chunk = self._half + chunk
        self._half = chunk[-1:] if "\ud800" <= chunk[-1:] <= "\udbff" else ""
        chunk = storable(chunk.removesuffix(self._half) if self._half else chunk)
        self._text += chunk
        if self._overrun:
            end = END_OF_RUN.search(self._text)
            self._overrun = end is None
            self._text = self._text[end.start() :] if end else self._text[len(self._text.rstrip()) :][:1]

    def _settle(self) -> str:
        """Return what stands before the last place to cut of those that can be."""
        limit = len(self._text) - HOLD_BACK
        if self._early:
            limit = max(limit, self._redactor.open_from(self._text) + 1)
        out = ""
        if PLACE.search(self._text, self._done + 1, limit) or len(self._text) - self._done > MAX_RUN + HOLD_BACK:
            findings = self._redactor.findings(self._text)
            cut = self._last_cut(limit, findings)
            if cut is not None:
                out = self._emit(cut, findings)
                self._forget()
            elif len(self._text) - self._done > MAX_RUN + HOLD_BACK:
                out = self._overflow(findings)
        held = len(self._text) - self._done
        if self._early:
            self._awaited = held + min(STEP, len(self._text) // EARLY_STEPS) + max(1, (held - HOLD_BACK) // 4)
        else:
            self._awaited = max(HOLD_BACK, held) + max(STEP, held // 4)
        return out

    def _last_cut(self, limit: int, findings: list[Finding]) -> int | None:
        nearby = NEARBY if self._early else 0
        return last_cut(self._text, self._done, limit, [(each.start, each.end + nearby) for each in findings])

    def _emit(self, end: int, findings: list[Finding]) -> str:
        """Return what stands between what is out and `end`. A value that begins in what is out is masked from there on."""
        parts: list[str] = []
        for finding in findings:
            if finding.end <= self._done or finding.start >= end:
                continue
            parts.append(self._redactor.literal(self._text[self._done : finding.start]))
            if not finding.start <= self._told < finding.end:
                parts.append(self._redactor.label(self._text, finding))
            self._done = finding.end
        self._told = -1
        parts.append(self._redactor.literal(self._text[self._done : end]))
        self._done = max(self._done, end)
        return "".join(parts)

    def _overflow(self, findings: list[Finding]) -> str:
        """Mask all that is held: a value that is longer, such as a key, as itself; else a run, to its end."""
        limit = len(self._text) - HOLD_BACK
        value = next((each for each in findings if each.start <= limit < each.end), None)
        if value is None:
            held = self._text[self._done :]
            self._text, self._done, self._overrun = "", 0, True
            return held[: len(held) - len(held.lstrip())] + issue(OVERSIZE)
        if len(self._text) - self._done <= MAX_HELD:
            return ""
        out = self._emit(limit, findings)
        # By its first lines, and the whole of the one that is being written, the rest is known to be part of it.
        begin = max(self._text.rfind("\n", 0, value.start) + 1, value.start - CONTEXT)
        line = max(self._text.rfind("\n", 0, self._done) + 1, self._done - CONTEXT)
        head = self._text[begin : min(value.start + CONTEXT, line)]
        row = ESCAPED_ROWS.match(head)
        head = head[: head.rfind("\n", value.start - begin) + 1] or (row[0] if row else head)
        self._text = head + self._text[line:]
        self._done += len(head) - line
        self._told = value.start - begin
        return out

    def _forget(self) -> None:
        """Drop what is out but for the context, which begins at a word."""
        start = context_start(self._text, self._done)
        if start:
            carried = self._redactor.carried(self._text[:start])
            self._text = carried + self._text[start:]
            self._done += len(carried) - start
