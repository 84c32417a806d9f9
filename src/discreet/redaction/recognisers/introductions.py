"""Words that introduce numbers: the one behind them, and the list that it may begin."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.digits import Window, last_digit

LIST = re.compile(r"[^0-9.!?。！？]{0,24}")
"""What stands between the numbers of a list, all of which the word before the first one introduces."""

LIST_CHARS = 400
"""How long such a list may be."""


class Introductions:
    """Tells, for the numbers of one text in their order, which of them a word of a kind introduces."""

    def __init__(self, text: str, words: re.Pattern[str], *, chars: int) -> None:
        """Look for `words` at most `chars` characters before a number, and behind the number before."""
        self._text = text
        self._words = words
        self._chars = chars
        self._word = -LIST_CHARS
        """Where the last number begins that a word stands before."""
        self._last = -chars
        """Where the last number ends that was introduced."""

    def lead(self, window: Window) -> str:
        """Return what stands before a number, back to the digits before it."""
        before = self._text[max(0, window.start - self._chars) : window.start]
        return before[last_digit(before) + 1 :]

    def introduce(self, window: Window) -> bool:
        """Tell whether a word, or a list that one introduces, stands before a number."""
        if not window.leading:
            return False
        lead = self.lead(window)
        if any(map(str.isalpha, lead)) and self._words.search(lead) is not None:
            self._word = window.start
            return True
        return (
            window.start - self._last < self._chars
            and window.start - self._word < LIST_CHARS
            and LIST.fullmatch(self._text, max(0, self._last), window.start) is not None
        )

    def take(self, window: Window, *, introduced: bool) -> None:
        """Note that a window is a number."""
        self._last = window.end if introduced else -self._chars
