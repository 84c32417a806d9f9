"""Compare what Redis and our log have of a random sample of users, while both are written."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final, Literal

from discreet.importing.history.planning import readable
from discreet.importing.history.rounds import THREAD, milliseconds
from discreet.importing.history.v1 import V1History
from discreet.importing.history.writing import RoundWriter
from discreet.ports import TextRedactor
from discreet.redaction.records import redacted_turn
from discreet.state.records import TurnRecord

USERS: Final = 100
WINDOW: Final = timedelta(hours=24)
PATIENCE_SECONDS: Final = 10.0
"""For so long rounds that differ are compared again: they may be under way, and a follower looks every few seconds."""
AGAIN_SECONDS: Final = 0.5
MAX_TURNS: Final = 100_000

Kind = Literal["missing", "extra", "order", "text"]
"""`missing` in our log; `extra` there; `order`: of another time; `text`: not what the redactor makes of V1's, or another flag."""
KINDS: Final[tuple[Kind, ...]] = ("missing", "extra", "order", "text")
Mismatch = tuple[Kind, str]


@dataclass
class Comparison:
    """What a validation found."""

    users: int = 0
    rounds: int = 0
    """Of V1's, of the users and the time that were compared."""
    unreadable: Counter[str] = field(default_factory=Counter)
    erased: int = 0
    """Rounds that are missing since their user had theirs erased."""
    mismatches: dict[str, Counter[Kind]] = field(default_factory=dict)
    """By pseudonym of the user."""

    @property
    def passed(self) -> bool:
        """Whether what was compared is equal, and something was."""
        return self.rounds > 0 and not self.mismatches

    def told(self) -> dict[str, Any]:
        """Return it as JSON."""
        mismatches = [{"user": user, **found} for user, found in sorted(self.mismatches.items())]
        counts = {
            "users": self.users,
            "rounds": self.rounds,
            "unreadable": dict(self.unreadable),
            "erased": self.erased,
        }
        return {"passed": self.passed, **counts, "mismatches": mismatches}


@dataclass(frozen=True, kw_only=True)
class Validator:
    """Compares."""

    history: V1History
    writer: RoundWriter
    redactor: TextRedactor
    """As the storage has it."""
    window: timedelta = WINDOW
    patience: float = PATIENCE_SECONDS

    async def validate(self, *, users: int = USERS, seed: int | None = None) -> Comparison:
        """Compare a sample of so many users; the same one for the same users and `seed`.

        Raises:
            ImportSourceError: Redis failed.
            StorageError: The database failed.
        """
        everybody = sorted(await self.history.histories())
        sample = Random(seed).sample(everybody, min(users, len(everybody)))  # noqa: S311  # a sample is no secret
        found = Comparison(users=len(sample))
        differing: dict[str, set[Mismatch]] = {}
        for user_id in sample:
            if different := await self._compare(user_id, found):
                differing[user_id] = different
        await self._again(differing)
        for user_id, left in differing.items():
            pseudonym = str(self.writer.storage.background.keys.of_user(user_id))
            found.mismatches[pseudonym] = Counter(kind for kind, _ in left)
        return found

    async def _again(self, differing: dict[str, set[Mismatch]]) -> None:
        """Leave those mismatches that are there each time, until none is or the time is over."""
        until = time.monotonic() + self.patience
        while differing and time.monotonic() < until:
            await asyncio.sleep(AGAIN_SECONDS)
            for user_id in [*differing]:
                differing[user_id] &= await self._compare(user_id, Comparison())
                if not differing[user_id]:
                    del differing[user_id]

    async def _compare(self, user_id: str, found: Comparison) -> set[Mismatch]:
        """Return what differs of one user, by request id, and count in `found`."""
        since = datetime.now(UTC) - self.window
        log = self.writer.storage.log
        stored = await log.read(
            user_id, thread_id=THREAD, after=since, limit=MAX_TURNS
        )  # before Redis, which is written first
        unreadable: Counter[str] = Counter()
        listed = readable(user_id, await self.history.items(user_id), unreadable)
        until = await self.writer.erased_until(user_id)
        theirs = {turn.request_id: turn for turn in listed if turn.started_at >= since}
        ours = {turn.request_id: turn for turn in stored}
        gone = {
            rid for rid, turn in theirs.items() if until is not None and turn.started_at <= until and rid not in ours
        }
        found.rounds += len(theirs)
        found.unreadable += unreadable
        found.erased += len(gone)
        mismatches: set[Mismatch] = {("missing", rid) for rid in theirs.keys() - ours.keys() - gone}
        # What is older than all that Redis has may be of a list that has expired.
        first = min((turn.started_at for turn in theirs.values()), default=None)
        mismatches |= {
            ("extra", rid) for rid in ours.keys() - theirs.keys() if first is not None and ours[rid].started_at >= first
        }
        both = [(theirs[rid], ours[rid]) for rid in theirs.keys() & ours.keys()]
        return mismatches | await asyncio.to_thread(self._differing, both)

    def _differing(self, both: Sequence[tuple[TurnRecord, TurnRecord]]) -> set[Mismatch]:
        mismatches: set[Mismatch] = set()
        for their, our in both:
            if milliseconds(their.started_at) != milliseconds(our.started_at):
                mismatches.add(("order", their.request_id))
            expected = redacted_turn(their, self.redactor)
            if _said(expected) != _said(our):
                mismatches.add(("text", their.request_id))
        return mismatches


def _said(turn: TurnRecord) -> tuple[str, str, bool]:
    return turn.input_text, turn.output_text, turn.is_emergency
