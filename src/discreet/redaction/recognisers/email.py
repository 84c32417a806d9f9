"""E-mail addresses, with local parts and domains of all scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.normalized_text import Span, View


class EmailRecogniser:
    """Finds `@domain` and walks back over the local part.

    Searching from the `@` keeps hostile runs of letters linear and lets the local part be any word characters (RFC 6531),
    which has no fixed left edge beside Chinese or Thai text.
    """

    type = "EMAIL"

    DOMAIN = re.compile(
        r"@(?:"
        r"(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}\.){1,16}(?:xn--[A-Za-z0-9-]{2,59}|[A-Za-z]{2,63}+)(?![0-9])"
        r"|\[(?:[0-9]{1,3}\.){3}[0-9]{1,3}\]"  # RFC 5321, section 4.1.3
        r"|(?:[^\W_][\w-]{0,62}\.){1,16}[^\W\d_]{2,63}"
        r")"
    )
    """RFC 1035 labels; the ASCII form comes first, so that it ends where Chinese or Cyrillic text goes on."""

    LOCAL = re.compile(r"(?:\"[^\"\r\n\0]{1,64}\"|[\w.+%&!#$~'*•-]{1,128})\Z")
    """A quoted one may have spaces (RFC 5322, section 3.4.1)."""

    REPOSITORY = re.compile(
        r"git@(?:[A-Za-z0-9.-]{1,64}[:/][A-Za-z0-9_.-]{1,64}/|(?:github|gitlab|bitbucket)\.(?:com|org))"
    )
    """What copies a repository is nobody's address."""

    GLUED_PROSE = re.compile(r"[^\W\d_A-Za-z\u00c0-\u024f\u1e00-\u1eff]{1,128}(?=[A-Za-z])")
    """Letters of another script that run into a Latin local part: `信箱test@`."""

    FILES = frozenset(
        ("png", "jpg", "jpeg", "gif", "svg", "webp", "ts", "css", "html", "yaml", "yml", "toml", "json", "lock")
    )
    """Ends of names of files, which are no domains: icon@2x.png."""

    USERINFO = re.compile(r"://[^\s/@]{0,128}:[^\s/@]{0,128}\Z")
    """`scheme://user:password` before the `@` of a URL, which is the business of another recogniser."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses."""
        text = view.text
        for match in self.DOMAIN.finditer(text):
            start = self.local_start(text[max(0, match.start() - 128) : match.start()])
            if (
                start is not None
                and not text.startswith("(", match.end())
                and match[0].rpartition(".")[2].lower() not in self.FILES
                and not self.REPOSITORY.match(text, match.start() - start)
            ):
                yield match.start() - start, match.end()

    def local_start(self, before: str) -> int | None:
        """Return how many of the last characters of `before` are a local part; None if there is none."""
        local = self.LOCAL.search(before)
        if local is None or self.USERINFO.search(before):
            return None
        value = local[0].lstrip("'.")
        if prose := self.GLUED_PROSE.match(value):
            value = value[prose.end() :]
        return len(value) or None
