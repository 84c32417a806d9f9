"""Rank the items of the store that a question asks for, by meaning and by words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from langgraph.store.base import SearchOp

from discreet.retrieval.fusion import FUSIONS, LEXICAL_WEIGHT, Fusion
from discreet.retrieval.lexical import Impacts, TokenDigest, impacts, token_ids
from discreet.storage.memories.rows import Vectors
from discreet.storage.memories.search import FARNESS, LEAST_OR_SHARE, SCORES, SHARE, Search, question_parameters
from discreet.storage.memories.spaces.spaces import EmbeddingSpace
from discreet.storage.store.filters import FITS, Condition, filter_parameters
from discreet.storage.store.items import VISIBLE

_NOT_EXPIRED: LiteralString = """
AND m.type = 'item' AND (
    NOT (SELECT EXISTS (SELECT 1 FROM discreet.store_item WHERE user_key {owners} AND expires_at <= now()))
    OR NOT EXISTS (SELECT FROM discreet.store_item i WHERE {of_text} AND i.expires_at <= now() {apart})
)
"""
"""Items are looked up only where some have expired, and one by one: a plan made while the tables were empty would join,
and compare each text with each item. A column, even here: a cluster can't hand on a result without any."""

_FITTING: LiteralString = """
AND m.type = 'item' AND EXISTS (SELECT FROM discreet.store_item i WHERE {of_text} AND {visible} AND {fits} {apart})
"""

_AMONG: LiteralString = """
AND m.type = 'item' AND (m.user_key, (left(m.entry_id::text, 32) || '0000')::uuid) IN (
    SELECT * FROM unnest(%(among)s::uuid[], %(item_keys)s::uuid[])
)
"""

_CANDIDATES: LiteralString = """
WITH near AS (
    SELECT m.user_key, m.entry_id
    FROM discreet.memory m
    WHERE m.user_key {owners}
      {conditions}
    ORDER BY {farness}
    LIMIT {shortlist}
),
candidates AS (
    SELECT m.user_key, m.entry_id, {scores}
    FROM near s {exactly}
),
"""

_LOOKED_UP: LiteralString = """
    CROSS JOIN LATERAL (
        SELECT * FROM discreet.memory w WHERE w.user_key {same_user} AND w.entry_id = s.entry_id LIMIT 1
    ) m"""
"""One by one, whatever the planner believes of their number."""

_BEST_ITEMS: LiteralString = """,
best AS MATERIALIZED (
    SELECT user_key, substring(uuid_send(entry_id), 1, 14) AS item, max(score) AS score
    FROM fused
    WHERE own > 0 OR cosine IS NOT NULL
    GROUP BY user_key, item
    ORDER BY score DESC, user_key, item
    LIMIT %(limit)s OFFSET %(offset)s
),
reach AS MATERIALIZED (
    SELECT max(cosine) AS nearest, max(own) AS most_words, max(score) AS best_score, count(*) AS compared FROM fused
)
SELECT b.user_key, (encode(b.item, 'hex') || '0000')::uuid AS item_key, b.score,
    r.nearest, r.most_words, r.best_score, r.compared
FROM reach r
LEFT JOIN best b ON true
ORDER BY b.score DESC, b.user_key, b.item
"""
"""An item is as near as the nearest of its texts. Grouped by bytes: those of all texts as UUIDs took as long as the scan."""


@dataclass(frozen=True)
class _Scope:
    """Whose rows a search reads, in the words of its statement."""

    owners: LiteralString
    """What a user_key is."""
    of_text: LiteralString
    """Whether `i` is the item of text `m`: `namespaces.text_key_of` puts the number of the text into the last two bytes of
    its key. So the covering index tells it, and the table need not be read."""
    shortlist: LiteralString
    """How many are compared exactly. A cluster takes no subquery for that from those who ask several nodes."""
    exactly: LiteralString
    """How rows `m` are found that are compared exactly, those of `s`."""
    apart: LiteralString
    """Keeps the planner from joining."""


_ITEM: LiteralString = "i.item_key = (left(m.entry_id::text, 32) || '0000')::uuid"
_OF_SEVERAL: LiteralString = "= ANY (%(user_keys)s::uuid[])"
_ITEM_OF_SEVERAL: LiteralString = f"i.user_key = m.user_key AND {_ITEM}"
_ONE = _Scope(
    "= %(user_key)s",
    f"i.user_key = %(user_key)s AND {_ITEM}",
    LEAST_OR_SHARE.format(least="%(shortlist)s::bigint", share=SHARE),
    _LOOKED_UP.format(same_user="= %(user_key)s"),
    "OFFSET 0",
)
_SEVERAL = _Scope(
    _OF_SEVERAL, _ITEM_OF_SEVERAL, "%(shortlist)s::bigint", _LOOKED_UP.format(same_user="= s.user_key"), "OFFSET 0"
)
_ON_SEVERAL_NODES = _Scope(
    _OF_SEVERAL, _ITEM_OF_SEVERAL, "%(shortlist)s::bigint", "JOIN discreet.memory m USING (user_key, entry_id)", ""
)
"""A cluster looks nothing up on other nodes, it joins."""


@dataclass(frozen=True)
class StoreQuestion:
    """What is asked, ready to be compared."""

    vector: Vectors
    """Its embedding."""
    weights: Impacts
    """Of its words and marks."""
    own_score: float
    """The lexical score of a text that is the question itself."""


def question_of(text: str, vector: Vectors, weights: Impacts, words: TokenDigest) -> StoreQuestion:
    """Return the question `text`, given its embedding and the weights of what it asks for."""
    own = impacts(token_ids(text, words))
    return StoreQuestion(vector, weights, sum(weights.get(token, 0.0) * impact for token, impact in own.items()))


def build_ranked(
    op: SearchOp,
    namespaces: Sequence[UUID],
    question: StoreQuestion,
    space: EmbeddingSpace,
    fusion: Fusion,
    *,
    conditions: list[Condition],
    among: Sequence[tuple[UUID, UUID]] | None = None,
    shortlist: int,
    on_cluster: bool = False,
) -> Search:
    """Return the statement that finds the page of items that `op` asks for in these namespaces.

    They fit `conditions`, or are `among` those given by the keys of their namespace and their own. Its rows have user_key,
    item_key, how many texts were compared, at most `shortlist`, and what `score_of` needs; of an empty page there is one without keys.
    """
    several = _ON_SEVERAL_NODES if on_cluster else _SEVERAL
    scope = _ONE if len(namespaces) == 1 else several
    parameters: dict[str, Any] = {
        "user_key": namespaces[0],
        "user_keys": list(namespaces),
        **question_parameters(question.vector, question.weights, space),
        "limit": op.limit,
        "offset": op.offset,
        "shortlist": shortlist,
    }
    words = {"owners": scope.owners, "of_text": scope.of_text, "apart": scope.apart}
    which = _NOT_EXPIRED.format(**words)
    if among is not None:
        which, parameters = _AMONG, {**parameters, "among": [user_key for user_key, _ in among]}
        parameters["item_keys"] = [item_key for _, item_key in among]
    elif conditions:
        which = _FITTING.format(visible=VISIBLE, fits=FITS, **words)
        parameters |= filter_parameters(conditions)
    candidates = _CANDIDATES.format(
        owners=scope.owners,
        shortlist=scope.shortlist,
        exactly=scope.exactly,
        conditions=which,
        farness=FARNESS,
        scores=SCORES,
    )
    return Search(statement=candidates + FUSIONS[fusion].strip() + _BEST_ITEMS, parameters=parameters)


def score_of(row: Mapping[str, Any], question: StoreQuestion, space: EmbeddingSpace) -> float:
    """Return the score of a row of `build_ranked`, 0 to 1.

    What the fusion gives is good for an order within one search. So the best item has as score how near a text comes to
    the question, by meaning and by words, and the others are in proportion: scores of different questions can
    be compared, and the order stays.
    """
    similarity = 0.0 if row["nearest"] is None else space.calibration.similarity(row["nearest"])
    words = min(1.0, row["most_words"] / question.own_score) if question.own_score else similarity
    share: float = max(0.0, row["score"] / row["best_score"]) if row["best_score"] > 0 else 1.0
    return share * (LEXICAL_WEIGHT * words + (1 - LEXICAL_WEIGHT) * similarity)
