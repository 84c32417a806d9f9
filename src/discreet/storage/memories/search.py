"""Build the one statement that searches a user's memories by meaning and by words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, LiteralString

from pgvector import HalfVector

from discreet.retrieval.dedup_resolution import CONSOLIDATED
from discreet.retrieval.fusion import FUSION_PARAMETERS, FUSIONS, Fusion, convex
from discreet.retrieval.lexical import Impacts, own_part
from discreet.state.records import PAST_TYPES, MemoryFilters
from discreet.storage.database.keys import app_key_of, digest
from discreet.storage.memories.rows import RECORD_COLUMNS, RECORD_NAMES, Vectors, sparse
from discreet.storage.memories.spaces.spaces import EmbeddingSpace

FEWEST, MOST = 60, 200
"""Memories that a search compares exactly, at least: those that come first by the signs of their vectors and by words."""

SIGNS = 76_800
"""Of all of these together: the fewer signs there are, the less each tells. Of the five turns of LoCoMo nearest by whole vectors of 384
dims 200 among 1,000 have 99.7 %, 150 have 99.0 %."""

SHARE = 40
"""Of that many memories one is compared exactly, of people who have more: 70,000 in 20 clusters need 1,200 for a recall of .93."""

LEAST_OR_SHARE: LiteralString = """
greatest({least}, (SELECT u.memories FROM discreet.user_memories u WHERE u.user_key = %(user_key)s) / {share})::bigint"""
"""How many of a user's memories are compared exactly."""

LIFTED_FROM = 0.1
"""What contradicts a memory that was found is lifted to its place only if its own score is such a part of that: which memories
contradict each other is told when they are saved, and in doubt. Moves that must be told first have .2 and more
(tests/integration/graph/test_updates_win.py). Of the updates of benchmarks/dedup.py 98 % come before what they replace, 100 %
without this; the higher, the more questions of benchmarks/retrieval_quality.py are answered by the first five."""

RANKED = 50
"""Memories of either order that have a rank in `rrf`."""

COSINE: LiteralString = "CASE WHEN m.space_key = %(space_key)s THEN -(m.embedding <#> %(embedding)s::halfvec) END"
"""Of `discreet.memory m` and the question; NULL where they are of different spaces. It reads the table."""

_WORDLESS: LiteralString = "coalesce(m.lexical <#> %(question)s::sparsevec, 0)"

WORDS: LiteralString = f"-{_WORDLESS}"
"""BM25 of both, with the words of the turns around a memory."""

OWN_WORDS: LiteralString = "-coalesce(m.lexical <#> %(own_question)s::sparsevec, 0)"
"""The part that a memory's own words have in it."""

_BITS: LiteralString = """
CASE WHEN m.space_key = %(space_key)s
    THEN m.sketch <~> (SELECT binary_quantize(%(embedding)s::halfvec)) ELSE %(dims)s::float8 / 2
END"""
"""How many signs differ. A parameter is no constant to a generic plan: without the SELECT it would be quantized anew for
each row, which took 2 of 5 ms."""

FARNESS: LiteralString = f"%(lexical_weight)s::float8 * {_WORDLESS} + %(per_bit)s::float8 * {_BITS}"
"""What the convex fusion makes of a memory, upside down and about: a sign more that differs takes off as much as the
cosine that it stands for."""

SCORES: LiteralString = f"{COSINE} AS cosine, {WORDS} AS words, {OWN_WORDS} AS own"
"""What a fusion reads."""

_NEAR: LiteralString = """
SELECT m.entry_id FROM discreet.memory m
WHERE m.user_key = %(user_key)s
  {conditions}
ORDER BY {order}
LIMIT {limit}"""
"""Those whose `order` is least, from the covering index alone, unless a filter needs the table."""

_FOUND: LiteralString = """
WITH candidates AS (
    SELECT {columns}, {scores}
    FROM unnest(ARRAY({near})) AS near (entry_id)
    CROSS JOIN LATERAL (
        SELECT * FROM discreet.memory r WHERE r.user_key = %(user_key)s AND r.entry_id = near.entry_id LIMIT 1
    ) m
),
{fused},
best AS MATERIALIZED (
    SELECT {names}, cosine, words, own, score
    FROM fused
    WHERE own > 0 OR cosine >= %(least_cosine)s
    ORDER BY score DESC, entry_id
    LIMIT %(limit)s
){few}
SELECT *, NULL::uuid AS instead_of FROM best
UNION ALL
SELECT n.*, b.score, b.entry_id
FROM best b
CROSS JOIN LATERAL (
    SELECT c.newer FROM discreet.memory_conflict c
    WHERE c.user_key = %(user_key)s AND c.older = b.entry_id
    LIMIT 50
) c
CROSS JOIN LATERAL (
    SELECT {columns}, {scores}
    FROM discreet.memory m
    WHERE m.user_key = %(user_key)s AND m.entry_id = c.newer
      {conditions}
    LIMIT 1
) n{told}
"""
"""The best, and with each that may hold no longer whatever was said against it later, see `arrange`.

Every relation names the user by itself: so a cluster sends the statement to the one node that has their rows. LATERAL with a
LIMIT leaves the planner no choice: a plan made while a table was empty would read all rows of the user."""

_FEW: LiteralString = """,
facts AS MATERIALIZED (
    SELECT m.entry_id FROM discreet.memory m
    WHERE m.user_key = %(user_key)s AND m.type = ANY (%(fact_types)s::discreet.memory_type[])
      {conditions}
    LIMIT %(few)s + 1
)"""
_TOLD: LiteralString = """
UNION ALL
SELECT {columns}, {scores}, NULL::float8, NULL::uuid
FROM discreet.memory m
WHERE m.user_key = %(user_key)s
  AND m.entry_id = ANY (ARRAY(SELECT entry_id FROM facts WHERE (SELECT count(*) FROM facts) <= %(few)s))
  AND m.entry_id <> ALL (ARRAY(SELECT entry_id FROM best))"""
"""All facts of a person who has few. Who has more is known from the first facts that the index gives."""

_CONDITIONS: dict[str, LiteralString] = {
    "app_keys": "AND m.app_key = ANY (%(app_keys)s::uuid[])",
    "now": "AND (m.valid_to IS NULL OR m.valid_to > now())",
    "as_of": "AND coalesce(m.valid_from, m.created_at) <= %(as_of)s AND (m.valid_to IS NULL OR m.valid_to > %(as_of)s)",
    "types": "AND m.type = ANY (%(types)s::discreet.memory_type[])",
    "after": "AND m.created_at >= %(after)s",
    "before": "AND m.created_at < %(before)s",
    "agent_id": "AND m.agent_id = %(agent_id)s",
    "request_id": "AND m.request_id = %(request_id)s AND length(m.request_id) <= 200",  # as the index memory_request
    "tags": "AND m.tags @> %(tags)s::text[]",
    "thread_id": "AND m.thread_key = %(thread_key)s",
    "running_thread": "AND (m.thread_key IS DISTINCT FROM %(running_key)s OR m.type <> ALL (%(past_types)s::discreet.memory_type[]))",
}
"""By field of `MemoryFilters`, where it needs no more. app_keys, now, types, after, before, thread_id and running_thread read
the covering index alone."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """One search, ready to run."""

    statement: LiteralString
    """SQL with named parameters; one of a few texts, so that it stays prepared."""
    parameters: dict[str, Any]
    """By name."""


def question_parameters(vector: Vectors, weights: Impacts, space: EmbeddingSpace) -> dict[str, Any]:
    """Return what `FARNESS`, `SCORES` and the fusions need to know of a question."""
    return {
        "space_key": space.key,
        "embedding": HalfVector(vector),
        "question": sparse(weights),
        "own_question": sparse(own_part(weights)),
        "dims": space.dims,
        "per_bit": (1 - FUSION_PARAMETERS["lexical_weight"]) / FUSION_PARAMETERS["spread"] * math.pi / space.dims,
        **FUSION_PARAMETERS,
    }


def build_search(
    parameters: dict[str, Any], *, fusion: Fusion, filters: MemoryFilters | None = None, few: int = 0
) -> Search:
    """Return the search, in which all facts are told of who has at most `few`.

    `parameters` has user_key, least_cosine, limit, and those of the question.
    """
    conditions, values = conditions_of(filters)
    shortlist = shortlist_for(parameters["limit"], parameters["dims"])
    statement = _statement(near(conditions, fusion=fusion, limit=shortlist), conditions, fusion, few=few > 0)
    if few > 0:
        values |= {"few": few, "fact_types": sorted(CONSOLIDATED)}
    return Search(statement=statement, parameters=parameters | values)


def near(conditions: LiteralString, *, fusion: Fusion, limit: int) -> LiteralString:
    """Return the query for the entries that are compared exactly: those of the least `FARNESS`.

    Where ranks count they are the first of both orders.
    """
    by_both = _NEAR.format(conditions=conditions, order=FARNESS, limit=_compared(limit))
    if fusion == "convex":
        return by_both
    by_words = _NEAR.format(conditions=conditions, order=_WORDLESS, limit=RANKED)
    return f"({near_by_signs(conditions, limit=limit)}) UNION ({by_words})"


def near_by_signs(conditions: LiteralString, *, limit: int) -> LiteralString:
    """Return the query for the entries whose vectors are near to the question's, by their signs."""
    return _NEAR.format(conditions=conditions, order=_BITS, limit=_compared(limit))


def _compared(least: int) -> LiteralString:
    return LEAST_OR_SHARE.format(least=least, share=SHARE)


def shortlist_for(limit: int, dims: int) -> int:
    """Return a size that `limit` results fit into, one of few: each is a statement of its own."""
    shortlist = min(max(FEWEST, SIGNS // dims), MOST)
    while shortlist < 4 * limit:
        shortlist *= 2
    return shortlist


def build_found(near: LiteralString, *, conditions: LiteralString, fusion: Fusion, few: bool = False) -> LiteralString:
    """Return the statement that finds the best among the entries that the query `near` gives.

    The parameters of `build_search` are needed.
    """
    words = {"names": RECORD_NAMES, "columns": RECORD_COLUMNS, "scores": SCORES, "conditions": conditions}
    return _FOUND.format(
        near=near,
        fused=FUSIONS[fusion].strip(),
        few=_FEW.format(**words) if few else "",
        told=_TOLD.format(**words) if few else "",
        **words,
    )


@lru_cache(maxsize=200)
def _statement(near: LiteralString, conditions: LiteralString, fusion: Fusion, *, few: bool) -> LiteralString:
    return build_found(near, conditions=conditions, fusion=fusion, few=few)


def arrange(rows: list[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """Return the rows of a search in their order: at most `limit` that were found, then the facts that are told besides.

    What contradicts a memory that was found, and comes near to it in what it says of the question, is as good as that, and goes
    before it, since it was said later.
    """
    bearing = {row["entry_id"]: convex(row["words"], row["cosine"]) for row in rows}
    found: dict[Any, dict[str, Any]] = {}
    for row in rows:
        older = row["instead_of"]
        if older is not None and bearing[row["entry_id"]] < LIFTED_FROM * bearing[older]:
            continue
        if row["score"] is not None:
            known = found.setdefault(row["entry_id"], row)
            known["score"] = max(known["score"], row["score"])
    best = sorted(found.values(), key=lambda row: (-row["score"], -row["created_at"].timestamp(), row["entry_id"]))
    told = [row for row in rows if row["score"] is None and row["entry_id"] not in found]
    for row in told:
        row["score"] = (-1 if row["cosine"] is None else row["cosine"]) - 2
    return best[:limit] + sorted(told, key=lambda row: (-row["score"], row["entry_id"]))


def conditions_of(filters: MemoryFilters | None, *, held: bool = True) -> tuple[LiteralString, dict[str, Any]]:
    """Return what `filters` add to the WHERE of a query over `discreet.memory m`, and its parameters.

    Unless they say as of when, only what holds now is meant; without `held` also what was superseded.
    """
    values = {} if filters is None else {name: value for name, value in filters if value is not None}
    shared = values.pop("shared_apps", [])
    if "app_name" in values:
        values["app_keys"] = [*map(app_key_of, [values.pop("app_name"), *shared])]
    if "thread_id" in values:
        values["thread_key"] = digest(values["thread_id"])
    if "running_thread" in values:
        values |= {"running_key": digest(values["running_thread"]), "past_types": sorted(PAST_TYPES)}
    named = {*values, "now"} if held and "as_of" not in values else values.keys()
    return "\n      ".join(_CONDITIONS[name] for name in _CONDITIONS if name in named), values
