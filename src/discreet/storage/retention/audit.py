"""Entries of the audit trail."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import LiteralString

from discreet.storage.audit.trimming import AuditTrimmer
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.retention.sweeper import At, Due, Gone, due_of

_COUNT: LiteralString = """
SELECT count(*) AS rows, min(at) AS oldest FROM discreet.audit_entry WHERE at < %(until)s
"""


@dataclass(frozen=True, kw_only=True)
class AuditSweeper:
    """Has the trail trimmed at the beginning of each chain, which can be verified afterwards as before."""

    works: Pool
    trimmer: AuditTrimmer
    kinds: tuple[str, ...] = ("audit",)

    async def sweep(self, at: At, *, batch: int) -> AsyncGenerator[Gone, None]:
        """Let go of what is due."""
        trimmed = await self.trimmer.trim(at.until("audit"), batch)
        if trimmed.entries:
            yield {"audit": trimmed.entries}

    async def due(self, at: At) -> list[Due]:
        """Return how many are."""
        return [await due_of("audit", self.works, (_COUNT, at.until("audit")))]
