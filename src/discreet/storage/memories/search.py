"""Build the one statement that searches a user's memories by meaning and by words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString

from discreet.retrieval.dedup_resolution import CONSOLIDATED
from discreet.retrieval.fusion import FUSION_PARAMETERS, FUSIONS, Fusion
from discreet.state.records import PAST_TYPES, MemoryFilters
from discreet.storage.database.keys import app_key_of, digest
from discreet.storage.memories.rows import RECORD_COLUMNS

COSINE: LiteralString = "CASE WHEN m.space_key = %(space_key)s THEN {cosine} END AS cosine"
"""Of `discreet.memory m` and the question; `EXACT`, or `BY_BITS`."""

BM25: LiteralString = """
           coalesce(-(m.lexical <#> %(question)s::sparsevec), 0) AS own,
           coalesce(-(m.context <#> %(question)s::sparsevec), 0) AS context"""
"""In two parts, of `discreet.memory m` and the question."""

_SCAN: LiteralString = """
WITH {name} AS (
    SELECT m.user_key, m.entry_id, {cosine}, {bm25}
    FROM discreet.memory m
    WHERE m.user_key {owners}
      {conditions}
    OFFSET 0
),
"""
"""Every memory that is searched, from the covering index alone unless a filter needs the table. Up to 512 dims the index
holds the vectors and this is the list of candidates. OFFSET 0 has each distance computed once a row and passed on, which
takes half the time of a list that is kept."""

OF_USER: LiteralString = "= %(user_key)s"

_RERANKED: LiteralString = """
shortlist AS (
    (SELECT * FROM scanned ORDER BY cosine DESC NULLS LAST LIMIT {shortlist})
    UNION
    (SELECT * FROM scanned ORDER BY own + context DESC LIMIT 50)
),
candidates AS MATERIALIZED (
    SELECT s.user_key, s.entry_id, s.own, s.context,
           CASE WHEN s.cosine IS NOT NULL THEN -(m.wide_embedding <#> %(embedding)s::halfvec) END AS cosine
    FROM shortlist s
    CROSS JOIN LATERAL (
        SELECT wide_embedding FROM discreet.memory w
        WHERE w.user_key {same_user} AND w.entry_id = s.entry_id
        LIMIT 1
    ) m
),
"""
"""Wider vectors have one bit a dimension in the index; the nearest 100 by bits are compared exactly. Recall at 1536
dims was 1.0. Rows are fetched in LATERAL with a LIMIT, here and in `_BEST`, since that leaves the planner no choice: a
generic plan made while the table had no statistics would join with all rows of the person for as long as it is kept."""


def reranked_among(shortlist: int, same_user: LiteralString = OF_USER) -> LiteralString:
    """Return the common table expressions that compare the `shortlist` nearest by bits exactly.

    `same_user` is what the user_key of a row of `shortlist s` is in the table; where rows of several users are, `= s.user_key`.
    """
    return _RERANKED.format(shortlist=shortlist, same_user=same_user)


RERANKED: LiteralString = reranked_among(100)

_BEST: LiteralString = """,
best AS MATERIALIZED (
    SELECT user_key, entry_id, score, cosine
    FROM fused
    WHERE own > 0 OR cosine >= %(least_cosine)s
    ORDER BY score DESC, entry_id
    LIMIT %(limit)s
),
{few}contradicted AS MATERIALIZED (
    SELECT b.user_key, b.score, x.newer
    FROM {chosen} b
    CROSS JOIN LATERAL (
        SELECT c.newer FROM discreet.memory_conflict c
        WHERE c.user_key = %(user_key)s AND c.older = b.entry_id
        LIMIT 50
    ) x
),
lifted AS (
    SELECT user_key, entry_id, max(score) AS score, max(cosine) AS cosine
    FROM (
        SELECT user_key, entry_id, score, cosine FROM {chosen}
        UNION ALL
        SELECT n.user_key, n.entry_id, o.score, n.cosine
        FROM contradicted o
        CROSS JOIN LATERAL (
            SELECT m.user_key, m.entry_id, {cosine}
            FROM discreet.memory m
            WHERE m.user_key = %(user_key)s AND m.entry_id = o.newer
              {conditions}
            LIMIT 1
        ) n
    ) found
    GROUP BY user_key, entry_id
)
SELECT {columns}, l.score, l.cosine
FROM lifted l
CROSS JOIN LATERAL (
    SELECT * FROM discreet.memory r
    WHERE r.user_key = %(user_key)s AND r.entry_id = l.entry_id
    LIMIT 1
) m
ORDER BY l.score DESC, m.created_at DESC, m.entry_id
LIMIT {limit}
"""
"""The best, and with each that may hold no longer whatever was said against it later: that one goes first.

Every relation names the user by itself: so a cluster sends the statement to the one node that has their rows."""

_FEW: LiteralString = """facts AS MATERIALIZED (
    SELECT m.user_key, m.entry_id, {cosine}
    FROM discreet.memory m
    WHERE m.user_key {owners} AND m.type = ANY (%(fact_types)s::discreet.memory_type[])
      {conditions}
    LIMIT %(few)s + 1
),
told AS MATERIALIZED (
    SELECT user_key, entry_id, coalesce(cosine, -1) - 2 AS score, cosine
    FROM facts
    WHERE (SELECT count(*) FROM facts) <= %(few)s
),
chosen AS (
    SELECT * FROM best
    UNION ALL
    SELECT * FROM told
),
"""
"""All facts of a person who has few, behind what was found: no score of that is below 0. Who has more is known from the
first facts that the index gives; who has thousands of turns and few facts has them read twice, without their vectors."""

EXACT: LiteralString = "-(m.embedding <#> %(embedding)s::halfvec)"
EXACT_WIDE: LiteralString = "-(m.wide_embedding <#> %(embedding)s::halfvec)"
BY_BITS: LiteralString = "-(m.sketch <~> (SELECT binary_quantize(%(embedding)s::halfvec)))"
"""A parameter is no constant to a generic plan: without the SELECT it would be quantized anew for each row, which took
2 of 5 ms."""

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

    statement: LiteralString | bytes
    """SQL with named parameters; one of a few texts, so that it stays prepared."""
    parameters: dict[str, Any]
    """By name."""


def build_search(
    parameters: dict[str, Any], *, fusion: Fusion, covered: bool, filters: MemoryFilters | None, few: int = 0
) -> Search:
    """Return the search. `covered` says that the index holds whole vectors, `few` when all facts are told.

    `parameters` has user_key, space_key, embedding, question, least_cosine and limit.
    """
    conditions, values = conditions_of(filters)
    ranked = build_ranking(owners=OF_USER, conditions=conditions, fusion=fusion, covered=covered)
    statement = ranked + build_best(conditions=conditions, covered=covered, few=few > 0)
    if few > 0:
        values |= {"few": few, "fact_types": sorted(CONSOLIDATED)}
    return Search(statement=statement, parameters={**parameters, **values, **FUSION_PARAMETERS})


def build_ranking(
    *,
    owners: LiteralString,
    conditions: LiteralString,
    fusion: Fusion,
    covered: bool,
    reranked: LiteralString = RERANKED,
) -> LiteralString:
    """Return the common table expressions that end in `fused`, over the rows of `discreet.memory m` that are searched.

    `owners` is what their user_key must be, `conditions` what else must hold, each with AND before it. The parameters
    space_key, embedding, question and those of the fusion are needed. Vectors that the index does not hold whole are
    compared by `reranked`, for the nearest by bits.
    """
    cosine = COSINE.format(cosine=EXACT if covered else BY_BITS)
    name: LiteralString = "candidates" if covered else "scanned"
    scan = _SCAN.format(name=name, cosine=cosine, bm25=BM25, owners=owners, conditions=conditions)
    return scan + ("" if covered else reranked) + FUSIONS[fusion]


def build_best(*, conditions: LiteralString, covered: bool, few: bool = False) -> LiteralString:
    """Return the rest of a statement whose common table expressions end in `fused`: the records of the best.

    With `few` all facts of a person who has at most so many besides.
    """
    cosine = COSINE.format(cosine=EXACT if covered else EXACT_WIDE)
    all_facts: LiteralString = _FEW.format(cosine=cosine, owners=OF_USER, conditions=conditions) if few else ""
    chosen: LiteralString = "chosen" if few else "best"
    limit: LiteralString = "%(limit)s + (SELECT count(*) FROM told)" if few else "%(limit)s"
    return _BEST.format(
        columns=RECORD_COLUMNS, cosine=cosine, conditions=conditions, few=all_facts, chosen=chosen, limit=limit
    )


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
