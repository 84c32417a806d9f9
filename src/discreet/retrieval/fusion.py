"""Make one order of two: by meaning (cosine) and by words (BM25). Each way is a pair of SQL queries.

They read the common table expression `candidates` (cosine, words, own and others) and end in `fused`, the same columns with
`score`. A cosine is NULL where the vectors can't be compared; `words` is BM25, for a question whose words weigh 1 together, and
`own` the part of the memory's own words.
"""

from __future__ import annotations

from typing import Final, Literal, LiteralString

Fusion = Literal["convex", "rrf"]
"""`convex` adds scores on a scale of 0…1, `rrf` adds reciprocal ranks."""

LEXICAL_WEIGHT: Final = 0.45
"""What BM25 weighs in `convex`; the cosine weighs the rest. LoCoMo has about the same from .4 to .6; where questions share few
words with their answers less would be better (benchmarks/retrieval_quality.py)."""

SPREAD: Final = 0.5
"""How far apart the cosines of one question with all memories lie, about: over fifty memories or more .4 to .7, with the
local model and with those of OpenAI alike. It makes one unit of the cosine weigh as much as one of BM25."""

_CONVEX: LiteralString = """
fused AS (
    SELECT c.*,
           %(lexical_weight)s * c.words
           + (1 - %(lexical_weight)s) / %(spread)s * greatest(c.cosine, 0) AS score
    FROM candidates c
)
"""
"""Convex combination with equal weights, after Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid
Retrieval" (2023), but not scaled by the candidates of each question:

* Where no memory has more than a common word of the question, the best of them would get all the weight of BM25. Scaled
  so it cost .02 to .2 of R@5 in four languages where questions share few words with their answers, and .01 on LoCoMo.
* Two or three memories that are alike would be drawn as far apart as the nearest and the farthest of a thousand.
* A cosine below 0 says no more than one of 0, so that a rare word is found wherever its vector is.
* A sum of what each row has needs no second pass over them, which took a quarter of a search."""

_RRF: LiteralString = """
ranked AS (
    SELECT *,
           rank() OVER (ORDER BY cosine DESC NULLS LAST) AS vector_rank,
           rank() OVER (ORDER BY words DESC) AS lexical_rank
    FROM candidates
),
fused AS (
    SELECT *,
           (
               CASE WHEN cosine IS NOT NULL AND vector_rank <= 50 THEN 0.6 / (60 + vector_rank) ELSE 0 END
               + CASE WHEN words > 0 AND lexical_rank <= 50 THEN 0.4 / (60 + lexical_rank) ELSE 0 END
           )::float8 AS score
    FROM ranked
)
"""
"""Reciprocal rank fusion, Cormack, Clarke and Büttcher (2009) with their k = 60, over the best 50 of each order."""


def convex(words: float, cosine: float | None) -> float:
    """Return the score of `convex`, of what a search has given."""
    return LEXICAL_WEIGHT * words + (1 - LEXICAL_WEIGHT) / SPREAD * max(cosine or 0.0, 0.0)


FUSIONS: Final[dict[Fusion, LiteralString]] = {"convex": _CONVEX, "rrf": _RRF}
"""The common table expressions of each way, by name."""

FUSION_PARAMETERS: Final[dict[str, float]] = {"lexical_weight": LEXICAL_WEIGHT, "spread": SPREAD}
"""What they have to be given, by name."""
