"""Rolling summaries that fell behind: of processes that ended, or whose event loops do not live between turns."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from uuid import UUID

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from discreet.errors import DiscreetError
from discreet.nodes.rounds import ThreadRound, belongs, rounds_of
from discreet.nodes.summary_steps import CHUNK, Conversation, SummarySteps, SummaryText
from discreet.ports import SummaryProvider, TextRedactor
from discreet.providers import chat_model
from discreet.providers.summaries import summary_provider_for
from discreet.providers.tokens import count_tokens
from discreet.settings import Settings
from discreet.state.background import PendingSession
from discreet.state.records import TurnRecord
from discreet.storage.background.background import Background

logger = logging.getLogger(__name__)

QUIET = timedelta(minutes=2)
"""Before a session has been quiet for so long, the process that serves it makes the summary itself."""

MAX_STEPS = 20
"""Chunks of rounds at once: a hundred rounds."""

MAX_TRIED = 10_000


class RollingDrain:
    """Brings rolling summaries up to date from the conversation log. Only those that were begun: a graph without any has none."""

    def __init__(
        self,
        background: Background,
        *,
        settings: Settings,
        redactor: TextRedactor,
        provider: SummaryProvider | None = None,
    ) -> None:
        """Summarise by `provider`, else by the chat model of `settings`."""
        self._background = background
        self._settings = settings
        self._redactor = redactor
        self._given = provider
        self._tried: set[tuple[UUID, UUID, int]] = set()

    async def advance(self, session: PendingSession) -> bool:
        """Summarise what is due of one session; return whether something was. A failure is logged, and tried with the next round."""
        place = (session.user_key, session.thread_key, session.rounds)
        if session.behind < CHUNK or session.now - session.ended_at < QUIET or place in self._tried:
            return False
        if len(self._tried) >= MAX_TRIED:
            self._tried.clear()
        self._tried.add(place)
        try:
            return await self._advance(session)
        except DiscreetError as error:
            logger.warning("rolling_summary.not_advanced thread=%s cause=%s", session.thread_key, error.code)
            return False

    @cached_property
    def _provider(self) -> SummaryProvider:
        return self._given or summary_provider_for(chat_model(settings=self._settings))

    async def _advance(self, session: PendingSession) -> bool:
        turns = await self._background.sessions.turns_of(session.user_key, session.thread_key)
        rounds = _rounds(turns)
        if not rounds:
            return False
        thread_id = turns[0].thread_id
        summaries = self._background.rolling_of(session.user_key)
        before = await summaries.get(None, thread_id)
        if not before.rounds or not belongs(before, rounds):  # made of rounds that the log has no longer, or of others
            return False
        requests = {turn.answer_id: turn.request_id for turn in turns}

        async def is_current(_user: str | None, _thread: str, told: Sequence[ThreadRound]) -> bool:
            gone = await self._background.sessions.forgotten(session.user_key, session.thread_key)
            return gone.isdisjoint(requests.get(each.answer_id) for each in told)

        steps = SummarySteps(
            summaries=summaries,
            text=SummaryText(count_tokens, self._redactor),
            chunk=CHUNK,
            on_commit=None,  # the summary of the session is made by the trigger that this is
            is_current=is_current,
        )
        await steps.chunks((None, thread_id), Conversation(rounds, session.app_name), self._provider, steps=MAX_STEPS)
        return (await summaries.get(None, thread_id)).rounds > before.rounds


def _rounds(turns: Sequence[TurnRecord]) -> list[ThreadRound]:
    """Return turns of the log as the rounds of their thread."""
    messages: list[BaseMessage] = []
    for turn in turns:
        messages.append(HumanMessage(turn.input_text))
        if turn.answer_id is not None and turn.output_text:
            messages.append(AIMessage(turn.output_text, id=turn.answer_id))
    return rounds_of(messages)
