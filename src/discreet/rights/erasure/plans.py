"""Plans of erasures, which lie sealed under a key that is derived from the identity key; and whose memories go by them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any, Final, LiteralString
from uuid import UUID

from discreet.access.user_keys import UserKeys
from discreet.encryption import Keyring, associate, seal, unseal
from discreet.errors import EncryptionError
from discreet.ports import Key
from discreet.rights.erasure.scopes import Plan
from discreet.rights.namespaces import roots_of
from discreet.storage.database.connecting.pool import Connection
from discreet.storage.memories.entry_verifying import Erasing
from discreet.storage.store.namespaces import span_of

logger = logging.getLogger(__name__)

LEASE_SECONDS: Final = 120.0
"""For so long after its last step an erasure is left to the process that is at it."""

_OPEN: LiteralString = """
SELECT erasure_key, user_key, plan, lease_until > now() + make_interval(secs => %(seconds)s) AS is_held_too_long
FROM discreet.erasure WHERE done_at IS NULL
"""

_PATHS: LiteralString = "SELECT user_key, path FROM discreet.store_namespace WHERE user_key = ANY (%(user_keys)s)"


class Plans:
    """Seals plans and opens them: each in the row of its erasure, and of whom that is."""

    def __init__(self, keys: UserKeys) -> None:
        self._keys = keys
        self._sealing = Keyring([Key("erasure", keys.plan_key)])

    def seal(self, plan: Plan, erasure_key: UUID, user_key: UUID) -> bytes:
        """Return the plan sealed."""
        return seal(plan.model_dump_json().encode(), self._place(erasure_key, user_key), self._sealing)

    def open(self, row: Mapping[str, Any]) -> Plan | None:
        """Return the plan of a row; None, and an event of the log, if nobody of ours has sealed it there."""
        try:
            plan = unseal(row["plan"] or b"", self._place(row["erasure_key"], row["user_key"]), self._sealing)
        except EncryptionError:
            logger.warning("erasure.not_ours erasure=%s", row["erasure_key"])
            return None
        return Plan.model_validate_json(plan)

    async def erasing(self, conn: Connection, wrong: Collection[UUID]) -> Erasing:
        """Return of whom of `wrong`, people and namespaces, erasures that are open take memories away; for `verify_counts`.

        Only those of all that is theirs do so without counting: the others count each memory that they delete.
        """
        async with conn.cursor(binary=True) as cursor:
            rows = await (await cursor.execute(_OPEN, {"seconds": 2 * LEASE_SECONDS})).fetchall()
            plans = [(row, self.open(row)) for row in rows]
            whole = {row["user_key"]: plan for row, plan in plans if plan is not None and plan.is_whole}
            paths = []
            if whole and wrong:
                paths = await (await cursor.execute(_PATHS, {"user_keys": list(wrong)})).fetchall()
        spans = [span_of(root) for plan in whole.values() for root in _roots(plan)]
        namespaces = {
            row["user_key"]
            for row in paths
            if self._keys.of_namespace(row["path"]) == row["user_key"]
            and any(low <= row["path"] < high for low, high in spans)
        }
        not_ours = {
            row["erasure_key"]: row["user_key"] for row, plan in plans if plan is None or row["is_held_too_long"]
        }
        return Erasing(people=(whole.keys() | namespaces) & set(wrong), not_ours=not_ours)

    @staticmethod
    def _place(erasure_key: UUID, user_key: UUID) -> bytes:
        return associate("erasure", "plan", str(erasure_key), str(user_key))


def _roots(plan: Plan) -> list[Any]:
    return [] if plan.user_id is None else roots_of(plan.user_id, plan.scope.namespaces)
