"""Redact a text that comes in blocks: each block by itself, and all of them together."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from discreet.ports import Locating, TextRedactor
from discreet.redaction.findings import Finding, merge
from discreet.redaction.placeholders import issue
from discreet.redaction.value_capture import CollectingRedactor
from discreet.state.message_text import joined
from discreet.state.text import storable


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

    What is found in a block alone, and not in the joined text, has an untagged placeholder. A redactor that doesn't tell
    where values are redacts each block here.
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
    """Return blocks that stay apart, still to be redacted: a value that lies in several has a placeholder in each of them."""
    texts = [storable(text) for text in blocks]
    whole = joined(texts)
    if len(texts) < 2 or (locating := _locating(redactor)) is None:
        return texts
    places = [*_places(texts, whole)]
    together = merge([*_found(locating, whole), *_unbroken(locating, places)])
    copies = []
    for text, start in places:
        end = start + len(text)
        parts = [
            Finding(each.type, max(0, each.start - start), min(end, each.end) - start)
            for each in together
            if each.start < end and each.end > start and not (start <= each.start and each.end <= end)
        ]
        whole_too = merge([*parts, *_found(locating, text)]) if parts else []
        copies.append(
            _masked(text, [each for each in whole_too if any(each.start <= part.start < each.end for part in parts)])
        )
    return copies


def _locating(redactor: TextRedactor) -> Locating | None:
    inner = redactor.redactor if isinstance(redactor, CollectingRedactor) else redactor
    return inner if isinstance(inner, Locating) else None


def _found(locating: Locating, text: str, start: int = 0) -> list[Finding]:
    """Return what is found in a text that begins at `start`."""
    return [Finding(each.type, start + each.start, start + each.end) for each in locating.findings(text)]


def _unbroken(locating: Locating, places: Sequence[tuple[str, int]]) -> list[Finding]:
    """Return what lies in several blocks, and is found only where nothing stands between them: a streamed word is cut anywhere."""
    spoken = [(text, start) for text, start in places if not text.isspace()]
    starts = [*accumulate((len(text) for text, _ in spoken), initial=0)]

    def of(at: int, block: int) -> int:
        return spoken[block][1] + at - starts[block]

    found = []
    for each in locating.findings("".join(text for text, _ in spoken)):
        first, last = (bisect_right(starts, at) - 1 for at in (each.start, each.end - 1))
        if first < last:
            found.append(Finding(each.type, of(each.start, first), of(each.end, last)))
    return found


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
