"""Rank the items of the store that a question asks for, by meaning and by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from langgraph.store.base import SearchOp
from pgvector import HalfVector

from discreet.retrieval.fusion import FUSION_PARAMETERS, LEXICAL_WEIGHT, Fusion
from discreet.retrieval.lexical import Impacts, impacts, token_ids
from discreet.storage.memory_rows import sparse
from discreet.storage.namespaces import span_of
from discreet.storage.search_sql import Search, build_ranking, reranked_among
from discreet.storage.spaces import EmbeddingSpace
from discreet.storage.store_filters import FITS, Condition, filter_parameters
from discreet.storage.store_items import ITEM_COLUMNS, VISIBLE, Row, key_arrays

_OWNER_KEYS: LiteralString = (
    "ARRAY(SELECT user_key FROM discreet.person WHERE user_id >= %(low)s AND user_id < %(high)s)"
)

_OF_TEXT: LiteralString = "i.user_key = m.user_key AND i.item_key = (left(m.entry_id::text, 32) || '0000')::uuid"
"""Whether `i` is the item of text `m`: `namespaces.text_key_of` puts the number of the text into the last two bytes of
its key. So the covering index tells it, and the table need not be read."""

_NOT_EXPIRED: LiteralString = f"""
AND m.type = 'item' AND (
    NOT (SELECT EXISTS (
        SELECT FROM discreet.store_item WHERE user_key = ANY ({_OWNER_KEYS}) AND expires_at <= now()
    ))
    OR NOT coalesce((SELECT i.expires_at <= now() FROM discreet.store_item i WHERE {_OF_TEXT} LIMIT 1), false)
)
"""  # noqa: S608 - constants of ours
"""Items are looked up only where some have expired, and one by one: a plan made while the tables were empty would join,
and compare each text with each item."""

_FITTING: LiteralString = f"""
AND m.type = 'item' AND EXISTS (SELECT FROM discreet.store_item i WHERE {_OF_TEXT} AND {VISIBLE} AND {FITS} OFFSET 0)
"""
"""OFFSET 0 keeps the planner from joining here too."""

_AMONG: LiteralString = """
AND m.type = 'item' AND (m.user_key, (left(m.entry_id::text, 32) || '0000')::uuid) IN (
    SELECT * FROM unnest(%(user_keys)s::bigint[], %(item_keys)s::uuid[])
)
"""

_BEST_ITEMS: LiteralString = f""",
best AS MATERIALIZED (
    SELECT user_key, substring(uuid_send(entry_id), 1, 14) AS item, max(score) AS score
    FROM fused
    WHERE own > 0 OR cosine IS NOT NULL
    GROUP BY user_key, item
    ORDER BY score DESC, user_key, item
    LIMIT %(limit)s OFFSET %(offset)s
),
reach AS MATERIALIZED (
    SELECT max(cosine) AS nearest, max(own) AS most_words, max(score) AS best_score FROM fused
)
SELECT {ITEM_COLUMNS}, b.score, r.nearest, r.most_words, r.best_score
FROM best b
CROSS JOIN reach r
CROSS JOIN LATERAL (
    SELECT * FROM discreet.store_item s
    WHERE s.user_key = b.user_key AND s.item_key = (encode(b.item, 'hex') || '0000')::uuid
    LIMIT 1
) i
CROSS JOIN LATERAL (SELECT * FROM discreet.person o WHERE o.user_key = b.user_key LIMIT 1) p
ORDER BY b.score DESC, b.user_key, b.item
"""  # noqa: S608 - constants of ours
"""An item is as near as the nearest of its texts. Grouped by bytes: those of all texts as UUIDs took as long as the scan."""

LEAST_SHORTLIST = 100
"""Texts whose wide vectors are compared exactly, at least. See `search_sql`."""


@dataclass(frozen=True)
class StoreQuestion:
    """What is asked, ready to be compared."""

    vector: list[float]
    """Its embedding."""
    weights: Impacts
    """Of its words and marks."""
    own_score: float
    """The lexical score of a text that is the question itself."""


def question_of(text: str, vector: list[float], weights: Impacts) -> StoreQuestion:
    """Return the question `text`, given its embedding and the weights of what it asks for."""
    own, _ = impacts(token_ids(text))
    return StoreQuestion(vector, weights, sum(weights.get(token, 0.0) * impact for token, impact in own.items()))


def build_ranked(
    op: SearchOp,
    question: StoreQuestion,
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
        "question": sparse(question.weights),
        **FUSION_PARAMETERS,
        "limit": op.limit,
        "offset": op.offset,
    }
    which = _NOT_EXPIRED
    if among is not None:
        which, parameters = _AMONG, {**parameters, **key_arrays(among)}
    elif conditions:
        which, parameters = _FITTING, {**parameters, **filter_parameters(conditions)}
    ranking = build_ranking(
        owners=f"= ANY ({_OWNER_KEYS})",
        conditions=which,
        fusion=fusion,
        covered=space.covered,
        reranked=reranked_among(_shortlist(op.offset + op.limit)),
    )
    return Search(statement=ranking + _BEST_ITEMS, parameters=parameters)


def score_of(row: Row, question: StoreQuestion, space: EmbeddingSpace) -> float:
    """Return the score of a row of `build_ranked`, 0 to 1.

    What the fusion gives is good for an order within one search. So the best item has as score how near a text comes to
    the question, by meaning and by words, and the others are in proportion: scores of different questions can
    be compared, and the order stays.
    """
    similarity = 0.0 if row["nearest"] is None else space.calibration.similarity(row["nearest"])
    words = min(1.0, row["most_words"] / question.own_score) if question.own_score else similarity
    share: float = max(0.0, row["score"] / row["best_score"]) if row["best_score"] > 0 else 1.0
    return share * (LEXICAL_WEIGHT * words + (1 - LEXICAL_WEIGHT) * similarity)


def _shortlist(page_end: int) -> int:
    """Return a size that a page up to `page_end` fits into, one of few: each is a statement of its own."""
    shortlist = LEAST_SHORTLIST
    while shortlist < 4 * page_end:
        shortlist *= 2
    return shortlist
