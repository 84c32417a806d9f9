"""What an erasure leaves: a signed receipt of what went and what could not be reached, without a word of it."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Final, Literal, Self
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from discreet.access.user_keys import UserKeys
from discreet.checkpoint.postgres.threads import LIFE
from discreet.errors import ReceiptError
from discreet.rights.erasure.bad_rows import numbered
from discreet.rights.erasure.scopes import ScopeName
from discreet.settings import Settings

Counts = dict[str, dict[str, int]]
"""How many went, by place and kind."""

VERSION: Final = 1


class Unreached(BaseModel):
    """A place that an erasure does not reach."""

    model_config = ConfigDict(frozen=True)

    place: str
    until: AwareDatetime | None
    """By then what is there is gone; None: nobody here can say."""
    what: str


class Receipt(BaseModel):
    """One erasure that is done."""

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_serialization_defaults_required=True)

    version: Literal[1] = VERSION
    erasure_key: UUID
    user_key: UUID
    """Pseudonym of whose data it was."""
    scope: ScopeName
    asked_at: AwareDatetime
    done_at: AwareDatetime
    asked_by: str | None
    """Pseudonym; None: the user themselves, or somebody at the command line."""
    counts: Counts
    threads: Sequence[UUID]
    """Keyed digests of the ids of threads that went, whole or in part."""
    unreached: Sequence[Unreached]
    signature: str = ""
    """HMAC-SHA-256 of all the rest, under a key that is derived from the identity key."""

    def signed(self, keys: UserKeys) -> Self:
        """Return it with its signature."""
        return self.model_copy(update={"signature": self._signature(keys)})

    def check(self, keys: UserKeys) -> None:
        """See that nothing of it was changed.

        Raises:
            ReceiptError: Something was, or it was signed under another identity key.
        """
        if not hmac.compare_digest(self.signature.encode(errors="replace"), self._signature(keys).encode()):
            raise ReceiptError("The receipt was changed, or is of a database with another DISCREET_IDENTITY_KEY.")

    @classmethod
    def read(cls, text: str | bytes) -> Self:
        """Return the receipt of a JSON text.

        Raises:
            ReceiptError: It is none.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            raise ReceiptError("This is no receipt of an erasure: give the JSON that the erasure returned.") from None

    def _signature(self, keys: UserKeys) -> str:
        said = json.dumps(self.model_dump(mode="json", exclude={"signature"}), sort_keys=True)
        return hmac.digest(keys.receipt_key, said.encode(), hashlib.sha256).hex()


def unreached(
    done_at: AwareDatetime,
    settings: Settings,
    *,
    batches: int,
    asked_elsewhere: bool,
    bad_rows: Mapping[str, Collection[int]],
) -> list[Unreached]:
    """Return what an erasure that is done now has not reached.

    `asked_elsewhere`: whether other places were asked than the storage. `bad_rows`: lines of theirs in files of what imports refused.
    """
    places: list[tuple[str, timedelta | None, str]] = [
        (
            "backups",
            timedelta(days=settings.backup_days),
            "dumps and base backups of the database made before; by DISCREET_BACKUP_DAYS, which nothing here enforces",
        ),
        (
            "write-ahead log",
            timedelta(days=settings.wal_days),
            "its archive, and what the server still keeps of it; by DISCREET_WAL_DAYS, which nothing here enforces",
        ),
        (
            "database files",
            None,
            "space of deleted rows, until VACUUM FULL or new rows take it; read replicas follow in seconds",
        ),
        ("statistics", None, "keys and ids of threads that ANALYZE has copied, until it does so again; no words"),
        (
            "server's log",
            None,
            "what PostgreSQL is set to log, or pg_stat_statements to keep, of statements and their parameters",
        ),
        ("copies", None, "tables, stored views and subscriptions that others have made of ours"),
        ("tombstones", LIFE, "ids of deleted threads, which keep late writes out"),
        ("turn vault", timedelta(seconds=settings.vault_seconds), "sealed values of requests that were under way"),
        ("model providers", timedelta(days=settings.provider_days), "what they keep of prompts by their own rules"),
    ]
    rows = "".join(f"; delete {numbered(lines)} of {file} in the data folder" for file, lines in bad_rows.items())
    places.append(("rows that imports refused", None, f"raw, in files where an import ran{rows}"))
    if batches:
        places.append(
            ("batches", timedelta(days=settings.provider_days), f"{batches} that a worker has their provider delete")
        )
    if not asked_elsewhere:
        places.append(("LangGraph server", None, "its threads, runs and crons, unless this was asked of the server"))
    return [
        Unreached(place=place, what=what, until=None if stays is None else done_at + stays)
        for place, stays, what in places
    ]
