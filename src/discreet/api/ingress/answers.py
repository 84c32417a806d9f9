"""Put real values back into the live answer that goes to the owner of a request."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Mapping

from starlette.types import Message, Send

from discreet.api.ingress.vaulting import values_of
from discreet.api.receiving import header
from discreet.ports import TurnVault
from discreet.redaction.placeholders import TAGGED, UNFINISHED

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')

MOST_REFS = 20
"""Requests of one connection that the vault is asked about, the last ones: each costs a look-up an event."""

MOST_CHARS = 5_000_000
"""Of placeholders and values that one connection remembers; beyond that it forgets what it learnt first."""


class Restoring:
    """Texts of one answer, with the values that its request brought and its run found."""

    def __init__(self, vault: TurnVault, refs: list[str], values: dict[str, str]) -> None:
        self._vault = vault
        self._refs = refs
        self._values: dict[str, str] = {}
        self._chars = 0
        self._learn(values)

    def knows(self, refs: Iterable[str], values: Mapping[str, str]) -> None:
        """Add requests of the same connection, and values."""
        self._refs = [*self._refs, *refs][-MOST_REFS:]
        self._learn(values)

    async def text(self, text: str) -> str:
        """Return JSON with the values put back as JSON writes them. What the vault has lost stays a placeholder."""
        unknown = {match[0] for match in TAGGED.finditer(text)} - self._values.keys()
        for ref in self._refs if unknown else ():
            self._learn(await values_of(self._vault, ref))
        if any(_escaped(value) != value for value in self._values.values()):
            text = _STRING.sub(self._within_json, text)
        return TAGGED.sub(self._written, text)

    def _learn(self, values: Mapping[str, str]) -> None:
        for placeholder, value in values.items():
            if placeholder not in self._values:
                self._values[placeholder] = value
                self._chars += len(placeholder) + len(value)
        while self._chars > MOST_CHARS and len(self._values) > 1:
            first = next(iter(self._values))
            self._chars -= len(first) + len(self._values.pop(first))

    def _written(self, match: re.Match[str]) -> str:
        value = self._values.get(match[0])
        return match[0] if value is None else _escaped(value)

    def _within_json(self, match: re.Match[str]) -> str:
        """Return a JSON string restored if it holds JSON itself, such as the arguments of a call; else as it is."""
        string = match[0]
        if TAGGED.search(string) is None:
            return string
        try:
            held = json.loads(json.loads(string))
        except (ValueError, RecursionError):
            return string
        if not isinstance(held, (dict, list)):
            return string
        return TAGGED.sub(lambda tag: _escaped(self._written(tag)) if tag[0] in self._values else tag[0], string)


def _escaped(value: str) -> str:
    """Return a value as it stands in a JSON string."""
    return json.dumps(value)[1:-1]


class LiveAnswer:
    """A `send` that restores JSON and server-sent events of a run that was accepted."""

    def __init__(self, send: Send, restoring: Restoring) -> None:
        self._send = send
        self._restoring = restoring
        self._restores = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    async def __call__(self, message: Message) -> None:
        """Send `message` on, restored."""
        if message["type"] == "http.response.start":
            message = self._start(message)
        elif message["type"] == "http.response.body" and self._restores:
            message = await self._body(message)
        await self._send(message)

    def _start(self, message: Message) -> Message:
        headers = message.get("headers", [])
        kind = header(headers, b"content-type") or b""
        accepted = 200 <= message["status"] < 300  # RFC 9110, section 15.3
        plain = header(headers, b"content-encoding") is None
        self._restores = accepted and plain and kind.startswith((b"application/json", b"text/event-stream"))
        if not self._restores:
            return message
        kept = [pair for pair in headers if pair[0].lower() != b"content-length"]
        return {**message, "headers": kept}

    async def _body(self, message: Message) -> Message:
        last = not message.get("more_body", False)
        text = self._held + self._decoder.decode(message.get("body", b""), final=last)
        cut = None if last else UNFINISHED.search(text, max(0, len(text) - 60))
        text, self._held = (text, "") if cut is None else (text[: cut.start()], text[cut.start() :])
        return {**message, "body": (await self._restoring.text(text)).encode()}
