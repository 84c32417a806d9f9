"""Make one order of two: by meaning (cosine) and by words (BM25). Each way is a pair of SQL queries.

They read the common table expression `candidates` (user_key, entry_id, cosine, own, context) and end in `fused`, the
same columns with `score`. A cosine is NULL where the vectors can't be compared; `own` and `context` add up to BM25,
for a question whose words weigh 1 together.
"""

from __future__ import annotations

from typing import Final, Literal, LiteralString

Fusion = Literal["convex", "rrf"]
"""`convex` adds scores on a scale of 0…1, `rrf` adds reciprocal ranks."""

LEXICAL_WEIGHT: Final = 0.5
"""What BM25 weighs in `convex`; the cosine weighs the rest. LoCoMo alone would have .6, for .01 of R@5; where questions
share few words with their answers less would be better (benchmarks/retrieval_quality.py)."""

_CONVEX: LiteralString = """
bounds AS MATERIALIZED (
    SELECT min(cosine) AS lowest, greatest(max(cosine) - min(cosine), 0.4) AS span FROM candidates
),
fused AS (
    SELECT c.*,
           %(lexical_weight)s * (c.own + c.context)
           + (1 - %(lexical_weight)s) * CASE WHEN c.cosine IS NULL THEN 0 ELSE (c.cosine - b.lowest) / b.span END AS score
    FROM candidates c
    CROSS JOIN bounds b
)
"""
"""Convex combination after Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval" (2023).

* BM25 is not scaled by the best candidate's: where no memory has more than a common word of the question, the best of
  them would get all of the weight. Scaled so it cost up to .18 of R@5 (Vietnamese) in four languages where questions
  share few words with their answers, and .01 on LoCoMo.
* The cosine is scaled by the lowest and highest candidate, as models spread theirs differently; .4 is less than the
  spread over fifty memories or more (.4 to .7), and keeps that over two or three alike ones from becoming everything.

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
