"""The redactor: recognisers over one text, until nothing is left to find."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.redaction.clean_texts import CleanTexts, digest_of
from discreet.redaction.decode import MAX_DECODED_CHARS, encoded_texts, unescaped
from discreet.redaction.findings import Finding, apart_from, merge
from discreet.redaction.normalise import normalise
from discreet.redaction.normalized_text import BLANK, Span, View
from discreet.redaction.pieces import found_in_pieces
from discreet.redaction.placeholders import UNKNOWN, issue, placeholder_pattern, untagged
from discreet.redaction.rescan import changed_parts, inside, neighbourhoods, with_placeholders
from discreet.redaction.split_digits import joined
from discreet.redaction.threads import PlaceholderKey, ThreadRedactor
from discreet.state.text import storable

if TYPE_CHECKING:
    from discreet.redaction.recognisers.base import Carrying, Opening, Recogniser

MOST_WORK = 8
"""A replaced value can uncover another one, so passes repeat until one finds nothing: over the whole of a short text, over
what stands near the last findings of a long one. Ordinary text takes one pass, or two if it has values. Text that goes on
and on is masked when this many times its length was searched."""

SHORT_CHARS = 4096
"""Texts up to here are always looked at as a whole."""

PIECE_CHARS = 500_000
"""Texts up to here are held as a whole while they are searched, which takes about 100 bytes a character; longer ones are searched in pieces."""

MAX_DEPTH = 2
"""Encodings of encodings that are read: base64 of base64."""


class Redactor:
    """Replaces sensitive values by placeholders such as `<EMAIL>`. One instance serves all threads.

    `recognisers` (default: all built-in ones, loaded with the first text) are asked in order, though order decides nothing: findings that overlap are united. A text may have any
    length; of one with more than `piece_chars` characters about so many are searched at once. `placeholder_key` has 32 bytes or more and
    is used by `for_thread` only. Default: DISCREET_PLACEHOLDER_KEY, else the key file in the data folder, made when needed.

    Example:
        >>> Redactor().redact("Write to ann@example.com or call +1 202 456 1111.")
        'Write to <EMAIL> or call <PHONE>.'
    """

    def __init__(
        self,
        *,
        recognisers: Sequence[Recogniser] | None = None,
        piece_chars: int = PIECE_CHARS,
        placeholder_key: PlaceholderKey | None = None,
    ) -> None:
        self._given = None if recognisers is None else tuple(recognisers)
        self._piece_chars = piece_chars
        self._placeholder_key = placeholder_key
        self._clean = CleanTexts()

    def redact(self, text: str) -> str:
        """Return `text` with a placeholder, never a tagged one, for each sensitive value.

        Pure and idempotent. The result is always storable: NUL is dropped and lone surrogates become U+FFFD. Fails
        closed: a text that does not settle becomes `<UNKNOWN>` as a whole.
        """
        text = untagged(storable(text))
        return self.replace(text, lambda finding: self.label(text, finding))

    def findings(self, text: str) -> list[Finding]:
        """Return all that `redact` replaces, in order, without overlaps.

        Offsets are those of `storable(text)`, which is `text` itself unless it holds NUL or surrogates.
        """
        return self.settled(storable(text))

    def label(self, text: str, finding: Finding) -> str:
        """Return the placeholder for a finding in storable `text`, and count it."""
        return issue(finding.type)

    def literal(self, text: str) -> str:
        """Return what is written of text between findings: all of it, without tags."""
        return untagged(text)

    def carried(self, text: str) -> str:
        """Return what of a text that is out has to stay in front of the rest of a stream."""
        return "".join(each.carried(text) for each in self._carrying)

    def open_from(self, text: str) -> int:
        """Return where in `text` begins what may be part of a value once more is written, for a stream that is early.

        `discreet.redaction.tail` knows the built-in recognisers. Of another that can't tell, the last `LOOKED_AT` characters count.
        """
        from discreet.redaction.tail import LOOKED_AT, open_from  # comes with the recognisers

        places = [each.open_from(text) if each else max(0, len(text) - LOOKED_AT) for each in self._others]
        line = text.rfind("\n") + 1
        return min(open_from(text), line if line and self.carried(text[:line]) else len(text), *places)

    def for_thread(self, thread_id: str) -> ThreadRedactor:
        """Return a redactor whose placeholders tell the values of one thread apart.

        Raises:
            ConfigurationError: The placeholder key of the settings can't be used.
        """
        return ThreadRedactor(self, thread_id, self._placeholder_key)

    def replace(self, text: str, label: Callable[[Finding], str]) -> str:
        """Return storable `text` with `label` of each finding in its place. A text that has none is searched once."""
        digest = digest_of(text)
        if self._clean.has(digest):
            return text
        findings = self.settled(text)
        if not findings:
            self._clean.add(digest)
        parts: list[str] = []
        done = 0
        for finding in findings:
            parts += text[done : finding.start], label(finding)
            done = finding.end
        return "".join([*parts, text[done:]])

    @cached_property
    def _recognisers(self) -> tuple[Recogniser, ...]:
        if self._given is not None:
            return self._given
        from discreet.redaction.recognisers import DEFAULT  # compiles hundreds of patterns

        return DEFAULT

    @cached_property
    def _by_digits(self) -> tuple[tuple[Recogniser, ...], ...]:
        """Those that a text may have something for, by how many digits it has; the last ones for any more."""
        least = [(getattr(each, "LEAST_DIGITS", 0), each) for each in self._recognisers]
        return tuple(
            tuple(each for needed, each in least if needed <= digits)
            for digits in range(max((needed for needed, _ in least), default=0) + 1)
        )

    @cached_property
    def _carrying(self) -> tuple[Carrying, ...]:
        from discreet.redaction.recognisers.base import Carrying

        return tuple(each for each in self._recognisers if isinstance(each, Carrying))

    @cached_property
    def _others(self) -> tuple[Opening | None, ...]:
        """Recognisers that aren't built in; None for one that can't tell what it waits for."""
        from discreet.redaction.recognisers import DEFAULT
        from discreet.redaction.recognisers.base import Opening

        others = [each for each in self._recognisers if type(each) not in map(type, DEFAULT)]
        return tuple(each if isinstance(each, Opening) else None for each in others)

    @cached_property
    def placeholders(self) -> re.Pattern[str]:
        """What the placeholders look like that it writes, with tag or without."""
        return placeholder_pattern(recogniser.type for recogniser in self._recognisers)

    def settled(self, text: str) -> list[Finding]:
        """Return the findings of all passes over storable `text`, as places in it."""
        if len(text) > self._piece_chars:
            return found_in_pieces(text, self._settled, self.carried, self._piece_chars)
        return self._settled(text)

    def _settled(self, text: str) -> list[Finding]:
        findings: list[Finding] = []
        parts: list[Span] | None = None
        limit = MOST_WORK * max(len(text), SHORT_CHARS)
        while limit > 0:
            current = with_placeholders(text, findings)
            parts = [(0, len(current.text))] if parts is None else parts
            new = [each for part in parts for each in self._found_in(current, part)]
            if not new:
                return findings
            limit -= sum(last - first for first, last in parts)
            findings = merge([*findings, *new])
            parts = neighbourhoods(text, findings, new) if len(text) > SHORT_CHARS else None
        return [Finding(UNKNOWN, 0, len(text))]

    def _found_in(self, current: View, part: Span) -> Iterator[Finding]:
        """Find what stands in a part of the text with placeholders, but for what its edges may cut off."""
        if part == (0, len(current.text)):
            yield from self._found(self._normalised(current), depth=0)
            return
        view = current.part(*part)
        start, end = inside(view, at_start=part[0] == 0, at_end=part[1] == len(current.text))
        for each in self._found(self._normalised(view), depth=0):
            if start <= each.start and each.end <= end:
                yield each

    def _normalised(self, current: View) -> View:
        """A placeholder is one blank for the recognisers, swallowed whole or not at all."""
        if "<" in current.text:
            current = current.replaced(self.placeholders, lambda _: BLANK)
        return normalise(current)

    def _found(self, view: View, *, depth: int) -> Iterator[Finding]:
        yield from self._read(view, depth=depth)
        read = unescaped(view)
        read = view if read is None else normalise(read)
        read = joined(read) or read
        if read is not view:  # what differs is read again, with what stands around it
            edits = read.edits[len(view.edits) :]
            for part in changed_parts(read, edits):
                yield from self._read(part, depth=depth)

    def _read(self, view: View, *, depth: int) -> Iterator[Finding]:
        digits = sum(map(view.text.count, "0123456789"))
        taken: list[Span] = []
        for recogniser in self._by_digits[min(digits, len(self._by_digits) - 1)]:
            spans = recogniser.spans(view)
            if getattr(recogniser, "GUESSES", False):
                spans = apart_from(taken, spans)
            for start, end in spans:
                if view.text[start:end].strip(BLANK):
                    taken.append((start, end))
                    yield Finding(recogniser.type, *view.source(start, end))
        yield from self._encoded(view, depth=depth)

    def _encoded(self, view: View, *, depth: int) -> Iterator[Finding]:
        """Find encoded values. What is encoded too long or too often to be searched is masked."""
        searched = 0
        for span, text in encoded_texts(view):
            searched += len(text)
            if searched > MAX_DECODED_CHARS or depth == MAX_DEPTH:
                yield Finding(UNKNOWN, *view.source(*span))
            elif found := next(self._found(normalise(storable(text)), depth=depth + 1), None):
                yield Finding(found.type, *view.source(*span))
