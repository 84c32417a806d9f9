"""Private keys in PEM, OpenPGP and PuTTY armour."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.view import Span, View


class PrivateKeyRecogniser:
    """Pairs BEGIN and END lines, over any number of lines between them.

    A key whose END is missing (cut off by a length limit or by a stream) reaches to the last line that looks like base64.
    """

    type = "SECRET"

    MARKER = re.compile(r"-{2,5} ?(?P<edge>BEGIN|END) (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)? ?-{2,5}")
    """RFC 7468, section 2, and RFC 9580, section 6.2. Line breaks may be escaped, as in JSON and .env files."""

    REST = re.compile(
        r"(?:(?:\\{1,2}[nrt]|[\s>|\"'+,#*/]){1,12}+"
        r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset):[^\r\n\\\0]{0,200}+|[A-Za-z0-9+/=]{16,4000}+|=[A-Za-z0-9+/]{4}(?![A-Za-z0-9])"
        r"|[A-Za-z0-9+/]{2,76}={0,2}(?=[\s\\\"']{0,8}(?:-{2,5}|\Z)))){0,1000}+"
    )
    """What follows BEGIN: lines of base64 and the headers of RFC 1421, section 4.6, with quotes or marks around the lines."""

    PUTTY = re.compile(r"Private-Lines: [0-9]{1,3}(?P<value>(?:(?:\\[nr]|\s){1,4}+[A-Za-z0-9+/=]{4,80}+){1,200}+)")
    """PuTTY's own format, appendix C of its manual."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all keys, with their BEGIN and END lines."""
        text = view.text
        if "PRIVATE KEY" in text:
            yield from self.armoured(text)
        if "Private-Lines" in text:
            yield from (match.span("value") for match in self.PUTTY.finditer(text))

    def armoured(self, text: str) -> Iterator[Span]:
        """Return the spans of keys between BEGIN and END."""
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
