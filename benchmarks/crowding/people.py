"""Many users of equal size and a large one, in one database of ours."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from racing.contestant import settle
from racing.meeting import progress
from racing.ours import Ours, copied
from racing.people import Lookup, Question, make_person, make_questions

COPIES = 20
"""Users of whom each has the same texts and vectors, in rows of their own: what takes long is to make the texts."""


@dataclass(frozen=True)
class Size:
    """How many there are."""

    users: int
    memories: int
    """Of each of them."""
    large: int
    """Memories of the large user."""
    dims: int


@dataclass(frozen=True)
class Crowd:
    """What is asked of the database that they are in."""

    size: Size
    embeddings: Lookup
    questions: list[Question]
    """One of each user, in no order."""
    large: list[Question]
    """Of the large one."""


async def fill_crowd(dsn: str, size: Size, *, asked_of_large: int) -> Crowd:
    """Fill the database and leave nothing to autovacuum."""
    embeddings = Lookup(size.dims)
    copies = min(COPIES, size.users)
    originals = [make_person(n, memories=size.memories, dims=size.dims) for n in range(size.users // copies)]
    large = make_person(size.users, memories=size.large, dims=size.dims)
    progress(f"loading {len(originals):,} users of {size.memories:,} memories")
    await Ours().load(dsn, originals, size.dims)
    progress(f"{copies} times as many")
    await Ours().multiply(dsn, originals, copies)
    progress(f"loading one of {size.large:,}")
    await Ours().load(dsn, [large], size.dims)
    await settle(dsn)
    asked = [question for person in originals for question in make_questions(person, 1, embeddings)]
    asked += [replace(q, user_id=copied(q.user_id, n)) for n in range(1, copies) for q in asked[: len(originals)]]
    order = np.random.default_rng(0).permutation(len(asked))
    return Crowd(size, embeddings, [asked[n] for n in order], make_questions(large, asked_of_large, embeddings))
