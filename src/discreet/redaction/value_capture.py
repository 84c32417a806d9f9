"""Redact, and keep the values that went, for the turn that runs."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.ports import Masking, TextRedactor


class CollectingRedactor:
    """A redactor whose `values` has, by tagged placeholder, what it took.

    With a redactor that hands out no values there are none. `known` has those of the turn so far. Tags that a text brings
    along are dropped unless it is `trusted`: they would be somebody's attempt to have a value handed out.

    Example:
        >>> from discreet.redaction import Redactor
        >>> redactor = CollectingRedactor(Redactor(placeholder_key=bytes(32)).for_thread("1"))
        >>> text = redactor.redact("write to ann@example.com")
        >>> redactor.values
        {'<EMAIL:I77NUSRH>': 'ann@example.com'}
    """

    def __init__(
        self,
        redactor: TextRedactor,
        known: Mapping[str, str] | None = None,
        *,
        trusted: bool = False,
        into: dict[str, str] | None = None,
    ) -> None:
        """`into`: where values are added, beside those that are known there."""
        self.redactor = redactor
        self._known = known or {}
        self._trusted = trusted
        self.values: dict[str, str] = {} if into is None else into

    def redact(self, text: str) -> str:
        """Return `text` with placeholders, and keep what they stand for."""
        if not isinstance(self.redactor, Masking):
            return self.redactor.redact(text)
        known = {**self._known, **self.values} if self._known else self.values
        masked, values = self.redactor.mask(text, known, trusted=self._trusted)
        self.values.update(values)
        return masked
