"""Read at once what a turn needs of the database before its model is asked, where the memories can."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self, cast

from discreet.access.epochs import NEVER_ERASED, Beginning, run_began_after
from discreet.nodes.forgotten import ForgottenRounds
from discreet.nodes.rolling_summary import RollingSummariser
from discreet.nodes.run import Run, control_of_run
from discreet.nodes.short_term import tolerant
from discreet.ports import BeginsWork, Memories, MemoryQuery, OpenedTurn, OpensTurns, RollingSummaries, ShortTermStore
from discreet.state.conversation import Request


@dataclass(frozen=True, kw_only=True)
class TurnOpening:
    """Opens turns for `memory_gate` and `retrieve_memories`: they bring what `save_input` and the prompt would ask for by themselves."""

    memories: OpensTurns
    forgotten: ForgottenRounds
    begins: BeginsWork | None = None
    short_term: ShortTermStore | None = None
    summaries: RollingSummaries | None = None
    summariser: RollingSummariser | None = None

    @classmethod
    def over(
        cls,
        memories: Memories,
        *,
        forgotten: ForgottenRounds,
        begins: BeginsWork | None,
        short_term: ShortTermStore | None,
        summaries: RollingSummaries | None,
        summariser: RollingSummariser | None,
    ) -> Self | None:
        """Return what opens turns in the database of `memories`; None where that takes more than one round trip."""
        stores = [each for each in (short_term, summaries) if each is not None]
        if not hasattr(memories, "opens_with") or not cast("OpensTurns", memories).opens_with(*stores):
            return None
        return cls(
            memories=cast("OpensTurns", memories),
            forgotten=forgotten,
            begins=begins,
            short_term=short_term,
            summaries=summaries,
            summariser=summariser,
        )

    def comes_in_time(self, run: Run) -> bool:
        """Whether `save_input` may leave it to this what the turn's work is known by.

        It may where the checkpointer has noted when the run began: then an erasure between is noticed.
        """
        return self.begins is not None and run.user_id is not None and run_began_after(control_of_run()) is not None

    async def open(self, run: Run, user_id: str, request: Request, asked: MemoryQuery | None = None) -> OpenedTurn:
        """Search, where something is asked, and take note of what else was read. It may raise whatever a foreign store does."""
        opened = await self.memories.open_turn(
            user_id,
            run.thread_id,
            asked,
            short_term=None if "began" in request else self.short_term,
            summaries=self.summaries,
        )
        if run.thread_id is not None:
            self.forgotten.note(user_id, run.thread_id, request["message_id"], opened.forgotten)
            if self.summariser is not None and opened.summary is not None:
                self.summariser.note(user_id, run.thread_id, opened.summary)
        return opened

    async def without_search(self, run: Run, request: Request) -> Request:
        """Open a turn that needs no memories; return its request with what its work is known by."""
        if run.user_id is None or "began" in request:
            return request
        opened = await tolerant("open", self.open(run, run.user_id, request), otherwise=None)
        return await self.begun(run, request, opened)

    async def begun(self, run: Run, request: Request, opened: OpenedTurn | None) -> Request:
        """Return the request with what the turn's work is known by; asked for by itself where the turn could not be opened.

        Raises:
            UserErasedError: The user was erased since the run began.
        """
        if run.user_id is None or "began" in request:
            return request
        if opened is None or opened.began is None:
            at = datetime.fromisoformat(request["started_at"])
            began = await begin(self.short_term, self.begins, run, at=at)
        else:
            began = opened.began
            await check_beginning(self.begins, run, began)
        return request if began is None else {**request, "began": began}


async def begin(
    short_term: ShortTermStore | None, begins: BeginsWork | None, run: Run, *, at: datetime | None = None
) -> str | None:
    """Make the session active; return what the turn's work is known by. If nobody can say now: when it began.

    Raises:
        UserErasedError: The user was erased since the run began, which has stored their message by now.
    """
    now = str(Beginning(None, at=at or datetime.now(UTC)))
    began = None
    if short_term is not None and run.user_id is not None and run.thread_id is not None:
        began = await tolerant("touch", short_term.touch(run.user_id, run.thread_id), otherwise=None)
    if begins is None or (run.user_id is None and run.thread_id is None):
        return began
    if began is None:
        began = await tolerant("begin", begins.begin(run.user_id, run.thread_id or ""), otherwise=now)
    await check_beginning(begins, run, began)
    return began


async def check_beginning(begins: BeginsWork | None, run: Run, began: str) -> None:
    """See that the user was not erased since the run began: their message is stored by now.

    Raises:
        UserErasedError: They were.
    """
    if begins is None or Beginning.of(began).epoch <= NEVER_ERASED:
        return
    if (after := run_began_after(control_of_run())) is not None:
        await begins.check_run(run.user_id, run.thread_id or "", after)
