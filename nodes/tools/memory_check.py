"""What may become a memory: what the user said, without secrets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Final, Self

from langchain_core.messages import BaseMessage, ToolMessage
from pydantic import Field, model_validator

from discreet.errors import (
    CopiedFromToolError,
    LoginRefusedError,
    MemoryRefusedError,
    ReadOnlyServerError,
    ServerFullError,
    StatementTimeoutError,
    StorageUnavailableError,
    UnverifiedServerError,
)
from discreet.metrics import memories_refused
from discreet.nodes.tools.copied import copied_from
from discreet.nodes.tools.memory_tool import HearingTool
from discreet.nodes.tools.secret_references import Kept
from discreet.nodes.turn import turn_start
from discreet.ports import DecliningSecretStore
from discreet.state.message_text import is_persons, text_of
from discreet.state.records import MemoryRecord

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
