"""Build the statement that searches the memories of a user who has indexes of their own.

Not every memory is compared: the candidates are those of the nearest signs and those that share the question's rarer
words. What follows is what an ordinary search does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, LiteralString
from uuid import UUID

from discreet.retrieval.fusion import Fusion
from discreet.retrieval.lexical import CONTEXT
from discreet.state.records import MemoryFilters
from discreet.storage.memories.large_users.indexes import is_whole
from discreet.storage.memories.search import FARNESS, WORDS, Search, build_found, conditions_of
from discreet.storage.memories.spaces.spaces import EmbeddingSpace

NEAREST = 200
"""Vectors that come from the index."""

VISITED_WITH_FILTER = 800
"""Vectors that the index gives where some are then filtered out, so that a quarter may pass. pgvector before 0.8 can't go
on until enough have."""

MOST_WORDED = 100
"""Memories that come from the words by these alone, and as many by both scores."""

MOST_READ = 2_000
"""Memories, about, that are read to find those: the question's words are looked up rarest first until they are found in
as many. The rarest is always looked up; another is left out only where rarer ones are in as many already. Reading one
memory takes 2 to 4 µs."""

MAX_LIMIT = 50
"""Results that this can find: half of the nearest."""

_HAS_WORDS: LiteralString = "discreet.token_places(m.lexical) && %(places)s::integer[]"
_HAS_WORDS_APART: LiteralString = "m.entry_id IN (SELECT discreet.found_by_words(%(places)s::integer[]))"
"""Where policies apply: they come before a condition that is not known to be free of side effects, which then uses no index
(168 ms instead of 0.3). The function looks into the index as the owner, for the user whom the transaction names."""

_TUNED: LiteralString = """
tuned AS MATERIALIZED (
    SELECT set_config('hnsw.ef_search', '{visited}', true) AS ef_search
),
worded AS MATERIALIZED (
    SELECT m.entry_id, {words} AS words, {farness} AS farness
    FROM discreet.memory m
    WHERE m.user_key = {user_key} AND {has_words}
      AND (m.valid_to IS NULL OR m.valid_to > now()) {conditions}
),
"""
_NEAR: LiteralString = """
(
    SELECT m.entry_id FROM discreet.memory m
    WHERE m.user_key = {user_key} AND m.space_key = {space_key} AND m.valid_to IS NULL {conditions}
    ORDER BY {distance} (SELECT CASE WHEN ef_search IS NOT NULL THEN {vector} END FROM tuned)
    LIMIT {nearest}
)
UNION
(SELECT entry_id FROM worded ORDER BY words DESC LIMIT {worded})
UNION
(SELECT entry_id FROM worded ORDER BY farness LIMIT {worded})
UNION
SELECT m.entry_id FROM discreet.memory m WHERE m.user_key = {user_key} AND m.valid_to > now() {conditions}
"""
"""The index reads ef_search when its scan begins, so the vector that it is asked for comes out of setting it: one
statement, no transaction. It lasts until the statement ends. user_key and space_key are literals, since an index for
one user is of use to a statement about that user only."""


def build_large_search(
    parameters: dict[str, Any],
    rarity: Mapping[int, float],
    *,
    user_key: UUID,
    memories: int,
    space: EmbeddingSpace,
    fusion: Fusion,
    filters: MemoryFilters | None,
    apart: bool = False,
) -> Search:
    """Return the search of the user with `user_key`, who has about so many `memories`; `filters` must be `servable`.

    `apart`: whether row-level security applies to who searches.

    `parameters` are those of `build_search`, with a limit of at most `MAX_LIMIT`; `rarity` is that of the question's
    words, their inverse document frequency.
    """
    conditions, values = conditions_of(filters, held=False)
    given = {**parameters, **values, "places": rarest(rarity, memories)}
    return Search(statement=_statement(user_key, space, fusion, conditions, apart=apart), parameters=given)


def rarest(rarity: Mapping[int, float], memories: int) -> list[int]:
    """Return the places, counted from 1 as SQL does, of the words to look up, rarest first, as own ones and as neighbours'.

    In how many of `memories` a word is follows from its `rarity`, which is ln((all + 1) / (those with it + 0.5)).
    """
    places: list[int] = []
    expected = 0.0
    for word in sorted(rarity, key=lambda word: (-rarity[word], word)):
        expected += memories * math.exp(-rarity[word])
        if places and expected > MOST_READ:
            break
        places += [word + 1, CONTEXT + word + 1]
    return places


def servable(filters: MemoryFilters | None) -> bool:
    """Whether `filters` leave most in: they name applications, or one thread. Most others leave little to read by words."""
    return filters is None or filters.model_fields_set <= {"app_name", "shared_apps", "running_thread"}


@lru_cache(maxsize=200)
def _statement(
    user_key: UUID, space: EmbeddingSpace, fusion: Fusion, conditions: LiteralString, *, apart: bool
) -> bytes:
    bits = f"binary_quantize(%(embedding)s::halfvec)::bit({space.dims})"
    given = {
        "distance": f"m.embedding::halfvec({space.dims}) <#>"
        if is_whole(space)
        else f"m.sketch::bit({space.dims}) <~>",
        "vector": "%(embedding)s::halfvec" if is_whole(space) else bits,
        "user_key": f"'{user_key}'::uuid",
        "space_key": space.key,
        "words": WORDS,
        "farness": FARNESS,
        "nearest": NEAREST,
        "worded": MOST_WORDED,
        "conditions": conditions,
        "has_words": _HAS_WORDS_APART if apart else _HAS_WORDS,
        "visited": VISITED_WITH_FILTER if conditions else NEAREST,
    }
    held: LiteralString = "AND (m.valid_to IS NULL OR m.valid_to > now()) "
    near, tuned = _NEAR.format(**given), _TUNED.format(**given)
    return build_found(near, conditions=held + conditions, fusion=fusion, tuned=tuned).encode()
