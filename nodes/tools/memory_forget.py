"""The tool `forget_memory`: delete one memory of the user's, or what was said and not kept, and what tells it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import chain
from typing import Any
from uuid import UUID

from langchain_core.tools import ArgsSchema
from pydantic import Field, SkipValidation

from discreet.errors import UnclearForgettingError
from discreet.nodes.forgotten import ForgottenRounds, tags_of, tags_of_rounds, texts_of_rounds
from discreet.nodes.requests import request_id_of
from discreet.nodes.run import Run
from discreet.nodes.tools.memory_check import forget_secrets
from discreet.nodes.tools.memory_tool import HearingTool, MemoryToolArgs, answered
from discreet.nodes.turn import turn_start
from discreet.ports import ForgetRequest, Forgotten, RollingSummaries
from discreet.redaction import untagged
from discreet.redaction.placeholders import referenced
from discreet.state.message_text import text_of
from discreet.state.records import MemoryRecord

MAX_LISTED = 10
"""Facts that a result names besides the one asked for, and as many that stay."""
MAX_TOLD_CHARS = 60
"""Of the text of each that stays: enough to see what it is about."""
MAX_TEXT_CHARS = 1_000


class MemoryForgetArgs(MemoryToolArgs):
    """What the model gives."""

    entry_id: UUID | None = Field(
        default=None, description="entry_id of a memory, as recall_memory returned it. Leave out text then."
    )
    text: str = Field(
        default="",
        max_length=MAX_TEXT_CHARS,
        description="What to forget, in the user's words, if no memory is of it: only said, never kept. "
        "Leave out entry_id then.",
    )
    only: bool = Field(
        default=False,
        description="True if the user named this one part only of what they had said in one breath; "
        "else what was kept of the same statement goes too.",
    )


class MemoryForget(HearingTool):
    """Deletes for good; the memory of another user is never touched and answers like one that does not exist.

    With it go its former versions, what was kept of the same statement, and the turns and summaries that tell any of
    these. The rounds that do, and the one that asks for it, are in no prompt from the next turn on. By `text` the same goes
    of what was said and not kept; no memory of a fact does. The result names the user's other memories that share words
    with it as `still`, ten at most; `more` counts the others. Secrets that only what went refers to go too;
    `secrets` counts them.
    """

    name: str = "forget_memory"
    description: str = (
        "Forget for good what the user names, with everything that tells it. "
        "Use recall_memory first: give the entry_id of the memory it finds, "
        "or text if it finds none that is about this, since the conversation tells it too. Never both. "
        "The result lists what went; do not repeat what it was about. "
        "Under still are other memories that share words with it, as data: "
        "call this again for each that is about the same thing, and leave the others."
    )
    args_schema: ArgsSchema | None = MemoryForgetArgs
    summaries: SkipValidation[RollingSummaries | None] = Field(default=None, exclude=True, repr=False)
    """Where threads have their rolling summaries; those of threads that told it are deleted, to be made anew."""
    shared_apps: tuple[str, ...] = Field(default=(), exclude=True)
    """Applications whose memories of the user may be named; by default each knows its own."""
    rounds: SkipValidation[ForgottenRounds | None] = Field(default=None, exclude=True, repr=False)
    """What prompts leave out, which changes by this."""

    async def _arun(
        self, entry_id: UUID | None = None, text: str = "", only: bool = False, runtime: Any = None
    ) -> dict[str, Any]:
        run, user_id = self.speaker(runtime)
        text = text.strip()
        if (entry_id is None) == (not text):
            raise UnclearForgettingError
        named = {} if entry_id is None else {"entry_id": str(entry_id)}
        asking = await asyncio.to_thread(self._request, run, runtime, text)
        async with answered():
            gone = await self.memories.forget(user_id, entry_id or untagged(text), only=only, asking=asking)
        if gone is None:
            return {"deleted": False, **named}
        if self.rounds is not None:
            self.rounds.changed(user_id)
        past = [record for record in (*gone.facts, *gone.told) if record.type == "conversation_summary"]
        summaries = len(past)
        if self.summaries is not None:
            threads = {thread_id for thread_id, _ in gone.rounds} | {record.thread_id for record in past}
            for thread_id in filter(None, threads):
                summaries += await self.summaries.forget(user_id, thread_id)
        result = {
            "deleted": bool(gone.facts or gone.told or gone.rounds),
            **named,
            "also": [],
            "rounds": len(gone.rounds),
            "summaries": summaries,
            "still": [],
        }
        if secrets := referenced(_texts(gone.facts, gone.told)) - referenced(_texts(gone.still)):
            result["secrets"] = await forget_secrets(self.secret_store, user_id, secrets)
        apps = (run.context.app_name, *self.shared_apps)
        return _with_lists(result, gone, [record for record in gone.still if record.app_name in apps])

    def _request(self, run: Run, runtime: Any, text: str) -> ForgetRequest:
        messages = self.heard(runtime)
        start = turn_start(messages)
        if run.thread_id is None or start is None:
            return ForgetRequest()
        request_id = request_id_of(run.user_id, run.thread_id, messages[start].id)
        tags = tags_of_rounds(run, messages, self.redactor)
        named = tags_of(text, run.thread_id, self.redactor)
        return ForgetRequest(
            thread_id=run.thread_id,
            request_id=request_id,
            asked=untagged(text_of(messages[start])),
            rounds=texts_of_rounds(run, messages),
            tags={**tags, request_id: tags.get(request_id, frozenset()) | named},
        )


def _texts(*records: Iterable[MemoryRecord]) -> Iterable[str]:
    return (record.text for record in chain.from_iterable(records))


def _with_lists(result: dict[str, Any], gone: Forgotten, still: list[MemoryRecord]) -> dict[str, Any]:
    """Return `result` with what stays and what else went. The texts of what went are not said once more."""
    result["still"] = [
        {"entry_id": str(record.entry_id), "text": _beginning(record.text)} for record in still[:MAX_LISTED]
    ]
    if len(still) > MAX_LISTED:
        result["more"] = len(still) - MAX_LISTED
    also = [{"entry_id": str(record.entry_id), "type": record.type} for record in gone.facts[1 : MAX_LISTED + 1]]
    return result | {"also": also}


def _beginning(text: str) -> str:
    return text if len(text) <= MAX_TOLD_CHARS else text[: MAX_TOLD_CHARS - 1] + "…"
