"""Keep a rolling summary of each thread: every five rounds the next five go into it, beside the turns or in them."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple
from weakref import WeakSet

from langchain_core.messages import BaseMessage

from discreet.erased import Erased, on_erasure
from discreet.metrics import conversation_rounds, unsummarised_rounds
from discreet.nodes.background_tasks import DRAIN_SECONDS, BackgroundTasks, drain
from discreet.nodes.rounds import KEEP, ThreadRound, belongs, rounds_of, window
from discreet.nodes.summary_steps import (
    BUDGET,
    CHUNK,
    Conversation,
    IsCurrent,
    OnCommit,
    SummarySteps,
    SummaryText,
    Thread,
    due,
    note_failure,
    tried,
)
from discreet.nodes.turn import turn_start
from discreet.ports import Memories, RollingSummaries, RollingSummary, SummaryProvider, TextRedactor, TokenCounter
from discreet.providers.summaries import SummaryInTime
from discreet.providers.tokens import count_tokens
from discreet.redaction import untagged
from discreet.redaction.configured import default_redactor
from discreet.state.records import MAX_MEMORY_CHARS, MemoryRecord, Provenance, summary_id

__all__ = ["KEEP", "IsCurrent", "OnCommit", "RollingSummariser", "remember_summary", "window"]

LATE = 2
"""Chunks that are due when a summary is late: the turns of five rounds have not brought it forward."""

MAX_STEPS = 4
"""Chunks in one go, those included that were lost to a faster committer. A long thread that is new here is caught up with
over its next turns."""

READ_SECONDS = 2.0
"""How long a turn waits for the storage of summaries."""

FRESH_SECONDS = 5.0
"""For how long a summary holds that was read before the turn came to its prompt."""

IN_TURN_SECONDS = 8.0
"""How long a turn waits for its summary where it is made in the turn: less than a place where turns are kept is given."""

CATCH_UP_SECONDS = 8.0
"""How long a prompt that does not fit waits for the provider. Then the rest is quoted, which takes 10 ms a chunk."""

RESTING_SECONDS = 300.0
"""How long no prompt waits again for a provider that one has waited for in vain."""

MAX_SHOWN = 1_000
"""Turns that run at once, at most a few hundred in a process."""


LeftOut = Callable[[Sequence[BaseMessage]], Awaitable[list[BaseMessage]]]
"""Returns the messages of a conversation that may be told."""


class _Shown(NamedTuple):
    answer_id: str | None
    """Of the last round before the running turn."""
    summary: RollingSummary


class RollingSummariser:
    """Keeps the rolling summaries of threads up to date, and hands them to prompts. One serves all threads.

    No turn depends on it: what fails is a log event, a metric, and a summary that stays behind until the next turn.

    In the background it works in tasks on the turn's event loop, if that has served a turn before. On a loop that it sees
    for the first time nothing is begun that may end with the turn, as under `asyncio.run` a turn; a summary that is late
    there is continued at once with quotes, which need no model.

    Example:
        >>> import asyncio
        >>> from discreet.providers.summaries import ExtractiveSummaryProvider
        >>> from discreet.testing import InMemoryRollingSummaries
        >>> summariser = RollingSummariser(InMemoryRollingSummaries(), ExtractiveSummaryProvider())
        >>> asyncio.run(summariser.current("ann", "thread-1", []))
        RollingSummary(text='', rounds=0, last_message_id=None, is_readable=True)
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
        timeout: float = 20.0,
        redactor: TextRedactor | None = None,
        background: bool = True,
        max_running: int = 8,
        on_commit: OnCommit | None = None,
        is_current: IsCurrent | None = None,
    ) -> None:
        """Keep what `provider` makes of rounds in `summaries`.

        Args:
            summaries: Where they are kept.
            provider: Makes them.
            count_tokens: Measures them.
            chunk: Rounds at a time.
            keep: Rounds that `window` leaves verbatim.
            budget: Tokens of a summary at most.
            timeout: Seconds for all that one turn starts; while the event loop stands still they don't run.
            redactor: Redacts what is kept. Default: the one that the settings describe.
            background: Work beside the turns; else `after_turn` waits for it, 8 seconds or `timeout` at most.
            max_running: Threads worked on at once. One more is left for its next turn.
            on_commit: Told of each new summary; its failure costs nothing else.
            is_current: Asked before each commit; without a yes nothing is kept. For rounds that were taken out meanwhile.
        """
        self._summaries = summaries
        self._provider = provider
        self._count_tokens = count_tokens
        self._chunk = chunk
        self._keep = keep
        self._timeout = timeout
        self._background = background
        self._steps = SummarySteps(
            summaries=summaries,
            text=SummaryText(count_tokens, redactor or default_redactor(), budget),
            chunk=chunk,
            on_commit=on_commit,
            is_current=is_current,
        )
        self._tasks = BackgroundTasks(limit=max_running)
        self._living: WeakSet[asyncio.AbstractEventLoop] = WeakSet()
        """Event loops that have served a turn."""
        self._shown: OrderedDict[Thread, _Shown] = OrderedDict()
        """What running turns were shown last, so that a turn reads the summary once however often the model is asked."""
        self._brought: OrderedDict[Thread, tuple[RollingSummary, float]] = OrderedDict()
        """What was read with what else a turn needs, and when by the monotonic clock, until its prompt takes it."""
        on_erasure(self._forget_shown)
        self._rests_until = -math.inf
        """The monotonic time before which `catch_up` quotes without asking the provider."""

    async def after_turn(
        self,
        user_id: str | None,
        thread_id: str | None,
        messages: Sequence[BaseMessage],
        *,
        app_name: str = "default",
        left_out: LeftOut | None = None,
    ) -> None:
        """Summarise what is due of a thread. `messages` is the whole conversation, filtered. Never raises.

        `left_out` takes out of it what may not be told any more; it is asked only if something may be due.
        """
        if thread_id is not None:
            self._brought.pop((user_id, thread_id), None)
        loop = asyncio.get_running_loop()
        lives_on = loop in self._living
        self._living.add(loop)
        seen = Conversation(rounds_of(messages), app_name)
        conversation_rounds.observe(len(seen.rounds))
        if thread_id is None or len(seen.rounds) < self._chunk:
            return
        thread = (user_id, thread_id)
        shown = self._shown.pop(thread, None)
        if shown is not None and due(shown.summary, seen.rounds) < self._chunk:
            return
        if left_out is not None:
            seen = Conversation(rounds_of(await left_out(messages)), app_name)
        before = None if self._background else await self._due(thread, seen.rounds)
        if lives_on or not self._background:
            await self._begin(thread, seen)
        if lives_on and self._background:
            return
        left = await self._due(thread, seen.rounds)
        if left is not None and left >= LATE * self._chunk and (before is None or left >= before):
            await self._advance(thread, seen, self._quotes_after(0))

    async def current(
        self, user_id: str | None, thread_id: str | None, messages: Sequence[BaseMessage]
    ) -> RollingSummary:
        """Return the summary of the conversation `messages`; an empty one if there is none, or none can be read.

        A summary of another branch of the thread, or of messages that were deleted since, is not shown.
        """
        return await self.of_rounds(user_id, thread_id, rounds_of(messages))

    async def of_rounds(
        self, user_id: str | None, thread_id: str | None, rounds: Sequence[ThreadRound]
    ) -> RollingSummary:
        """Return as `current` does the summary of a conversation of these rounds."""
        if thread_id is None or len(rounds) < self._chunk:
            return RollingSummary()
        shown = self._shown.get((user_id, thread_id))
        if shown is not None and shown.answer_id == rounds[-1].answer_id is not None and belongs(shown.summary, rounds):
            return shown.summary
        brought, at = self._brought.pop((user_id, thread_id), (None, 0.0))
        if brought is not None and time.monotonic() - at < FRESH_SECONDS:
            stored: RollingSummary | None = brought
        else:
            stored = await self._read((user_id, thread_id), len(rounds))
        unsummarised_rounds.observe(len(rounds) if stored is None else due(stored, rounds))
        if stored is None or not belongs(stored, rounds):
            return RollingSummary()
        self._show((user_id, thread_id), _Shown(rounds[-1].answer_id, stored))
        return stored

    def note(self, user_id: str | None, thread_id: str, summary: RollingSummary) -> None:
        """Take note of the summary that is kept of a thread, which was just read for a turn."""
        self._brought[user_id, thread_id] = summary, time.monotonic()
        self._brought.move_to_end((user_id, thread_id))
        if len(self._brought) > MAX_SHOWN:
            self._brought.popitem(last=False)

    async def catch_up(
        self,
        user_id: str | None,
        thread_id: str | None,
        messages: Sequence[BaseMessage],
        *,
        app_name: str = "default",
    ) -> RollingSummary:
        """Summarise now all rounds of `messages` but the last `keep` and the running turn, and return the newest summary.

        For a prompt that does not hold what the summary lacks. After 8 seconds, or if the provider fails, the rest is
        quoted, and for five minutes whatever is asked for here. Never raises: what could not be done is missing in the
        summary.
        """
        rounds = rounds_of(messages[: turn_start(messages)])
        upto = len(rounds) - self._keep
        newest = await self.of_rounds(user_id, thread_id, rounds)
        if thread_id is None or newest.rounds >= upto:
            return newest
        thread, reached = (user_id, thread_id), [newest]
        rests = time.monotonic() < self._rests_until
        provider = self._quotes_after(0 if rests else CATCH_UP_SECONDS)
        work = partial(self._steps.upto, thread, Conversation(rounds, app_name), provider, upto, reached)
        await tried(work, CATCH_UP_SECONDS + READ_SECONDS, thread, len(rounds))
        if provider.quoted and not rests:
            self._rests_until = time.monotonic() + RESTING_SECONDS
        self._show(thread, _Shown(rounds[-1].answer_id, reached[-1]))
        return reached[-1]

    def window(self, messages: Sequence[BaseMessage], summary: RollingSummary) -> list[BaseMessage]:
        """Return the messages that stand verbatim beside `summary`, see `window`."""
        return window(messages, summary, self._keep)

    async def drain(self, seconds: float = DRAIN_SECONDS) -> int:
        """Wait `seconds` at most for the work that runs; return how many threads are left.

        `discreet.graph.drain` does so for all summarisers of a process.
        """
        return await drain(seconds, of=self._tasks)

    def _forget_shown(self, _: Erased) -> None:
        """Read all summaries and rounds anew. Running turns have some, and each is read once a turn."""
        self._shown.clear()
        self._steps.text.redacted.clear()
        self._brought.clear()

    async def _begin(self, thread: Thread, seen: Conversation) -> None:
        """Have what is due of one thread done, and wait for it where that is wanted."""
        task = self._tasks.start(thread, partial(self._advance, thread, seen))
        if task is None:
            note_failure("Busy", thread, len(seen.rounds))
        elif not self._background and task.get_loop() is asyncio.get_running_loop():
            await asyncio.wait([task], timeout=min(self._timeout, IN_TURN_SECONDS))

    async def _due(self, thread: Thread, rounds: Sequence[ThreadRound]) -> int | None:
        """Return how many of `rounds` the summary that is kept lacks; None if it can't be read."""
        stored = await self._read(thread, len(rounds))
        return None if stored is None else due(stored, rounds)

    async def _read(self, thread: Thread, rounds: int) -> RollingSummary | None:
        """Return the summary that is kept; None if it can't be read."""
        return await tried(partial(self._summaries.get, *thread), READ_SECONDS, thread, rounds)

    def _show(self, thread: Thread, shown: _Shown) -> None:
        self._shown[thread] = shown
        self._shown.move_to_end(thread)
        if len(self._shown) > MAX_SHOWN:
            self._shown.popitem(last=False)

    async def _advance(self, thread: Thread, seen: Conversation, provider: SummaryProvider | None = None) -> None:
        """Do the whole chunks that are due of one thread, and no more than some of them at once."""
        work = partial(self._steps.chunks, thread, seen, provider or self._provider, steps=MAX_STEPS)
        await tried(work, self._timeout, thread, len(seen.rounds))

    def _quotes_after(self, seconds: float) -> SummaryInTime:
        return SummaryInTime(self._provider, seconds, count_tokens=self._count_tokens)


def remember_summary(memories: Memories, provider: SummaryProvider | None = None) -> OnCommit:
    """Return an `on_commit` that keeps the summary as one memory of its thread, so that the user's other threads find it.

    Each commit replaces that memory. Without a user nothing is kept. A `provider` that has a `provenance` is told with it.
    """

    async def remember(user_id: str | None, thread_id: str, summary: RollingSummary, app_name: str) -> None:
        text = untagged(summary.text)[:MAX_MEMORY_CHARS]
        if user_id is None:
            return
        entry_id = summary_id(thread_id)
        if not text.strip():
            await memories.delete(user_id, entry_id)
            return
        written: Provenance = getattr(provider, "provenance", Provenance())
        record = MemoryRecord(
            entry_id=entry_id,
            text=text,
            type="conversation_summary",
            thread_id=thread_id,
            app_name=app_name,
            tags=["rolling"],
            provenance=written.model_copy(update={"source": "compaction"}),
        )
        await memories.save(user_id, [record])

    return remember
