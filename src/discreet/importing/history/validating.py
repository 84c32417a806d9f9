"""Compare what Redis and our log have of a random sample of users, while both are written."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from discreet.importing.history.comparing import Kind, differing
from discreet.importing.history.listing import listed
from discreet.importing.history.rounds import THREAD
from discreet.importing.history.v1 import V1History
from discreet.importing.history.writing import MAX_TURNS, RoundWriter
from discreet.ports import TextRedactor

USERS: Final = 100
WINDOW: Final = timedelta(hours=24)
PATIENCE_SECONDS: Final = 10.0
"""For so long rounds that differ are compared again: they may be under way, and a follower looks every few seconds."""
AGAIN_SECONDS: Final = 0.5
Mismatch = tuple[Kind, str]


@dataclass
class Comparison:
    """What a validation found."""

    users: int = 0
    rounds: int = 0
    """Of V1's, of the users and the time that were compared."""
    doubled: int = 0
    """Items of these users that V1 has twice."""
    more: int = 0
    """Rounds that our log has beside V1's, and not from there: said through the new system."""
    unreadable: Counter[str] = field(default_factory=Counter)
    unreadable_keys: Counter[str] = field(default_factory=Counter)
    """Of the whole server."""
    erased: int = 0
    """Rounds that are missing since their user had theirs erased."""
    mismatches: dict[str, Counter[Kind]] = field(default_factory=dict)
    """By pseudonym of the user."""

    @property
    def kinds(self) -> Counter[Kind]:
        """How many mismatches there are of each kind."""
        return sum(self.mismatches.values(), Counter())

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
            "doubled": self.doubled,
            "more": self.more,
            "unreadable": dict(self.unreadable),
            "unreadable_keys": dict(self.unreadable_keys),
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
        histories = await self.history.histories()
        everybody = sorted(histories.lengths)
        sample = Random(seed).sample(everybody, min(users, len(everybody)))  # noqa: S311  # a sample is no secret
        found = Comparison(users=len(sample), unreadable_keys=histories.unreadable)
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
        ours = await log.read(
            user_id, thread_id=THREAD, after=since, limit=MAX_TURNS
        )  # before Redis, which is written first
        seen = listed(user_id, await self.history.items(user_id))
        until = await self.writer.erased_until(user_id)
        theirs = [turn for turn in seen.turns if turn.started_at >= since]
        found.rounds += len(theirs)
        found.doubled += seen.doubled
        found.unreadable.update(row.reason for row in seen.bad)
        # What is older than all that Redis has may be of a list that has expired.
        first = min((turn.started_at for turn in theirs), default=None)
        mismatches: set[Mismatch] = set()
        for pair in await asyncio.to_thread(differing, theirs, ours, self.redactor):
            if pair.their is None:
                if pair.our is None or first is None or pair.our.started_at < first:
                    continue
                found.more += not pair.kinds
            elif pair.our is None and until is not None and pair.their.started_at <= until:
                found.erased += 1
                continue
            mismatches |= {(kind, pair.request_id) for kind in pair.kinds}
        return mismatches
