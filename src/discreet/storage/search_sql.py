"""Build the one statement that searches a person's memories by meaning and by words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString

from discreet.retrieval.fusion import FUSIONS, LEXICAL_WEIGHT, Fusion
from discreet.retrieval.lexical import DIMS, MARK_WEIGHT
from discreet.state.records import MemoryFilters
from discreet.storage.keys import digest
from discreet.storage.memory_rows import RECORD_COLUMNS

_QUESTION: LiteralString = """
WITH rarity AS (
    SELECT token, ln(1 + (greatest(c.documents - coalesce(f.documents, 0), 0) + 0.5) / (coalesce(f.documents, 0) + 0.5)) AS idf
    FROM unnest(%(tokens)s::integer[]) AS t (token)
    LEFT JOIN discreet.token_frequency f USING (token)
    CROSS JOIN discreet.corpus c
),
weights AS (
    SELECT token, idf / sum(idf) OVER () AS weight FROM rarity
    UNION ALL
    SELECT mark, %(mark_weight)s FROM unnest(%(marks)s::integer[]) AS t (mark)
),
question AS MATERIALIZED (
    SELECT ('{' || string_agg(token + 1 || ':' || weight, ',' ORDER BY token) || '}/' || %(lexical_dims)s::integer)::sparsevec
           AS lexical
    FROM weights
),
"""
"""The question's words with their inverse document frequency (Robertson and Zaragoza 2009, equation 3.3, plus 1 so that
it stays positive), scaled so that they add up to 1, and its marks. Read here rather than cached in the process: it takes
0.1 ms and is never stale."""

_SCAN: LiteralString = """
{name} AS MATERIALIZED (
    SELECT m.user_key, m.entry_id,
           CASE WHEN m.space_key = %(space_key)s THEN {cosine} END AS cosine,
           coalesce(-(m.lexical <#> (SELECT lexical FROM question)), 0) AS own,
           coalesce(-(m.context <#> (SELECT lexical FROM question)), 0) AS context
    FROM discreet.memory m
    WHERE m.user_key = (SELECT user_key FROM discreet.person WHERE user_id = %(user_id)s)
      AND (m.valid_to IS NULL OR m.valid_to > now())
      {conditions}
),
"""
"""Every current memory of the person, from the covering index alone unless a filter needs the table. Up to 512 dims the
index holds the vectors and this is the list of candidates."""

_RERANKED: LiteralString = """
shortlist AS (
    (SELECT * FROM scanned ORDER BY cosine DESC NULLS LAST LIMIT 100)
    UNION
    (SELECT * FROM scanned ORDER BY own + context DESC LIMIT 50)
),
candidates AS MATERIALIZED (
    SELECT s.user_key, s.entry_id, s.own, s.context,
           CASE WHEN s.cosine IS NOT NULL THEN -(m.wide_embedding <#> %(embedding)s::halfvec) END AS cosine
    FROM shortlist s
    JOIN discreet.memory m USING (user_key, entry_id)
),
"""
"""Wider vectors have one bit a dimension in the index; the nearest 100 by bits are compared exactly. Recall at 1536
dims was 1.0."""

_BEST: LiteralString = """
SELECT {columns}, f.score, f.cosine
FROM (
    SELECT user_key, entry_id, score, cosine
    FROM fused
    WHERE own > 0 OR cosine >= %(least_cosine)s
    ORDER BY score DESC, entry_id
    LIMIT %(limit)s
) f
JOIN discreet.memory m USING (user_key, entry_id)
JOIN discreet.app a USING (app_key)
ORDER BY f.score DESC, f.entry_id
"""

_EXACT: LiteralString = "-(m.embedding <#> %(embedding)s::halfvec)"
_BY_BITS: LiteralString = "-(m.sketch <~> binary_quantize(%(embedding)s::halfvec))"

_CONDITIONS: dict[str, LiteralString] = {
    "app_name": "AND m.app_key = (SELECT app_key FROM discreet.app WHERE app_name = %(app_name)s)",
    "types": "AND m.type = ANY (%(types)s::discreet.memory_type[])",
    "after": "AND m.created_at >= %(after)s",
    "before": "AND m.created_at < %(before)s",
    "agent_id": "AND m.agent_id = %(agent_id)s",
    "tags": "AND m.tags @> %(tags)s::text[]",
    "thread_id": "AND m.thread_key = %(thread_key)s",
}
"""By field of `MemoryFilters`. The first four read columns of the covering index."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """One search, ready to run."""

    statement: LiteralString
    """SQL with named parameters; one of a few texts, so that it stays prepared."""
    parameters: dict[str, Any]
    """By name."""


def build_search(parameters: dict[str, Any], *, fusion: Fusion, covered: bool, filters: MemoryFilters | None) -> Search:
    """Return the search. `covered` says that the index holds whole vectors.

    `parameters` has user_id, space_key, embedding, tokens, marks, least_cosine and limit.
    """
    given = {} if filters is None else {name: value for name, value in filters if value is not None}
    if "thread_id" in given:
        given["thread_key"] = digest(given["thread_id"])
    conditions = "\n      ".join(_CONDITIONS[name] for name in _CONDITIONS if name in given)
    if covered:
        candidates = _SCAN.format(name="candidates", cosine=_EXACT, conditions=conditions)
    else:
        candidates = _SCAN.format(name="scanned", cosine=_BY_BITS, conditions=conditions) + _RERANKED
    statement = _QUESTION + candidates + FUSIONS[fusion] + _BEST.format(columns=RECORD_COLUMNS)
    constants = {"lexical_dims": DIMS, "mark_weight": MARK_WEIGHT, "lexical_weight": LEXICAL_WEIGHT}
    return Search(statement=statement, parameters={**parameters, **given, **constants})
