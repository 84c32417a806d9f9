"""Secrets by the rules of MongoDB's Kingfisher, for those who install it: the extra `kingfisher`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from discreet.errors import MissingDependencyError
from discreet.redaction.normalized_text import BLANK, Span, View


class KingfisherRecogniser:
    """Finds what some 500 rules of `kingfisher-secret-scanner` find, beside our own. It never uses the network.

    Raises, when it is first used:
        MissingDependencyError: The package is not installed.
    """

    type = "SECRET"

    @cached_property
    def _scanner(self) -> Any:
        try:
            from kingfisher_sdk import Scanner  # optional
        except ImportError as error:
            raise MissingDependencyError(
                "Kingfisher is not installed: pip install kingfisher-secret-scanner."
            ) from error
        return Scanner(base64=False)

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all secrets. The scanner counts bytes of UTF-8."""
        raw = view.text.replace(BLANK, " ").encode()
        for finding in self._scanner.scan(raw):
            start, end = finding.location["start_offset"], finding.location["end_offset"]
            if end > start:
                first = len(raw[:start].decode("utf-8", "ignore"))
                yield first, first + len(raw[start:end].decode("utf-8", "ignore"))

    def open_from(self, text: str) -> int:
        """Return the end of an unfinished text: the rules are about single words."""
        return len(text)
