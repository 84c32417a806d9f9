"""The kinds that are tables of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.expiry import Expiry
from discreet.storage.retention.sweeper import Sweeper, TableSweeper

SESSIONS: Final = Expiry(table="short_term_session", key={"user_key": "uuid", "thread_key": "uuid"}, due="purge_at")
WORKS: Final = Expiry(table="short_term_work", key={"user_key": "uuid", "work_key": "uuid"}, due="purge_at")
VAULT_TURNS: Final = Expiry(table="vault_turn", key={"turn_key": "uuid"}, due="expires_at")
PROMPTS: Final = Expiry(table="batch_requests", key={"user_key": "uuid", "request_key": "uuid"}, due="done_at")
FORGOTTEN_PROMPTS: Final = Expiry(
    table="batch_requests",
    key={"user_key": "uuid", "request_key": "uuid"},
    due="created_at",
    may_go="r.state = 'pending'",
)
"""That nobody handed in while the log had their turns."""
BATCHES: Final = Expiry(table="batch_jobs", key={"job_key": "uuid"}, due="done_at")
PROPOSALS: Final = Expiry(table="memory_proposal", key={"user_key": "uuid", "proposal_key": "uuid"}, due="created_at")
ANONYMOUS: Final = Expiry(table="users", key={"user_key": "uuid"}, due="expires_at")
RECEIPTS: Final = Expiry(table="erasure", key={"erasure_key": "uuid"}, due="done_at")

FEW: Final = 100
"""Rows deleted by one statement of which each takes many others along: turns of the vault of up to 30 MB, people with all of theirs."""


def table_sweepers(works: Pool) -> Sequence[Sweeper]:
    """Return what sweeps them."""
    return [
        TableSweeper(works=works, kind="history", expiries=[(SESSIONS, None)]),
        TableSweeper(works=works, kind="answers", expiries=[(WORKS, None)]),
        TableSweeper(works=works, kind="vault", expiries=[(VAULT_TURNS, None)], batch=FEW),
        TableSweeper(works=works, kind="prompts", expiries=[(PROMPTS, "prompts"), (FORGOTTEN_PROMPTS, "log")]),
        TableSweeper(works=works, kind="batches", expiries=[(BATCHES, "batches")]),
        TableSweeper(works=works, kind="proposals", expiries=[(PROPOSALS, "proposals")]),
        TableSweeper(works=works, kind="anonymous", expiries=[(ANONYMOUS, None)], batch=FEW),
        TableSweeper(works=works, kind="receipts", expiries=[(RECEIPTS, "receipts")]),
    ]
