"""Know the tables that belong to one saver of LangGraph's, its threads, and where a row of a thread stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from discreet.redaction.threads import ThreadRedactor
from discreet.scanning.databases import Row, Table
from discreet.scanning.databases.postgres import PostgresDatabase
from discreet.scanning.databases.sqlite import SqliteDatabase
from discreet.scanning.profiles import BLOBS, CHECKPOINTS, WRITES
from discreet.scanning.scrubbing.heads import Heads
from discreet.scanning.scrubbing.rewriting import Place

OF_SAVERS: Final = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "writes")
"""Names of such tables."""


@dataclass
class SaverTables:
    """The tables of one LangGraph saver."""

    checkpoints: Table
    others: list[Table] = field(default_factory=list)
    """Of values and writes."""

    @property
    def blobs(self) -> Table | None:
        """The one of values, if there is one."""
        return next((table for table in self.others if table.profile.label == BLOBS), None)


def savers_of(tables: list[Table]) -> list[SaverTables]:
    """Return the savers whose tables are there, of each schema one. Copies of these under other names are no saver's."""
    families = {
        table.schema: SaverTables(table)
        for table in tables
        if table.profile.label == CHECKPOINTS and table.name == "checkpoints" and table.key
    }
    for table in tables:
        if table.name in OF_SAVERS[1:] and table.schema in families and table.key:
            families[table.schema].others.append(table)
    return list(families.values())


def threads_of(database: PostgresDatabase | SqliteDatabase, family: SaverTables, after: str | None) -> Iterator[str]:
    """Yield the thread ids that any of a saver's tables has: a crash may have left writes alone."""
    tables = (family.checkpoints, *family.others)
    while found := database.threads(tables, after):
        yield from found
        after = found[-1]


def place_of_thread(table: Table, names: list[str], heads: Heads, redactor: ThreadRedactor, row: Row) -> Place | None:
    """Return where a row of a thread stands; None if nothing needs it.

    What came since the heads were read belongs to a turn that is running.
    """
    of_key = dict(zip(names, row.key, strict=True))
    ns = of_key.get("checkpoint_ns", "")
    channel = of_key.get("channel") or row.values.get("channel")
    channel = channel if isinstance(channel, str) else None
    label = table.profile.label
    if label == BLOBS:
        version = of_key.get("version")  # a shallow saver has one of each channel
        is_head = heads.is_delta or version is None or (ns, channel or "", version) in heads.versions
        is_newer = version is not None and heads.is_newer_version(ns, version)
    else:
        checkpoint_id = of_key.get("checkpoint_id", "")
        is_newer = checkpoint_id > heads.ids.get(ns, "")
        if label == WRITES and not is_newer and not heads.needs_writes(ns, checkpoint_id):
            return None
        is_head = label == WRITES or heads.has_checkpoint(ns, checkpoint_id)
    return Place(
        channel=channel,
        of_saver=True,
        is_open=(heads.is_open and is_head) or is_newer,
        is_over=is_head and label != WRITES,
        thread=redactor,
    )
