"""Redact a text that comes in blocks: each block by itself, and all of them together."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from discreet.ports import Locating, TextRedactor
from discreet.redaction.findings import Finding, merge
from discreet.redaction.placeholders import issue
from discreet.redaction.value_capture import CollectingRedactor
from discreet.state.message_text import joined
from discreet.state.text import storable

LABEL: Final = re.compile(r"[^\W\d_](?:(?: ?[^\W\d_]){2,60} ?:(?!\S)|(?: ?[^\W\d_]){0,60} ?：)")
"""What begins an entry of a list: longer than two digits of an address that are letters."""
ADDRESS_END: Final = re.compile(r"@[\w.-]+\.[a-z]{2,24}\Z")
FRACTION: Final = re.compile(r"0[.,][0-9]+(?![\w.,-])")
DECIMAL_END: Final = re.compile(r"(?<![\w.,-])[0-9]+[.,][0-9]+\Z")
MOST_DIGITS: Final = 32
MOST_ADDRESS: Final = 254
"""Characters of an e-mail address (RFC 5321, section 4.5.3)."""


def redact_blocks(blocks: Sequence[str], redactor: TextRedactor) -> str:
    r"""Return the blocks of a message as one text, redacted: what a block tells alone, and what they tell together.

    Example:
        >>> from discreet.redaction import Redactor
        >>> redact_blocks(["Pay with 4111 1111 1111 1111", "2 nights, please"], Redactor())
        'Pay with <CARD>\n2 nights, please'
    """
    return redactor.redact(joined_safely(blocks, redactor))


def joined_safely(blocks: Sequence[str], redactor: TextRedactor) -> str:
    """Return blocks as one text that is still to be redacted.

    What is not found in the joined text, but in a block alone or where a word that was cut goes on, has an untagged
    placeholder. A redactor that doesn't tell where values are redacts each block here.
    """
    texts = [stored for text in blocks if (stored := storable(text))]
    whole = joined(texts)
    if len(texts) < 2:
        return whole
    locating = _locating(redactor)
    if locating is None:
        return joined(map(redactor.redact, texts))
    together = _found(locating, whole)
    places = [*_places(texts, whole)]
    alone = [each for text, start in places for each in _found(locating, text, start)]
    known = {(each.start, each.end) for each in together}
    found = merge([*together, *_unbroken(locating, places), *alone])
    return _masked(whole, [each for each in found if (each.start, each.end) not in known])


def without_shared(blocks: Sequence[str], redactor: TextRedactor) -> list[str]:
    """Return blocks that stay apart, still to be redacted: what only the others tell of one has a placeholder in it.

    A value that lies in several blocks has one in each of them.
    """
    texts = [storable(text) for text in blocks]
    whole = joined(texts)
    if len(texts) < 2 or (locating := _locating(redactor)) is None:
        return texts
    places = [*_places(texts, whole)]
    together = merge([*_found(locating, whole), *_unbroken(locating, places)])
    copies = []
    for text, start in places:
        end = start + len(text)
        alone = _found(locating, text)
        parts = [
            Finding(each.type, max(0, each.start - start), min(end, each.end) - start)
            for each in together
            if each.start < end and each.end > start
        ]
        told = [part for part in parts if not any(each.start <= part.start and part.end <= each.end for each in alone)]
        wider = merge([*told, *alone]) if told else []
        copies.append(
            _masked(text, [each for each in wider if any(each.start <= part.start < each.end for part in told)])
        )
    return copies


def _locating(redactor: TextRedactor) -> Locating | None:
    inner = redactor.redactor if isinstance(redactor, CollectingRedactor) else redactor
    return inner if isinstance(inner, Locating) else None


def _found(locating: Locating, text: str, start: int = 0) -> list[Finding]:
    """Return what is found in a text that begins at `start`."""
    return [Finding(each.type, start + each.start, start + each.end) for each in locating.findings(text)]


def _unbroken(locating: Locating, places: Sequence[tuple[str, int]]) -> list[Finding]:
    """Return what is found where nothing stands between blocks that a word may go on in: a stream is cut anywhere."""
    spoken = [(text, start) for text, start in places if not text.isspace()]
    glued, starts = "", []
    for text, _ in spoken:
        glued += text if not glued or _goes_on(glued, text) else f"\n{text}"
        starts.append(len(glued) - len(text))
    if len(spoken) == len(places) and all(glued[at - 1 : at] in ("", "\n") for at in starts):
        return []  # the joined text

    def of(at: int) -> int:
        block = bisect_right(starts, at) - 1
        return spoken[block][1] + at - starts[block]

    return [Finding(each.type, of(each.start), of(each.end - 1) + 1) for each in locating.findings(glued)]


def _goes_on(before: str, after: str) -> bool:
    """Tell whether a word may go on from one text into the next.

    Lines of a list, as "Keys: 48" and "0.25" are, end; and an e-mail address does where a sentence begins.
    """
    if LABEL.match(after) and not before[-1].isalpha():
        return False
    if after[0].isupper() and after[1:2].islower() and ADDRESS_END.search(before[-MOST_ADDRESS:]):
        return False
    return not (FRACTION.match(after) and DECIMAL_END.search(before[-MOST_DIGITS:]))


def _places(texts: Sequence[str], whole: str) -> Iterator[tuple[str, int]]:
    """Yield each text with where it begins in what they are joined to."""
    start = 0
    for text in texts:
        start += not whole.startswith(text, start)  # the line break between two
        yield text, start
        start += len(text)


def _masked(text: str, findings: Sequence[Finding]) -> str:
    for each in reversed(findings):
        text = text[: each.start] + issue(each.type) + text[each.end :]
    return text
