"""Rank the items of the store that a question asks for, by meaning and by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from langgraph.store.base import SearchOp
from pgvector import HalfVector, SparseVector

from discreet.retrieval.fusion import Fusion
from discreet.retrieval.lexical import impacts, token_ids
from discreet.storage.namespaces import span_of
from discreet.storage.search_sql import Search, build_ranking
from discreet.storage.spaces import EmbeddingSpace
from discreet.storage.store_filters import FITS, Condition, filter_parameters
from discreet.storage.store_items import ITEM_COLUMNS, VISIBLE, Row, key_arrays

_OWNERS: LiteralString = (
    "= ANY (ARRAY(SELECT user_key FROM discreet.person WHERE user_id >= %(low)s AND user_id < %(high)s))"
)

_ITEM_KEY: LiteralString = "(left({entry_id}::text, 32) || '0000')::uuid"
"""The key of the item that a text belongs to: `namespaces.text_key_of` puts the number of the text into the last two
bytes. So the covering index tells it, and the table need not be read."""

_NOT_EXPIRED: LiteralString = f"""
AND m.type = 'item' AND NOT EXISTS (
    SELECT FROM discreet.store_item i
    WHERE i.user_key = m.user_key AND i.item_key = {_ITEM_KEY.format(entry_id="m.entry_id")} AND i.expires_at <= now()
)
"""

_FITTING: LiteralString = f"""
AND m.type = 'item' AND EXISTS (
    SELECT FROM discreet.store_item i
    WHERE i.user_key = m.user_key AND i.item_key = {_ITEM_KEY.format(entry_id="m.entry_id")}
      AND {VISIBLE} AND {FITS}
)
"""

_AMONG: LiteralString = f"""
AND m.type = 'item' AND (m.user_key, {_ITEM_KEY.format(entry_id="m.entry_id")}) IN (
    SELECT * FROM unnest(%(user_keys)s::bigint[], %(item_keys)s::uuid[])
)
"""  # noqa: S608 - a constant of ours

_BEST_ITEMS: LiteralString = f""",
best AS (
    SELECT user_key, {_ITEM_KEY.format(entry_id="entry_id")} AS item_key, max(score) AS score
    FROM fused
    WHERE own > 0 OR cosine IS NOT NULL
    GROUP BY user_key, item_key
    ORDER BY score DESC, user_key, item_key
    LIMIT %(limit)s OFFSET %(offset)s
),
reach AS (
    SELECT max(cosine) AS nearest, max(own) AS most_words FROM fused
)
SELECT {ITEM_COLUMNS}, b.score, r.nearest, r.most_words
FROM best b
CROSS JOIN reach r
JOIN discreet.store_item i USING (user_key, item_key)
JOIN discreet.person p USING (user_key)
ORDER BY b.score DESC, i.user_key, i.item_key
"""  # noqa: S608 - constants of ours
"""An item is as near as the nearest of its texts."""

LEAST_SHORTLIST = 100
"""Texts whose wide vectors are compared exactly, at least. See `search_sql`."""


@dataclass(frozen=True)
class Question:
    """What is asked, ready to be compared."""

    vector: list[float]
    """Its embedding."""
    words: SparseVector | None
    """Its tokens, by how rare they are."""
    own_score: float
    """The lexical score of a text that is the question itself."""


def question_of(text: str, vector: list[float], words: SparseVector | None) -> Question:
    """Return the question `text`, whose embedding is `vector` and whose weighed tokens are `words`."""
    own = impacts(token_ids(text))[0]
    weights = {} if words is None else dict(zip(words.indices(), words.values(), strict=True))
    return Question(vector, words, sum(weight * own.get(token, 0.0) for token, weight in weights.items()))


def build_ranked(
    op: SearchOp,
    question: Question,
    space: EmbeddingSpace,
    fusion: Fusion,
    *,
    conditions: list[Condition],
    among: Sequence[tuple[int, UUID]] | None = None,
) -> Search:
    """Return the statement that finds the page of items that `op` asks for.

    They fit `conditions`, or are `among` those given by the keys of their namespace and their own. Its rows have
    `ITEM_COLUMNS` and what `score_of` needs.
    """
    low, high = span_of(op.namespace_prefix)
    parameters: dict[str, Any] = {
        "low": low,
        "high": high,
        "space_key": space.key,
        "embedding": HalfVector(question.vector),
        "question": question.words,
        "limit": op.limit,
        "offset": op.offset,
    }
    which = _NOT_EXPIRED
    if among is not None:
        which, parameters = _AMONG, {**parameters, **key_arrays(among)}
    elif conditions:
        which, parameters = _FITTING, {**parameters, **filter_parameters(conditions)}
    ranking = build_ranking(
        owners=_OWNERS,
        conditions=which,
        fusion=fusion,
        covered=space.covered,
        shortlist=_shortlist(op.offset + op.limit),
    )
    return Search(statement=ranking + _BEST_ITEMS, parameters=parameters)


def score_of(row: Row, question: Question, space: EmbeddingSpace) -> float:
    """Return the score of a row of `build_ranked`: 0 to 1 where the fusion is convex.

    The fusion puts the best at 1 however far it is, so the scores of one search are scaled by how near the nearest text
    comes to what is asked. That makes them comparable between searches and leaves their order as it is.
    """
    similarity = 0.0 if row["nearest"] is None else space.calibration.similarity(row["nearest"])
    words = min(1.0, row["most_words"] / question.own_score) if question.own_score else similarity
    reach = 0.6 * similarity + 0.4 * words
    score: float = row["score"] * reach
    return score


def _shortlist(page_end: int) -> int:
    """Return a size that a page up to `page_end` fits into, one of few: each is a statement of its own."""
    shortlist = LEAST_SHORTLIST
    while shortlist < 4 * page_end:
        shortlist *= 2
    return shortlist
