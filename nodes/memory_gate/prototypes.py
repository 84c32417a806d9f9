"""Labelled prototypes: what no rule decides is decided by what it is like."""

from __future__ import annotations

import hashlib
import io
import logging
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.metrics import gate_failures
from discreet.nodes.memory_gate.decision import UNSURE, GateDecision
from discreet.providers.local import LocalEmbeddings, local_embeddings

if TYPE_CHECKING:
    import numpy as np

    Vectors = np.ndarray[Any, np.dtype[np.float32]]

logger = logging.getLogger(__name__)

VECTORS = "prototypes.npz"
"""Vectors of the prototypes that ship, made by tools/gate_vectors.py."""

NEIGHBOURS = 15
SHARPNESS = 10.0
SKIP_SHARE = 0.65
"""A prototype weighs exp(10 x cosine), and a message is skipped when .65 of the weight of the 15 nearest says so.
Chosen on the tuning set of benchmarks/gate.py among k-nearest votes (5 to 25), logistic and kernel ridge regression: of
148 messages that no rule decides this is right about 93 % and retrieves 99 % of those that need memory; logistic
regression at the same recall is right about 73 %, since it draws one line where the kinds are many small clusters."""


@dataclass(frozen=True)
class Prototype:
    """What somebody might say, its kind, and whether it needs memory."""

    text: str
    retrieve: bool
    kind: str


def load_prototypes(text: str) -> tuple[Prototype, ...]:
    """Read prototypes from TOML: tables `[retrieve.<kind>]` and `[skip.<kind>]` with a list of texts for each language."""
    return tuple(
        Prototype(text=said, retrieve=label == "retrieve", kind=kind)
        for label, kinds in tomllib.loads(text).items()
        for kind, languages in kinds.items()
        for texts in languages.values()
        for said in texts
    )


@cache
def default_prototypes() -> tuple[Prototype, ...]:
    """Return the prototypes that ship: English, Vietnamese, Russian and Chinese."""
    return load_prototypes(files(__package__).joinpath("prototypes.toml").read_text(encoding="utf-8"))


def digests(texts: Iterable[str]) -> list[str]:
    """Return for each text what tells whether its stored vector is still its own."""
    return [hashlib.blake2b(text.encode(), digest_size=8).hexdigest() for text in texts]


class Neighbours:
    """Prototypes with their vectors, which are read, and made where they are missing, at first use. Thread-safe."""

    def __init__(self, prototypes: Sequence[Prototype], *, embeddings: LocalEmbeddings | None = None) -> None:
        self._prototypes = tuple(prototypes)
        self._embeddings = embeddings or local_embeddings()
        self._lock = threading.Lock()
        self._vectors: Vectors | None = None
        self._warned = False

    def decide(self, text: str) -> GateDecision:
        """Return what the prototypes nearest to `text` say; unsure if they disagree or the embedding fails."""
        try:
            return self._vote(self._embeddings.embed_query(text))
        except (
            DiscreetError,
            ImportError,
            OSError,
            RuntimeError,
            ValueError,
        ) as error:  # ctypes and numpy raise the last three
            self._report(error)
            return UNSURE

    def _vote(self, vector: Sequence[float]) -> GateDecision:
        import numpy as np  # noqa: PLC0415  # importing this module must stay cheap

        cosines = self.vectors() @ np.asarray(vector, dtype=np.float32)
        nearest = np.argsort(-cosines)[:NEIGHBOURS]
        weights: Counter[Prototype] = Counter()
        for i in nearest:
            weights[self._prototypes[i]] += float(np.exp(SHARPNESS * cosines[i]))  # type: ignore[assignment]  # Counter's values are int in its types only
        skip = sum(w for p, w in weights.items() if not p.retrieve) / sum(weights.values())
        if 1 - SKIP_SHARE < skip < SKIP_SHARE:
            return UNSURE
        kinds: Counter[str] = Counter()
        for prototype, weight in weights.items():
            if prototype.retrieve == (skip < SKIP_SHARE):
                kinds[prototype.kind] += weight
        return GateDecision(retrieve=skip < SKIP_SHARE, reason=f"like_{kinds.most_common(1)[0][0]}")

    def vectors(self) -> Vectors:
        """Return the prototypes' vectors, a row each."""
        with self._lock:
            if self._vectors is None:
                self._vectors = self._load()
            return self._vectors

    def _load(self) -> Vectors:
        import numpy as np  # noqa: PLC0415  # as above

        known = stored_vectors(self._embeddings.name)
        wanted = digests(prototype.text for prototype in self._prototypes)
        started, missing = time.perf_counter(), 0
        for key, prototype in zip(wanted, self._prototypes, strict=True):
            if key not in known:
                known[key] = np.asarray(self._embeddings.embed_query(prototype.text), dtype=np.float32)
                missing += 1
        if missing:
            logger.info("gate_prototypes_embedded count=%d seconds=%.1f", missing, time.perf_counter() - started)
        return np.array([known[key] for key in wanted], dtype=np.float32)

    def _report(self, error: Exception) -> None:
        cause = type(error).__name__
        gate_failures.labels("embedding", cause).inc()
        level = logging.DEBUG if self._warned else logging.WARNING  # where there is no local model it fails every turn
        self._warned = True
        logger.log(level, "gate_embedding_failed cause=%s", cause)


def stored_vectors(name: str) -> dict[str, Vectors]:
    """Return the vectors that ship by the digest of their text; none if another embedding than `name` made them."""
    import numpy as np  # noqa: PLC0415  # as above

    with np.load(io.BytesIO(files(__package__).joinpath(VECTORS).read_bytes()), allow_pickle=False) as stored:
        if str(stored["name"]) != name:
            return {}
        return dict(zip(stored["digests"].tolist(), stored["vectors"].astype(np.float32), strict=True))
