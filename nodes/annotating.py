"""Have a turn annotated before it is kept; without its annotations if that fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from langchain_core.messages import BaseMessage, HumanMessage

from discreet.metrics import annotation_failures
from discreet.nodes.forgotten import ForgottenRounds
from discreet.nodes.kept_texts import Lazily
from discreet.nodes.rolling_summary import RollingSummariser
from discreet.nodes.rounds import ThreadRound, rounds_of
from discreet.nodes.run import Run
from discreet.ports import AnnotatedTurn, RollingSummary, TurnAnnotator
from discreet.providers.annotator import RuleAnnotator
from discreet.redaction import untagged
from discreet.state.conversation import Request
from discreet.state.records import Annotation

logger = logging.getLogger(__name__)

SECONDS = 1.0
"""A turn that is answered waits no longer for its annotations."""


@dataclass(frozen=True, kw_only=True)
class Annotating:
    """Asks an annotator, and tells it what came before the turn."""

    annotator: TurnAnnotator = field(default_factory=RuleAnnotator)
    summariser: RollingSummariser | None = None
    """Has the rolling summary of the thread."""
    forgotten: ForgottenRounds | None = None
    """Knows of which rounds no session is said to be about."""
    seconds: float = SECONDS

    async def annotate(
        self,
        run: Run,
        request: Request,
        earlier: Sequence[BaseMessage],
        *,
        keep: Callable[[BaseMessage], BaseMessage] = lambda message: message,
        said: str,
        heard: str,
        answered: str,
    ) -> Annotation:
        """Return the annotation of a turn, redacted, after the messages `earlier`, which `keep` redacts; an empty one if that fails."""
        try:
            async with asyncio.timeout(self.seconds):
                told, may_be_about = await self._told(run, request, earlier, said)
                rounds = rounds_of(told)
                turn = AnnotatedTurn(
                    said=said,
                    heard=heard,
                    answered=answered,
                    media=request.get("media", []),
                    summary=untagged((await self._summary(run, rounds)).text),
                    earlier=Lazily(rounds, lambda each: _kept(each, keep).spoken),
                )
                annotation = await self.annotator.annotate(turn)
                return annotation if may_be_about else annotation.model_copy(update={"intent": None})
        except Exception as error:  # noqa: BLE001  # the user has the answer; a foreign annotator may raise anything
            cause = type(error).__name__
            annotation_failures.labels(cause).inc()
            logger.warning("annotation_failed cause=%s request_id=%s", cause, request["request_id"])
            return Annotation()

    async def _told(
        self, run: Run, request: Request, earlier: Sequence[BaseMessage], said: str
    ) -> tuple[Sequence[BaseMessage], bool]:
        """Return the messages before the turn that were not forgotten, and whether the turn itself was not, be it while it ran."""
        if self.forgotten is None:
            return earlier, True
        asked = HumanMessage(said, id=request["request_id"])
        told = await self.forgotten.left_out(run, [*earlier, asked], ended=request["message_id"])
        return (told[:-1], True) if told[-1:] == [asked] else (told, False)

    async def _summary(self, run: Run, rounds: Sequence[ThreadRound]) -> RollingSummary:
        if self.summariser is None:
            return RollingSummary()
        return await self.summariser.of_rounds(run.user_id, run.thread_id, rounds)


def _kept(said: ThreadRound, keep: Callable[[BaseMessage], BaseMessage]) -> ThreadRound:
    return said._replace(said=[*map(keep, said.said)], answered=[*map(keep, said.answered)])
