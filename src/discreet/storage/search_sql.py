"""Build the one statement that searches a person's memories by meaning and by words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString

from discreet.retrieval.fusion import FUSIONS, Fusion
from discreet.retrieval.lexical import DIMS
from discreet.state.records import MemoryFilters
from discreet.storage.keys import digest
from discreet.storage.memory_rows import RECORD_COLUMNS

_QUESTION: LiteralString = """
WITH question AS MATERIALIZED (
    SELECT ('{' || string_agg(
                token + 1 || ':' ||
                ln(1 + (greatest(c.documents - coalesce(f.documents, 0), 0) + 0.5) / (coalesce(f.documents, 0) + 0.5)),
                ',' ORDER BY token
            ) || '}/' || %(lexical_dims)s::integer)::sparsevec AS lexical
    FROM unnest(%(tokens)s::integer[]) AS t (token)
    LEFT JOIN discreet.token_frequency f USING (token)
    CROSS JOIN discreet.corpus c
),
"""
"""The question's words with their inverse document frequency (Robertson and Zaragoza 2009, equation 3.3, plus 1 so that
it stays positive). Read here rather than cached in the process: it takes 0.1 ms and is never stale."""

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
    CROSS JOIN LATERAL (
        SELECT wide_embedding FROM discreet.memory w
        WHERE w.user_key = s.user_key AND w.entry_id = s.entry_id
        LIMIT 1
    ) m
),
"""
"""Wider vectors have one bit a dimension in the index; the nearest 100 by bits are compared exactly. Recall at 1536
dims was 1.0. Rows are fetched in LATERAL with a LIMIT, here and in `_BEST`, since that leaves the planner no choice: a
generic plan made while the table had no statistics would join with all rows of the person for as long as it is kept."""

_BEST: LiteralString = """
SELECT {columns}, f.score, f.cosine
FROM (
    SELECT user_key, entry_id, score, cosine
    FROM fused
    WHERE own > 0 OR cosine >= %(least_cosine)s
    ORDER BY score DESC, entry_id
    LIMIT %(limit)s
) f
CROSS JOIN LATERAL (
    SELECT * FROM discreet.memory r
    WHERE r.user_key = f.user_key AND r.entry_id = f.entry_id
    LIMIT 1
) m
JOIN discreet.app a USING (app_key)
ORDER BY f.score DESC, f.entry_id
"""

_EXACT: LiteralString = "-(m.embedding <#> %(embedding)s::halfvec)"
_BY_BITS: LiteralString = "-(m.sketch <~> (SELECT binary_quantize(%(embedding)s::halfvec)))"
"""A parameter is no constant to a generic plan: without the SELECT it would be quantized anew for each row, which took
2 of 5 ms."""

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

    `parameters` has user_id, space_key, embedding, tokens, least_cosine and limit.
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
    return Search(statement=statement, parameters={**parameters, **given, "lexical_dims": DIMS})
