"""Redact the texts of one run: each once, and with its values kept for whoever asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from discreet.checkpoint.message_ids import safe_id
from discreet.ports import Masking, TextRedactor
from discreet.redaction.clean_texts import CleanTexts, digest_of
from discreet.redaction.findings import Finding
from discreet.redaction.streaming import Findable, StreamingRedactor
from discreet.state.reasoning import SpokenStream

CACHED_CHARS = 5_000_000
"""Characters of texts that one run remembers as redacted; beyond that it forgets all and begins again."""

UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
ID = re.compile(
    rf"(?:(?:\w{{1,40}}_)?id: )?"
    rf"(?:(?:(?:lc_)?run-{{1,2}})?{UUID}(?:-\d{{1,3}})?"
    r"|(?:call|toolu|tooluse|chatcmpl(?:-tool)?|msg|resp|rs|fc|gen|cmpl)[-_](?=[A-Za-z0-9_-]*[A-Za-z])[A-Za-z0-9_-]{6,80})",
    re.IGNORECASE,
)
"""Ids as engines and model providers write them, alone or under a name such as `tool_call_id`. They look like secrets to a
recogniser, but clients answer with them: a message or a tool's result would find no place any more."""


@runtime_checkable
class Taking(Findable, Protocol):
    """A redactor whose placeholders can be put into a stream, with the values they stand for."""

    def take(self, text: str, finding: Finding, values: dict[str, str], known: Mapping[str, str] | None = None) -> str:
        """Return the placeholder for a finding in `text`; add its value to `values`."""
        ...


class RunTexts:
    """Redacts the texts of one run and collects the values that it takes."""

    def __init__(
        self, redactor: TextRedactor, known: Mapping[str, str], *, thread: str = "", clean: CleanTexts | None = None
    ) -> None:
        """Redact with `redactor`, which is the thread's; `known` are the values held already, by placeholder."""
        self._redactor = redactor
        self._known = dict(known)
        self._new: dict[str, str] = {}
        self._thread = thread
        self._clean = clean if clean is not None else CleanTexts()
        self._done: dict[bytes, str] = {}
        self._chars = 0

    def __repr__(self) -> str:
        return f"RunTexts({len(self._known)} values)"

    def redact(self, text: str) -> str:
        """Return `text` with placeholders; ids stay. Tags that it has stay too: they are this thread's own."""
        if not text or ID.fullmatch(text):
            return text
        digest = digest_of(self._thread, text)
        if (done := self._done.get(digest)) is not None:
            return done
        if self._clean.has(digest):
            return text
        redacted = self._redacted(text)
        if redacted == text:
            self._clean.add(digest)
        else:
            self._remember(digest, redacted)
        return redacted

    def identifier(self, value: Any) -> Any:
        """Return what stands where an id has to: itself if there is nothing in it, else one derived from it.

        The derived one is the one that the checkpointer stores, and as good to tell two messages apart.
        """
        if not isinstance(value, str) or self.redact(value) == value:
            return value
        return safe_id(value)

    def stream(self, *, spoken: bool = False) -> TextStream:
        """Return what redacts one text that arrives in pieces; of one that a model has `spoken`, without its reasoning."""
        return TextStream(self, SpokenStream() if spoken else None)

    def taken(self) -> dict[str, str]:
        """Return the values that were taken since this was last asked."""
        new, self._new = self._new, {}
        return new

    def learn(self, values: Mapping[str, str]) -> None:
        """Take values that others have found; they count as taken."""
        for placeholder, value in values.items():
            if placeholder not in self._known:
                self._known[placeholder] = self._new[placeholder] = value

    def _redacted(self, text: str) -> str:
        if not isinstance(self._redactor, Masking):
            return self._redactor.redact(text)
        masked, values = self._redactor.mask(text, self._known, trusted=True)
        self.learn(values)
        return masked

    def _remember(self, digest: bytes, redacted: str) -> None:
        self._chars += len(redacted)
        if self._chars > CACHED_CHARS:
            self._done.clear()
            self._chars = len(redacted)
        self._done[digest] = redacted

    def _findable(self) -> Findable | None:
        return _Recorded(self._redactor, self, self._known) if isinstance(self._redactor, Taking) else None


class TextStream:
    """One text that arrives in pieces. What can't be redacted piece by piece is held back until it is whole."""

    def __init__(self, texts: RunTexts, spoken: SpokenStream | None = None) -> None:
        self._texts = texts
        self._spoken = spoken
        self._held: list[str] = []
        found = texts._findable()  # noqa: SLF001  # the other half of this class
        self._stream = StreamingRedactor(found, early=True) if found else None

    def __repr__(self) -> str:
        return "TextStream()"

    def feed(self, piece: str) -> str:
        """Take the next characters; return those that are settled, redacted."""
        if self._spoken is not None:
            piece = self._spoken.feed(piece)
        if self._stream is not None:
            return self._stream.feed(piece)
        self._held.append(piece)
        return ""

    def close(self) -> str:
        """Return the rest, redacted."""
        rest = "" if self._spoken is None else self._spoken.close()
        if self._stream is not None:
            return self._stream.feed(rest) + self._stream.close()
        held, self._held = "".join([*self._held, rest]), []
        return self._texts.redact(held)


class _Recorded:
    """A redactor for a stream that tells a run the values it takes."""

    def __init__(self, redactor: Taking, texts: RunTexts, known: Mapping[str, str]) -> None:
        self._redactor = redactor
        self._texts = texts
        self._known = known

    def findings(self, text: str) -> list[Finding]:
        return self._redactor.findings(text)

    def label(self, text: str, finding: Finding) -> str:
        values: dict[str, str] = {}
        placeholder = self._redactor.take(text, finding, values, self._known)
        self._texts.learn(values)
        return placeholder

    def literal(self, text: str) -> str:
        return self._redactor.literal(text)

    def carried(self, text: str) -> str:
        return self._redactor.carried(text)

    def open_from(self, text: str) -> int:
        return self._redactor.open_from(text)
