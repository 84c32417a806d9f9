"""Vectors that a caller brings along, as they can be compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.errors import InvalidVectorError


def unit_vector(vector: Sequence[float], dims: int) -> list[float]:
    """Return `vector` at length 1: the inner product of two such is their cosine.

    >>> unit_vector([3e200, 4e200], 2)
    [0.6, 0.8]

    Raises:
        InvalidVectorError: It has not `dims` numbers, one of them is NaN or infinite, or all are 0.
    """
    try:
        numbers = np.asarray(vector, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidVectorError(f"The vector is no list of {dims} numbers. Nothing was stored.") from None
    if numbers.shape != (dims,):
        given = "x".join(map(str, numbers.shape))
        raise InvalidVectorError(
            f"The vector has {given} numbers, and those of this store have {dims}. Nothing was stored. Embed by the model of the "
            "store, or open the storage with yours: open_storage(embeddings=…)."
        )
    if not np.isfinite(numbers).all():
        raise InvalidVectorError(
            "The vector has a number that is NaN or infinite. Nothing was stored. Embed the text again, and look at what "
            "computed the vector."
        )
    largest = np.abs(numbers).max()
    if largest == 0:
        raise InvalidVectorError(
            "All numbers of the vector are 0, so it is near to nothing. Nothing was stored. Leave out what has no vector, or "
            "save it by memories, which embed it."
        )
    numbers = numbers / largest  # so that no square is infinite or 0
    unit: list[float] = (numbers / np.linalg.norm(numbers)).tolist()
    return unit
