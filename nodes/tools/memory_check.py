"""What may become a memory: what the user said and no tool returned, with references in the place of secrets."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Final, Self

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.errors import GraphBubbleUp
from pydantic import Field, model_validator

from discreet.errors import (
    ConfigurationError,
    CopiedFromToolError,
    DiscreetError,
    LoginRefusedError,
    MemoryRefusedError,
    ReadOnlyServerError,
    SecretRefusedError,
    ServerFullError,
    StatementTimeoutError,
    StorageUnavailableError,
    UnverifiedServerError,
)
from discreet.metrics import memories_refused
from discreet.nodes.tools.memory_tool import HearingTool
from discreet.nodes.turn import turn_start
from discreet.ports import DecliningSecretStore, Locating, SecretStore, TextRedactor
from discreet.redaction import untagged
from discreet.redaction.placeholders import SECRET, reference, referenced, written
from discreet.retrieval.tokens import tokens
from discreet.state.ids import SECRET_ID_CHARS, is_secret_id
from discreet.state.message_text import is_persons, text_of
from discreet.state.records import MemoryRecord
from discreet.state.text import storable

logger = logging.getLogger(__name__)

MEMORY_TOOLS: Final = frozenset({"save_memory", "recall_memory", "update_memory", "forget_memory"})
"""Their results hold the user's own memories."""

LASTING: Final = (LoginRefusedError, UnverifiedServerError, ReadOnlyServerError, ServerFullError, StatementTimeoutError)
"""What no second try within a turn can mend."""

PAUSE_SECONDS: Final = 0.25
"""Between two tries."""

NEVER: Final = "Never passwords, keys or tokens, and never what a tool returned."
"""Ends the description of a tool that writes."""

NEVER_OF_TOOLS: Final = (
    "Never what a tool returned. A password, key or token of the user's own may be in it if they ask to have it kept: the "
    "memory then has a reference such as <SECRET_…> in its place, to be repeated as it stands."
)
"""The same where there is a store for secrets."""

COPIED_WORDS = 4
"""A run of this many words that stands in a tool's result and not in what the user said counts as copied; shorter runs
("in New York City") occur by chance."""

COPIED_SHARE = 0.5
"""So much of what a text says, in any order, must come from one result for it to count as copied."""

_NUMBER_WEIGHT = 2
"""What a number counts among words: nobody says 4711 by chance. A year may be known without a tool."""

_WORD = re.compile(r"[一-鿿぀-ヿ]|[^\W_]+")

_YEAR = re.compile(r"(?:19|20)\d\d")

FORGET_SECONDS = 5.0
"""How long a tool waits for secrets to be forgotten that no memory refers to: its own work is done, or has failed."""


class WritingTool(HearingTool):
    """Base of the tools that write a memory."""

    again_seconds: float = Field(default=5.0, exclude=True)
    """For how long a save is tried again whose database is away: as long as a restart takes."""

    async def saved(self, user_id: str, records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        """Return what was stored of `records`. A save that failed is repeated as it was, which doubles nothing.

        Raises:
            StorageUnavailableError: The database stayed away, or refuses.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + self.again_seconds
        while True:
            try:
                return await self.memories.save(user_id, records)
            except StorageUnavailableError as error:
                if isinstance(error, LASTING) or clock() > until:
                    raise
            await asyncio.sleep(PAUSE_SECONDS)

    @model_validator(mode="after")
    def _say_what_is_taken(self) -> Self:
        if not isinstance(self.secret_store, DecliningSecretStore):
            self.description = self.description.replace(NEVER, NEVER_OF_TOOLS)
        return self

    @asynccontextmanager
    async def checked(
        self, text: str, messages: Sequence[BaseMessage], user_id: str, *, tags: Sequence[str] = ()
    ) -> AsyncIterator[Kept]:
        """Yield `text`, said in the running turn of `messages`, as it may be kept; a metric tells of what may not.

        Raises:
            SecretRefusedError: It has a password, key or token, which the store for secrets did not take.
            CopiedFromToolError: Words of a tool's result that the user did not say, in the text or in a tag.
        """
        kept = Kept(text, self.redactor, self.secret_store, user_id)
        try:
            try:
                _check_origin((text, *kept.secrets, *tags), messages)
                await kept.give()
            except MemoryRefusedError as refusal:
                memories_refused.labels(refusal.code).inc()
                raise
            yield kept
        finally:
            await kept.settle()


def _check_origin(texts: Iterable[str], messages: Sequence[BaseMessage]) -> None:
    start = turn_start(messages) or 0
    results = [text_of(m) for m in messages[start:] if isinstance(m, ToolMessage) and m.name not in MEMORY_TOOLS]
    said = _said_by_user(messages)
    if any(copied_from(each, results, said=said) for each in texts):
        raise CopiedFromToolError


def _said_by_user(messages: Sequence[BaseMessage]) -> list[str]:
    """Return what the user said in this thread, so that they may confirm later what they said before.

    A summary that LangChain's middleware writes as a user's message is none: it tells of tool results too.
    """
    return [text_of(message) for message in messages if is_persons(message)]


def copied_from(text: str, results: Sequence[str], *, said: Iterable[str]) -> bool:
    """Whether `text` repeats words of one of `results` that the user has not `said`: a run of them, or most of its words.

    Words are compared without case and punctuation, Chinese by character. A text shorter than `COPIED_WORDS` counts as
    copied if all of it stands in a result. In any order it takes at least two words, by their stems and without those that
    say nothing, or a number, which make up `COPIED_SHARE` of the text.

    >>> copied_from("shipped: order 4711", ["Order 4711 shipped today"], said=["Where is my order?"])
    True
    >>> copied_from("User's order is 4711", ["Order 4711 shipped today"], said=["Where is my order 4711?"])
    False
    """
    if not results:
        return False
    spoken = list(said)
    return _in_a_run(text, results, spoken) or _in_any_order(text, results, spoken)


def _in_a_run(text: str, results: Iterable[str], said: Iterable[str]) -> bool:
    words = _words(text)
    if not words:
        return False
    spoken = [f" {' '.join(_words(each))} " for each in said]
    length = min(COPIED_WORDS, len(words))
    runs = {f" {' '.join(words[i : i + length])} " for i in range(len(words) - length + 1)}
    unsaid = [run for run in runs if not any(run in each for each in spoken)]
    return any(run in f" {' '.join(_words(result))} " for result in results for run in unsaid)


def _in_any_order(text: str, results: Iterable[str], said: Iterable[str]) -> bool:
    content = _content(text)
    unsaid = content.difference(*map(tokens, said))
    enough = max(_NUMBER_WEIGHT, COPIED_SHARE * _weight(content))
    return _weight(unsaid) >= enough and any(_weight(unsaid.intersection(tokens(each))) >= enough for each in results)


def _content(text: str) -> set[str]:
    """Return the words that say something: no pairs of syllables, which tell an order, and no single Han characters."""
    return {token for token in tokens(text) if " " not in token and (len(token) > 1 or token.isascii())}


def _weight(words: Iterable[str]) -> int:
    return sum(_NUMBER_WEIGHT if any(map(str.isdigit, word)) and not _YEAR.fullmatch(word) else 1 for word in words)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


class Kept:
    """A text that is to become a memory. Once `give` was called, the store has its secrets, and it refers to them."""

    def __init__(self, text: str, redactor: TextRedactor, store: SecretStore, user_id: str) -> None:
        self.text = untagged(storable(text))
        """As a record takes it: whoever stores it redacts all else in it."""
        self.redacted = redactor.redact(self.text)
        """The same without any value."""
        self.secrets: list[str] = []
        """What `give` hands to the store, in the order of the text."""
        self._redactor, self._store, self._user_id = redactor, store, user_id
        self._spans: list[tuple[int, int]] = []
        self._given: dict[str, str] = {}
        self._stood_in: set[str] = set()
        if written(SECRET) in self.redacted and isinstance(redactor, Locating):
            self._spans = [(each.start, each.end) for each in redactor.findings(self.text) if each.type == SECRET]
            self.secrets = [self.text[start:end] for start, end in self._spans]

    def __repr__(self) -> str:
        return f"Kept({len(self._spans)} secrets)"

    async def give(self) -> None:
        """Give the secrets to the store; from then on `text` and `redacted` refer to them.

        Raises:
            SecretRefusedError: It does not take one, or the value of one is not known any more.
            StorageUnavailableError: It failed.
        """
        if written(SECRET) not in self.redacted:
            return
        if written(SECRET) in self.text:  # a placeholder, whose value the turn's vault has lost
            raise SecretRefusedError
        parts: list[str] = []
        done = 0
        for (start, end), value in zip(self._spans, self.secrets, strict=True):
            if value not in self._given:
                self._given[value] = await self._keep(value)
            parts += self.text[done:start], reference(self._given[value])
            done = end
        text = "".join([*parts, self.text[done:]])
        redacted = self._redactor.redact(text)
        if written(SECRET) in redacted or not referenced([redacted]) >= {*self._given.values()}:
            raise SecretRefusedError
        self.text, self.redacted = text, redacted

    def stand_in(self, records: Iterable[MemoryRecord]) -> None:
        """Note that `records` are stored: secrets that they refer to stay."""
        self._stood_in |= referenced(record.text for record in records)

    async def settle(self) -> None:
        """Let the store forget what was given to it and no memory refers to."""
        await forget_secrets(self._store, self._user_id, {*self._given.values()} - self._stood_in)

    async def _keep(self, value: str) -> str:
        try:
            secret_id = await self._store.keep(self._user_id, value)
        except (DiscreetError, GraphBubbleUp):
            raise
        except Exception as error:  # noqa: BLE001  # a foreign store raises what it likes, and its message may tell the value
            cause = type(error).__name__
            raise StorageUnavailableError(f"The store for secrets failed: {cause}. Nothing was saved.") from None
        if secret_id is None:
            raise SecretRefusedError
        if not is_secret_id(secret_id):
            raise ConfigurationError(
                f"SecretStore.keep returned an id that is not {SECRET_ID_CHARS} of A-Z and 2-7. Take one of new_secret_id()."
            )
        return secret_id


async def forget_secrets(store: SecretStore, user_id: str, secret_ids: Collection[str]) -> int:
    """Let `store` forget secrets; return how many it did. A failure is logged with the ids: it undoes nothing."""
    forgotten = 0
    try:
        async with asyncio.timeout(FORGET_SECONDS):
            for secret_id in sorted(secret_ids):
                forgotten += await store.forget(user_id, secret_id)
    except GraphBubbleUp:
        raise
    except Exception as error:  # noqa: BLE001  # whatever a foreign store raises
        left = ",".join(sorted(secret_ids))
        logger.warning("secrets_not_forgotten secret_ids=%s cause=%s", left, type(error).__name__)
    return forgotten
