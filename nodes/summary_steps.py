"""One step of a rolling summary: the next rounds are put into it, redacted, and it is committed by compare-and-swap."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

from discreet.metrics import summaries, summary_failures
from discreet.nodes.background_tasks import awake_for
from discreet.nodes.rounds import ThreadRound, belongs
from discreet.ports import (
    RollingSummaries,
    RollingSummary,
    SpokenRound,
    SummaryProvider,
    TextRedactor,
    TokenCounter,
    of_thread,
)
from discreet.providers.sentences import shortened
from discreet.redaction.clean_texts import digest_of
from discreet.redaction.placeholders import TAGGED

logger = logging.getLogger(__name__)

CHUNK = 5
"""Rounds that go into the summary at a time: with three more detail is lost, with ten the prompt grows longer."""

BUDGET = 200
"""Tokens of a summary: of 5,000 that eighty rounds of sixty take, 4 %."""

CHUNK_SHARE = 4
"""A chunk gets a quarter of the budget."""

MAX_REDACTED = 1_000
"""Texts that are held redacted until their round is summarised: those of a hundred threads whose provider fails."""

HOOK_SECONDS = 5.0
"""How long `on_commit` may take."""

OnCommit = Callable[[str | None, str, RollingSummary, str], Awaitable[None]]
"""Called after each commit with user_id, thread_id, the summary and the name of the application. An empty summary takes the
one before back."""

IsCurrent = Callable[[str | None, str, Sequence[ThreadRound]], Awaitable[bool]]
"""Called before each commit with user_id, thread_id and the rounds that the summary was made from: whether all of them may
still be told."""

T = TypeVar("T")
Thread = tuple[str | None, str]
"""user_id and thread_id."""


class Conversation(NamedTuple):
    """What a turn saw of its thread."""

    rounds: list[ThreadRound]
    app_name: str


@dataclass(frozen=True)
class SummaryText:
    """Makes the text of one summary from that of the one before."""

    count_tokens: TokenCounter
    redactor: TextRedactor
    budget: int = BUDGET
    redacted: OrderedDict[bytes, str] = field(default_factory=OrderedDict, repr=False)
    """By digest, the texts of the last rounds: a step that fails is done again, without reading them anew."""

    async def longer(
        self, earlier: str, rounds: Sequence[ThreadRound], provider: SummaryProvider, *, thread_id: str
    ) -> str:
        """Return `earlier` with what `rounds` come to; above the budget the whole is made shorter by `provider`, else cut.

        The provider gets the rounds redacted, with tags of the thread. A placeholder that stands in neither loses its tag:
        the provider made it up.
        """
        spoken = await asyncio.to_thread(lambda: [self._redacted(each.spoken, thread_id) for each in rounds])
        part = await provider.summarize(spoken, earlier=earlier, max_tokens=self.budget // CHUNK_SHARE)
        text = "\n".join(filter(None, (earlier, part.strip())))
        if not self._fits(text):
            text = await provider.summarize((), earlier=text, max_tokens=self.budget)
        given = " ".join([earlier, *(f"{each.said} {each.answered}" for each in spoken)])
        redact = of_thread(self.redactor, thread_id).redact
        return shortened(await asyncio.to_thread(redact, _with_tags_of(given, text)), self._fits)

    def _redacted(self, spoken: SpokenRound, thread_id: str) -> SpokenRound:
        redact = of_thread(self.redactor, thread_id).redact

        def once(text: str) -> str:
            digest = digest_of(thread_id, text)
            found = self.redacted.pop(digest, None)
            self.redacted[digest] = found = redact(text) if found is None else found
            while len(self.redacted) > MAX_REDACTED:
                self.redacted.popitem(last=False)
            return found

        return SpokenRound(said=once(spoken.said), answered=once(spoken.answered))

    def _fits(self, text: str) -> bool:
        return self.count_tokens(text) <= self.budget


@dataclass(frozen=True, kw_only=True)
class SummarySteps:
    """Does steps for any thread. All of it may raise what the storage, the provider, the redactor or `is_current` raises."""

    summaries: RollingSummaries
    text: SummaryText
    chunk: int
    on_commit: OnCommit | None
    is_current: IsCurrent | None

    async def chunks(self, thread: Thread, seen: Conversation, provider: SummaryProvider, *, steps: int) -> None:
        """Do the whole chunks that are due, at most so many."""
        stored: RollingSummary | None = await self.summaries.get(*thread)
        for _ in range(steps):
            if stored is not None and due(stored, seen.rounds) >= self.chunk:
                stored = await self._step(thread, seen, stored, provider)

    async def upto(
        self, thread: Thread, seen: Conversation, provider: SummaryProvider, end: int, reached: list[RollingSummary]
    ) -> None:
        """Do all rounds before the one at `end`; `reached` gets each summary on the way."""
        seen = seen._replace(rounds=seen.rounds[:end])
        stored: RollingSummary | None = await self.summaries.get(*thread)
        while stored is not None and (stored := await self._step(thread, seen, stored, provider)) is not None:
            reached.append(stored)

    async def _step(
        self, thread: Thread, seen: Conversation, stored: RollingSummary, provider: SummaryProvider
    ) -> RollingSummary | None:
        """Put the next rounds, at most a chunk of them, into the summary; return the one that stands then.

        None if there is no more to do: the rounds have no ids or were taken out, the summary was forgotten meanwhile, or
        the winner of a race saw more of the thread than this turn did.
        """
        base = stored if belongs(stored, seen.rounds) else RollingSummary()
        rounds = seen.rounds[: base.rounds + self.chunk]
        if len(rounds) <= base.rounds or rounds[-1].answer_id is None:
            return None
        summaries.inc()
        text = await self.text.longer(base.text, rounds[base.rounds :], provider, thread_id=thread[1])
        new = RollingSummary(text=text, rounds=len(rounds), last_message_id=rounds[-1].answer_id)
        if self.is_current is not None and not await self.is_current(*thread, rounds):
            return None
        if await self.summaries.commit(*thread, expected=stored, new=new):
            if self.on_commit is not None:  # the summary is kept, whatever a foreign hook raises
                await tried(partial(self.on_commit, *thread, new, seen.app_name), HOOK_SECONDS, thread, new.rounds)
            return new if await self._still_current(thread, rounds, seen) else None
        summary_failures.labels("LostRace").inc()
        stands = await self.summaries.get(*thread)
        return stands if stands.rounds >= base.rounds and belongs(stands, seen.rounds) else None

    async def _still_current(self, thread: Thread, rounds: Sequence[ThreadRound], seen: Conversation) -> bool:
        """Whether the rounds of what was just kept may still be told; what was kept is taken back if not."""
        if self.is_current is None or await self.is_current(*thread, rounds):
            return True
        await self.summaries.forget(*thread)
        if self.on_commit is not None:
            await tried(partial(self.on_commit, *thread, RollingSummary(), seen.app_name), HOOK_SECONDS, thread, 0)
        return False


def due(summary: RollingSummary, rounds: Sequence[ThreadRound]) -> int:
    """Return how many of `rounds` a summary lacks; all of them if it was made of others."""
    return len(rounds) - (summary.rounds if belongs(summary, rounds) else 0)


def _with_tags_of(given: str, text: str) -> str:
    known = {match[0] for match in TAGGED.finditer(given)}
    return TAGGED.sub(lambda match: match[0] if match[0] in known else f"<{match['kind']}>", text)


async def tried(work: Callable[[], Awaitable[T]], seconds: float, thread: Thread, rounds: int) -> T | None:
    """Return what `work` comes to; None if it fails, which is noted: no turn depends on it."""
    try:
        return await awake_for(seconds, work)
    except Exception as error:  # noqa: BLE001  # memory fails open, whatever a foreign store or model raises
        note_failure(type(error).__name__, thread, rounds)
        return None


def note_failure(cause: str, thread: Thread, rounds: int) -> None:
    """Log and count what was not done."""
    summary_failures.labels(cause).inc()
    logger.warning("rolling_summary_failed cause=%s thread=%s rounds=%d", cause, thread[1], rounds)
