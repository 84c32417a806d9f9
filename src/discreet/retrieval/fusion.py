"""Make one order of two: by meaning (cosine) and by words (BM25). Each way is a pair of SQL queries.

They read the common table expression `candidates` (user_key, entry_id, cosine, own, context) and end in `fused`, the
same columns with `score`. A cosine is NULL where the vectors can't be compared; `own` and `context` add up to BM25.
"""

from __future__ import annotations

from typing import Final, Literal, LiteralString

Fusion = Literal["convex", "rrf"]
"""`convex` adds scores scaled to 0…1, `rrf` adds reciprocal ranks."""

_CONVEX: LiteralString = """
bounds AS MATERIALIZED (
    SELECT max(own + context) AS most_lexical, min(cosine) AS lowest, max(cosine) AS highest FROM candidates
),
fused AS (
    SELECT c.*,
           0.4 * coalesce((c.own + c.context) / nullif(b.most_lexical, 0), 0)
           + 0.6 * CASE WHEN c.cosine IS NULL THEN 0
                        ELSE coalesce((c.cosine - b.lowest) / nullif(b.highest - b.lowest, 0), 1) END AS score
    FROM candidates c
    CROSS JOIN bounds b
)
"""
"""Convex combination after Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval" (2023): BM25
from its natural zero, the cosine from the lowest candidate. Won on conversations that took no part in choosing it.
`bounds` is materialized since a plan made while the table was small would compute it anew for each candidate."""

_RRF: LiteralString = """
ranked AS (
    SELECT *,
           rank() OVER (ORDER BY cosine DESC NULLS LAST) AS vector_rank,
           rank() OVER (ORDER BY own + context DESC) AS lexical_rank
    FROM candidates
),
fused AS (
    SELECT *,
           CASE WHEN cosine IS NOT NULL AND vector_rank <= 50 THEN 0.6 / (60 + vector_rank) ELSE 0 END
           + CASE WHEN own + context > 0 AND lexical_rank <= 50 THEN 0.4 / (60 + lexical_rank) ELSE 0 END AS score
    FROM ranked
)
"""
"""Reciprocal rank fusion, Cormack, Clarke and Büttcher (2009) with their k = 60, over the best 50 of each order."""

FUSIONS: Final[dict[Fusion, LiteralString]] = {"convex": _CONVEX, "rrf": _RRF}
"""The common table expressions of each way, by name."""
