"""Keep a rolling summary of each thread: every five rounds the next five go into it, beside the turns."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple
from uuid import UUID, uuid5

from langchain_core.messages import BaseMessage

from discreet.metrics import conversation_rounds, summaries, summary_failures
from discreet.nodes.latest_jobs import LatestJobs
from discreet.nodes.rounds import KEEP, ThreadRound, belongs, rounds_of, window
from discreet.ports import (
    Memories,
    RollingSummaries,
    RollingSummary,
    SummaryProvider,
    TextRedactor,
    TokenCounter,
    of_thread,
)
from discreet.providers.sentences import shortened
from discreet.providers.tokens import count_tokens
from discreet.redaction import untagged
from discreet.redaction.configured import default_redactor
from discreet.redaction.placeholders import TAGGED
from discreet.state.records import MAX_MEMORY_CHARS, MemoryRecord, Provenance

__all__ = ["KEEP", "OnCommit", "RollingSummariser", "remember_summary", "window"]

logger = logging.getLogger(__name__)

CHUNK = 5
"""Rounds that go into the summary at a time: with three more detail is lost, with ten the prompt grows longer."""

BUDGET = 200
"""Tokens of a summary, of the 2,000 of a prompt."""

CHUNK_SHARE = 4
"""A chunk gets a quarter of the budget."""

SHARE = 0.04
"""Of the tokens of the rounds that it covers: what a summary may take, from half of its budget on. At forty rounds the
last six are 15 % of all, so that this saves four fifths; rounds of 125 tokens and more fill the budget."""

MAX_STEPS = 4
"""Chunks in one go, those included that were lost to a faster committer. A long thread that is new here is caught up with
over its next turns."""

READ_SECONDS = 2.0
"""How long a turn waits for the summary."""

MAX_SHOWN = 1_000
"""Turns that run at once, at most a few hundred in a process."""

HOOK_SECONDS = 5.0
"""How long `on_commit` may take."""

OnCommit = Callable[[str | None, str, RollingSummary, str], Awaitable[None]]
"""Called after each commit with user_id, thread_id, the summary and the name of the application."""

_NAMESPACE = UUID("8f3c4f0e-53c1-5c0b-9a55-3f1f6f1b7a42")
"""Of the ids of summaries among the memories. Never changed: it tells which memory belongs to a thread."""


class _Turn(NamedTuple):
    rounds: list[ThreadRound]
    app_name: str


class _Shown(NamedTuple):
    answer_id: str | None
    """Of the last round before the running turn."""
    summary: RollingSummary


class RollingSummariser:
    """Keeps the rolling summaries of threads up to date, and hands them to prompts. One serves all threads.

    No turn depends on it: what fails is a log event, a metric, and a summary that stays behind until the next turn.

    Example:
        >>> import asyncio
        >>> from discreet.providers.summaries import ExtractiveSummaryProvider
        >>> from discreet.testing import InMemoryRollingSummaries
        >>> summariser = RollingSummariser(InMemoryRollingSummaries(), ExtractiveSummaryProvider())
        >>> asyncio.run(summariser.current("ann", "thread-1", []))
        RollingSummary(text='', rounds=0, last_message_id=None)
    """

    def __init__(
        self,
        summaries: RollingSummaries,
        provider: SummaryProvider,
        count_tokens: TokenCounter = count_tokens,
        *,
        chunk: int = CHUNK,
        keep: int = KEEP,
        budget: int = BUDGET,
        share: float = SHARE,
        timeout: float = 20.0,
        redactor: TextRedactor | None = None,
        background: bool = True,
        max_running: int = 8,
        on_commit: OnCommit | None = None,
    ) -> None:
        """Keep what `provider` makes of rounds in `summaries`.

        Args:
            summaries: Where they are kept.
            provider: Makes them.
            count_tokens: Measures them.
            chunk: Rounds at a time.
            keep: Rounds that `window` leaves verbatim.
            budget: Tokens of a summary at most.
            share: What it may take of the tokens of the rounds that it covers, from half of the budget on; with 1 it is
                the budget alone that counts.
            timeout: Seconds for all that one turn starts.
            redactor: Redacts what is kept. Default: the one that the settings describe.
            background: Work beside the turns; else `after_turn` waits for it, `timeout` seconds at most.
            max_running: Threads worked on at once. One more is left for its next turn.
            on_commit: Told of each new summary; its failure costs nothing else.
        """
        self._summaries = summaries
        self._provider = provider
        self._count_tokens = count_tokens
        self._chunk = chunk
        self._keep = keep
        self._budget = budget
        self._share = share
        self._timeout = timeout
        self._redactor = redactor or default_redactor()
        self._background = background
        self._on_commit = on_commit
        self._jobs = LatestJobs(self._advance, limit=max_running)
        self._shown: OrderedDict[tuple[str | None, str], _Shown] = OrderedDict()
        """What running turns were shown last, so that a turn reads the summary once however often the model is asked."""

    async def after_turn(
        self,
        user_id: str | None,
        thread_id: str | None,
        messages: Sequence[BaseMessage],
        *,
        app_name: str = "default",
    ) -> None:
        """Summarise what is due of a thread. `messages` is the whole conversation, filtered and redacted. Never raises."""
        rounds = rounds_of(messages)
        conversation_rounds.observe(len(rounds))
        if thread_id is None or len(rounds) < self._chunk:
            return
        shown = self._shown.pop((user_id, thread_id), None)
        if shown is not None and belongs(shown.summary, rounds) and len(rounds) - shown.summary.rounds < self._chunk:
            return
        done = self._jobs.offer((user_id, thread_id), _Turn(rounds, app_name))
        if done is None:
            _note_failure("Busy", thread_id, len(rounds))
        elif not self._background:
            await asyncio.wait([asyncio.wrap_future(done)], timeout=self._timeout)

    async def current(
        self, user_id: str | None, thread_id: str | None, messages: Sequence[BaseMessage]
    ) -> RollingSummary:
        """Return the summary of the conversation `messages`; an empty one if there is none, or none can be read.

        A summary of another branch of the thread, or of messages that were deleted since, is not shown.
        """
        rounds = rounds_of(messages)
        if thread_id is None or len(rounds) < self._chunk:
            return RollingSummary()
        shown = self._shown.get((user_id, thread_id))
        if shown is not None and shown.answer_id == rounds[-1].answer_id is not None:
            return shown.summary
        try:
            async with asyncio.timeout(READ_SECONDS):
                stored = await self._summaries.get(user_id, thread_id)
        except Exception as error:  # noqa: BLE001  # memory fails open, whatever a foreign store raises
            _note_failure(type(error).__name__, thread_id, len(rounds))
            return RollingSummary()
        if not belongs(stored, rounds):
            return RollingSummary()
        self._show((user_id, thread_id), _Shown(rounds[-1].answer_id, stored))
        return stored

    def _show(self, thread: tuple[str | None, str], shown: _Shown) -> None:
        self._shown[thread] = shown
        self._shown.move_to_end(thread)
        if len(self._shown) > MAX_SHOWN:
            self._shown.popitem(last=False)

    def window(self, messages: Sequence[BaseMessage], summary: RollingSummary) -> list[BaseMessage]:
        """Return the messages that stand verbatim beside `summary`, see `window`."""
        return window(messages, summary, self._keep)

    async def drain(self) -> None:
        """Wait for the work that runs, for a shutdown or a test."""
        await self._jobs.drain()

    async def _advance(self, key: tuple[str | None, str], turn: _Turn) -> None:
        """Do what is due of one thread; all that can fail does so here."""
        user_id, thread_id = key
        try:
            async with asyncio.timeout(self._timeout):
                await self._catch_up(user_id, thread_id, turn)
        except Exception as error:  # noqa: BLE001  # memory fails open, whatever a foreign store or model raises
            _note_failure(type(error).__name__, thread_id, len(turn.rounds))

    async def _catch_up(self, user_id: str | None, thread_id: str, turn: _Turn) -> None:
        stored = await self._summaries.get(user_id, thread_id)
        for _ in range(MAX_STEPS):
            base = stored if belongs(stored, turn.rounds) else RollingSummary()
            rounds = turn.rounds[: base.rounds + self._chunk]
            if len(rounds) < base.rounds + self._chunk or rounds[-1].answer_id is None:
                return
            summaries.inc()
            new = RollingSummary(
                text=await self._longer(base, rounds, thread_id),
                rounds=len(rounds),
                last_message_id=rounds[-1].answer_id,
            )
            if await self._summaries.commit(user_id, thread_id, expected=stored, new=new):
                stored = new
                await self._tell(user_id, thread_id, new, turn.app_name)
                continue
            summary_failures.labels("LostRace").inc()
            stored = await self._summaries.get(user_id, thread_id)
            if stored.rounds < base.rounds or not belongs(stored, turn.rounds):
                return  # it was forgotten meanwhile, or the winner saw more of the thread than this turn did

    async def _longer(self, base: RollingSummary, rounds: Sequence[ThreadRound], thread_id: str) -> str:
        """Return the text of `base` with what the rest of `rounds` comes to, redacted and within the budget."""
        chunk = [each.spoken for each in rounds[base.rounds :]]
        room = self._room(rounds)

        def fits(text: str) -> bool:
            return self._count_tokens(text) <= room

        part = await self._provider.summarize(chunk, earlier=base.text, max_tokens=self._budget // CHUNK_SHARE)
        text = "\n".join(filter(None, (base.text, part.strip())))
        if not fits(text):
            text = await self._provider.summarize((), earlier=text, max_tokens=room)
        given = " ".join([base.text, *(f"{each.said} {each.answered}" for each in chunk)])
        redact = of_thread(self._redactor, thread_id).redact
        return shortened(await asyncio.to_thread(redact, _with_tags_of(given, text)), fits)

    def _room(self, rounds: Sequence[ThreadRound]) -> int:
        """Return how many tokens the summary of `rounds` may take."""
        spoken = sum(self._count_tokens(text) for each in rounds for text in (each.spoken.said, each.spoken.answered))
        return min(self._budget, max(self._budget // 2, int(spoken * self._share)))

    async def _tell(self, user_id: str | None, thread_id: str, summary: RollingSummary, app_name: str) -> None:
        if self._on_commit is None:
            return
        try:
            async with asyncio.timeout(HOOK_SECONDS):
                await self._on_commit(user_id, thread_id, summary, app_name)
        except Exception as error:  # noqa: BLE001  # the summary is kept; a foreign hook may raise anything
            _note_failure(type(error).__name__, thread_id, summary.rounds)


def remember_summary(memories: Memories) -> OnCommit:
    """Return an `on_commit` that keeps the summary as one memory of its thread, so that the user's other threads find it.

    Each commit replaces that memory. Without a user nothing is kept.
    """

    async def remember(user_id: str | None, thread_id: str, summary: RollingSummary, app_name: str) -> None:
        text = untagged(summary.text)[:MAX_MEMORY_CHARS]
        if user_id is None or not text.strip():
            return
        record = MemoryRecord(
            entry_id=uuid5(_NAMESPACE, f"{user_id}\n{thread_id}"),
            text=text,
            type="conversation_summary",
            thread_id=thread_id,
            app_name=app_name,
            tags=["rolling"],
            provenance=Provenance(source="compaction"),
        )
        await memories.save(user_id, [record])

    return remember


def _with_tags_of(given: str, text: str) -> str:
    """Return `text`, where a placeholder that does not stand in `given` loses its tag: the model made it up."""
    known = {match[0] for match in TAGGED.finditer(given)}
    return TAGGED.sub(lambda match: match[0] if match[0] in known else f"<{match['kind']}>", text)


def _note_failure(cause: str, thread_id: str, rounds: int) -> None:
    summary_failures.labels(cause).inc()
    logger.warning("rolling_summary_failed cause=%s thread=%s rounds=%d", cause, thread_id, rounds)
