"""Write one user's records inside a transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from discreet.access.user_keys import UserKeys
from discreet.errors import EntryExistsError
from discreet.ports import LiveSettings
from discreet.retrieval.dedup import DedupThresholds
from discreet.retrieval.dedup_resolution import Nearness, Settled, settling
from discreet.retrieval.lexical import REACH, Impacts, impacts, mark_impacts, own_part, token_ids
from discreet.state.records import MemoryRecord, Place
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.users.locks import Locked
from discreet.storage.memories.dedup_candidates import Candidates
from discreet.storage.memories.entry_counts import count_entries
from discreet.storage.memories.eviction import UNCOUNTED, evict
from discreet.storage.memories.pacing import Pace
from discreet.storage.memories.row_writing import change_rows, write_rows
from discreet.storage.memories.rows import (
    Vectors,
    opened_or_blank,
    places_of,
    readable,
    row_of,
    tokens_of,
)
from discreet.storage.memories.spaces.spaces import EmbeddingSpace
from discreet.storage.memories.token_counts import count_tokens
from discreet.storage.memories.turn_context import Said, around, by_place, next_to, refresh_words, said_at

ROWS_AT_ONCE = 50
"""Of a batch: while the database writes these, the next ones are made."""

_SETTLE_CONFLICTS: LiteralString = """
DELETE FROM discreet.memory_conflict WHERE user_key = %(user_key)s AND older = ANY (%(said_again)s)
"""

_ADD_CONFLICTS: LiteralString = """
INSERT INTO discreet.memory_conflict (user_key, older, newer)
SELECT %(user_key)s, older, newer FROM unnest(%(older)s::uuid[], %(newer)s::uuid[]) AS c (older, newer)
ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, kw_only=True)
class SaveRules:
    """What holds for every save of a storage."""

    space: EmbeddingSpace
    """That the vectors belong to."""
    memory_settings: LiveSettings
    """From which similarity on a fact is known already, or a new state of a known one, and how many memories a user may
    have. Each save goes by what holds when it begins."""
    sealer: FieldSealer
    """Of texts and feedback."""
    keys: UserKeys
    """Of users, and of the words that their memories are found by."""


@dataclass(frozen=True)
class Written:
    """What one save did."""

    stored: list[MemoryRecord]
    """A result for each record given, in their order."""
    new: list[Impacts]
    """Own tokens of each row that was not there before."""
    superseded: int
    """Stored facts whose place new ones took."""
    evicted: int
    """Memories that went to keep the user within their limit."""


def candidates_for(
    user_key: UUID, records: Sequence[MemoryRecord], vectors: Vectors, rules: SaveRules, *, dedup: bool
) -> Candidates:
    """Return what asks the database for all that redacted `records` are to be compared with."""
    return Candidates(user_key, records, vectors, rules.space, least=_thresholds(rules).least if dedup else None)


async def write_records(
    locked: Locked,
    user_key: UUID,
    records: Sequence[MemoryRecord],
    vectors: Vectors,
    rules: SaveRules,
    *,
    dedup: bool = True,
    candidates: Candidates | None = None,
) -> Written:
    """Store redacted `records` with their `vectors`, each as a record of its own without `dedup`.

    `candidates` have been asked since the user was locked; else they are now.

    Raises:
        EntryExistsError: Without `dedup` a record would take another's place.
    """
    if candidates is None:
        candidates = candidates_for(user_key, records, vectors, rules, dedup=dedup)
        await candidates.ask(locked.cursor.connection)
    return await _Save(locked, user_key, rules, dedup=dedup).write(records, vectors, candidates)


def _thresholds(rules: SaveRules) -> DedupThresholds:
    live = rules.memory_settings.live
    return DedupThresholds(same=live.memory_update_threshold, similar=live.memory_dedup_threshold)


class _Save:
    """One save of one user."""

    def __init__(self, locked: Locked, user_key: UUID, rules: SaveRules, *, dedup: bool) -> None:
        self._cursor = locked.cursor
        self._user_key = user_key
        self._counted = locked.memories[user_key]
        self._rules = rules
        self._thresholds = _thresholds(rules)
        self._limit = rules.memory_settings.live.max_memories_per_user
        self._dedup = dedup
        self._pace = Pace()

    async def write(self, records: Sequence[MemoryRecord], vectors: Vectors, candidates: Candidates) -> Written:
        nearness, rows = await candidates.nearness()
        met = {record.entry_id: record for record in self._opened(rows, records)}
        if not self._dedup and (rows or len({record.entry_id for record in records}) < len(records)):
            raise EntryExistsError
        settled = await self._settle(records, met.values(), nearness)
        words = await self._write_whole(settled, vectors, replaced=rows.keys())
        await self._change(settled)
        replaced = [met[entry_id] for entry_id in settled.written if entry_id in met]
        written = [settled.records[entry_id] for entry_id in settled.written]
        changed = _places([*replaced, *written])
        await self._refresh(changed, but=settled.written.keys())
        gone = [tokens_of(rows[entry_id]) for entry_id in words.keys() & rows.keys()]
        new = [own for entry_id, own in words.items() if entry_id not in rows]
        evicted = await self._evict(written, settled.results, memories=self._counted.memories + len(new))
        went = [*gone, *map(tokens_of, evicted)]
        await count_tokens(self._cursor, self._user_key, new=words.values(), gone=went)
        await count_entries(
            self._cursor,
            self._user_key,
            self._rules.keys,
            added=words.keys() - rows.keys(),
            gone={row["entry_id"] for row in evicted},
            space_key=self._rules.space.key,
            counted=self._counted,
        )
        superseded = sum(settled.records[entry_id].valid_to is not None for entry_id in settled.changed)
        return Written([settled.records[entry_id] for entry_id in settled.results], new, superseded, len(evicted))

    async def _settle(
        self, records: Sequence[MemoryRecord], met: Collection[MemoryRecord], nearness: Nearness
    ) -> Settled:
        """Decide what becomes of the records, with rests: each is compared with all that are near."""
        self._pace.go_on()
        settled = Settled()
        for _ in settling(settled, records, met, nearness=nearness, thresholds=self._thresholds):
            await self._pace.rest()
        return settled

    def _opened(
        self, rows: Mapping[UUID, Mapping[str, Any]], records: Sequence[MemoryRecord]
    ) -> Iterator[MemoryRecord]:
        """Yield the records of `rows`; of those that can't be opened the ones that are replaced whatever they say."""
        sealer, given = self._rules.sealer, {record.entry_id for record in records}
        replaced = {entry_id for entry_id, row in rows.items() if entry_id in given or row["type"] == "turn"}
        yield from opened_or_blank((rows[entry_id] for entry_id in replaced), sealer)
        yield from readable((row for entry_id, row in rows.items() if entry_id not in replaced), sealer)

    async def _write_whole(
        self,
        settled: Settled,
        vectors: Vectors,
        *,
        replaced: Collection[UUID],
    ) -> dict[UUID, Impacts]:
        """Write the rows that are new or replaced; return the own words of each."""
        written = {entry_id: settled.records[entry_id] for entry_id in settled.written}
        self._pace.go_on()
        tokens, digest = {}, self._rules.keys.token_digest
        for entry_id, record in written.items():
            tokens[entry_id] = token_ids(record.text, digest)
            await self._pace.rest()
        said = await self._said_around(written.values(), tokens)
        self._pace.go_on()
        rows: list[dict[str, Any]] = []
        words: dict[UUID, Impacts] = {}
        for entry_id, record in written.items():
            marks = mark_impacts(record.text, record.created_at, digest)
            words[entry_id] = impacts(tokens[entry_id], next_to(record.place, said), marks)
            rows.append(
                row_of(
                    record,
                    self._user_key,
                    space_key=self._rules.space.key,
                    vector=vectors[settled.written[entry_id]],
                    words=words[entry_id],
                    sealer=self._rules.sealer,
                )
            )
            if len(rows) == ROWS_AT_ONCE:
                await write_rows(self._cursor, rows, replaced=replaced)
                rows = []
            await self._pace.rest()
        await write_rows(self._cursor, rows, replaced=replaced)
        return {entry_id: own_part(impacts) for entry_id, impacts in words.items()}

    async def _said_around(
        self, records: Iterable[MemoryRecord], tokens: Mapping[UUID, list[int]]
    ) -> dict[Place, list[list[int]]]:
        """Return what is said at and next to the places of `records`, which replace stored ones of their ids."""
        records = list(records)
        places = around(_places(records), REACH)
        rules = self._rules
        stored = await said_at(self._cursor, self._user_key, places, rules.sealer, rules.keys.token_digest)
        said = {each.entry_id: each for each in stored}
        for record in records:
            said.pop(record.entry_id, None)
            if (place := record.place) is not None:
                said[record.entry_id] = Said(record.entry_id, place, tokens[record.entry_id], marks={})
        return by_place(said.values())

    async def _change(self, settled: Settled) -> None:
        """Write what is new of stored facts: said again, superseded, contradicted."""
        changed = [settled.records[entry_id] for entry_id in settled.changed]
        await change_rows(self._cursor, self._user_key, changed, self._rules.sealer)
        if settled.said_again:
            parameters = {"user_key": self._user_key, "said_again": list(settled.said_again)}
            await self._cursor.execute(_SETTLE_CONFLICTS, parameters)
        if settled.conflicts:
            older, newer = zip(*sorted(settled.conflicts), strict=True)
            parameters = {"user_key": self._user_key, "older": list(older), "newer": list(newer)}
            await self._cursor.execute(_ADD_CONFLICTS, parameters)

    async def _evict(
        self, written: Sequence[MemoryRecord], saved: Collection[UUID], *, memories: int
    ) -> list[dict[str, Any]]:
        """Bring the user, who has `memories` of all types, within their limit; return what went."""
        if memories <= self._limit or all(record.type in UNCOUNTED for record in written):
            return []
        gone = await evict(self._cursor, self._user_key, limit=self._limit, saved=set(saved))
        await self._refresh(places_of(gone))
        return gone

    async def _refresh(self, changed: set[Place], *, but: Collection[UUID] = ()) -> None:
        """Weigh the words near `changed` places anew."""
        rules = self._rules
        await refresh_words(self._cursor, self._user_key, changed, rules.sealer, rules.keys.token_digest, but=but)


def _places(records: Iterable[MemoryRecord]) -> set[Place]:
    return {place for record in records if (place := record.place) is not None}
