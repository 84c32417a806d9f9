"""All that sweeps a database: our schema, and the tables of the checkpointer where they are in sight."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.access.user_keys import UserKeys
from discreet.ports import AuditLog
from discreet.storage.audit.trimming import AuditTrimmer
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.memories.saving import SaveRules
from discreet.storage.retention.audit import AuditSweeper
from discreet.storage.retention.items import ItemSweeper
from discreet.storage.retention.log import LogSweeper
from discreet.storage.retention.memories import MemorySweeper
from discreet.storage.retention.sweeper import Sweeper
from discreet.storage.retention.tables import table_sweepers
from discreet.storage.retention.threads import thread_sweeper


def sweepers(
    works: Pool, *, rules: SaveRules, keys: UserKeys, audit: AuditLog, pause_seconds: float
) -> Sequence[Sweeper]:
    """Return it, on `works`, whose role sees all users. `pause_seconds`: how long a person may take to answer a paused turn."""
    locks = UserLocks(works)
    return [
        *table_sweepers(works),
        ItemSweeper(works=works, locks=locks, keys=keys),
        LogSweeper(works=works),
        MemorySweeper(works=works, locks=locks, rules=rules),
        thread_sweeper(works, pause_seconds=pause_seconds),
        AuditSweeper(works=works, trimmer=AuditTrimmer(works, key=keys.audit_key, audit=audit)),
    ]
