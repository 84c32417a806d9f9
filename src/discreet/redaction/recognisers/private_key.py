"""Private keys in PEM and OpenPGP armour."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.view import Span, View


class PrivateKeyRecogniser:
    """Pairs BEGIN and END lines, over any number of lines between them.

    A key whose END is missing (cut off by a length limit or by a stream) reaches to the last line that looks like base64.
    """

    type = "SECRET"

    MARKER = re.compile(r"-----(?P<edge>BEGIN|END) (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
    """RFC 7468, section 2, and RFC 9580, section 6.2. Line breaks may be escaped, as in JSON and .env files."""

    REST = re.compile(r"(?:(?:\\[nrt]|\s){1,8}+[A-Za-z0-9+/=]{16,4000}+){0,1000}+")

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all keys, with their BEGIN and END lines."""
        text = view.text
        begin: re.Match[str] | None = None
        for marker in self.MARKER.finditer(text):
            if marker["edge"] == "BEGIN":
                if begin is not None:
                    yield self.unfinished(text, begin)
                begin = marker
            elif begin is not None:
                yield begin.start(), marker.end()
                begin = None
        if begin is not None:
            yield self.unfinished(text, begin)

    def unfinished(self, text: str, begin: re.Match[str]) -> Span:
        """Return the span of a key without END."""
        rest = self.REST.match(text, begin.end())
        return begin.start(), rest.end() if rest else begin.end()
