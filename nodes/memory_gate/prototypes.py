"""Labelled prototypes: what no rule decides is decided by what it is like."""

from __future__ import annotations

import hashlib
import io
import logging
import threading
import time
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError
from discreet.metrics import gate_failures
from discreet.nodes.memory_gate.decision import UNSURE, GateDecision
from discreet.nodes.memory_gate.likeness import WordScore, embedding_kernel, fit_vectors
from discreet.nodes.memory_gate.text import without_accents
from discreet.providers.local import LocalEmbeddings, local_embeddings

if TYPE_CHECKING:
    from discreet.nodes.memory_gate.likeness import Floats

logger = logging.getLogger(__name__)

VECTORS = "prototypes.npz"
"""Vectors of the prototypes that ship, made by tools/gate_vectors.py."""

TEXTS = ("prototypes.toml", "turns.toml")
"""Those written for the gate, and the tuning sets of benchmarks/gate.py, which tools/gate_vectors.py copies."""

SKIP_BELOW, RETRIEVE_ABOVE, OVERRULE_ABOVE = -0.15, 0.05, 0.1
"""Scores: 1 is what needs memory, -1 what does not. Between the first two a message is unsure, and retrieves; above the third
it retrieves although a rule that may be overruled would skip it."""

NEAREST, MANY = 15, 100
"""Prototypes that name the kind of a message: 15 with its label, of the 100 nearest."""

MAX_REMEMBERED = 10_000
"""Messages whose decision a process knows again when they are the round before, by their digest: 1 MB."""


@dataclass(frozen=True)
class Prototype:
    """What somebody might say, its kind, and whether it needs memory."""

    text: str
    retrieve: bool
    kind: str


def load_prototypes(text: str) -> tuple[Prototype, ...]:
    """Read prototypes from TOML: tables `[retrieve.<kind>]` and `[skip.<kind>]` with a list of texts for each language.

    A Vietnamese text is also taken as it is typed without accents.
    """
    found = {
        said: Prototype(text=said, retrieve=label == "retrieve", kind=kind)
        for label, kinds in tomllib.loads(text).items()
        for kind, languages in kinds.items()
        for language, texts in languages.items()
        for text in texts
        for said in ((without_accents(text.casefold()), text) if language == "vi" else (text,))
    }
    return tuple({prototype.text.casefold(): prototype for prototype in found.values()}.values())


@cache
def default_prototypes() -> tuple[Prototype, ...]:
    """Return the prototypes that ship: English, Vietnamese, Russian and Chinese."""
    here = files(__package__)
    both = (load_prototypes(here.joinpath(name).read_text(encoding="utf-8")) for name in TEXTS)
    return tuple({prototype.text.casefold(): prototype for prototypes in both for prototype in prototypes}.values())


def digests(texts: Iterable[str]) -> list[str]:
    """Return for each text what tells whether its stored vector is still its own."""
    return [hashlib.blake2b(text.encode(), digest_size=8).hexdigest() for text in texts]


class Neighbours:
    """Prototypes with their vectors and weights, read, and made where they are missing, at first use. Thread-safe."""

    def __init__(self, prototypes: Sequence[Prototype], *, embeddings: LocalEmbeddings | None = None) -> None:
        self._prototypes = tuple(prototypes)
        self._embeddings = embeddings or local_embeddings()
        self._lock = threading.Lock()
        self._fitted: Fitted | None = None
        self._warned = False
        self._decided: dict[str, GateDecision] = {}

    def decide(self, text: str) -> GateDecision:
        """Return what `text` is like; unsure if that is both or neither, or the embedding fails."""
        found = self._score(text)
        if found is None or SKIP_BELOW <= found[0] <= RETRIEVE_ABOVE:
            return self._remember(text, UNSURE)
        score, likeness = found
        kind = self._kind(likeness, retrieve=score > 0)
        return self._remember(text, GateDecision(retrieve=score > 0, reason=f"like_{kind}"))

    def overrule(self, text: str) -> GateDecision | None:
        """Return what `text` is like if that clearly needs memory, else None."""
        found = self._score(text)
        if found is None or found[0] <= OVERRULE_ABOVE:
            return None
        kind = self._kind(found[1], retrieve=True)
        return self._remember(text, GateDecision(retrieve=True, reason=f"like_{kind}"))

    def remembered(self, text: str) -> GateDecision | None:
        """Return what was decided about `text`, one of the last that were asked about; None if it was not."""
        (key,) = digests([text])
        return self._decided.get(key)

    def _remember(self, text: str, decision: GateDecision) -> GateDecision:
        (key,) = digests([text])
        with self._lock:
            self._decided[key] = decision
            if len(self._decided) > MAX_REMEMBERED:
                del self._decided[next(iter(self._decided))]
        return decision

    def fitted(self) -> Fitted:
        """Return the prototypes' vectors, a row each, and their weights."""
        with self._lock:
            if self._fitted is None:
                self._fitted = self._fit()
            return self._fitted

    def _score(self, text: str) -> tuple[float, Floats] | None:
        """Return the score of `text` and its likeness to each prototype, None if the embedding fails."""
        import numpy as np  # noqa: PLC0415  # importing this module must stay cheap

        try:
            vector = np.asarray(self._embeddings.embed_query(text), dtype=np.float32)
            fitted = self.fitted()
        except (
            DiscreetError,
            ImportError,
            OSError,
            RuntimeError,
            ValueError,
        ) as error:  # ctypes and numpy raise the last three
            self._report(error)
            return None
        likeness = embedding_kernel(vector, fitted.vectors)
        words = fitted.words.of(text) if fitted.words else 0.0
        return float(likeness @ fitted.weights) + words, likeness

    def _kind(self, likeness: Floats, *, retrieve: bool) -> str:
        """Return the kind of most of the nearest prototypes with this label."""
        kinds: dict[str, float] = {}
        order = (-likeness).argpartition(min(MANY, len(likeness) - 1))[:MANY]
        mine = [i for i in order.tolist() if self._prototypes[i].retrieve == retrieve]
        for i in sorted(mine, key=likeness.__getitem__, reverse=True)[:NEAREST]:
            kind = self._prototypes[i].kind
            kinds[kind] = kinds.get(kind, 0.0) + float(likeness[i]) ** 2
        return max(kinds, key=kinds.__getitem__, default="neither")

    def _fit(self) -> Fitted:
        import numpy as np  # noqa: PLC0415  # as above

        stored = read_stored(self._embeddings.name)
        wanted = digests(prototype.text for prototype in self._prototypes)
        started, missing, rows = time.perf_counter(), 0, []
        for key, prototype in zip(wanted, self._prototypes, strict=True):
            row = stored.vectors.get(key)
            if row is None:
                row = np.asarray(self._embeddings.embed_query(prototype.text), dtype=np.float32)
                missing += 1
            rows.append(row)
        vectors = np.array(rows, dtype=np.float32)
        targets = np.array([1.0 if prototype.retrieve else -1.0 for prototype in self._prototypes], dtype=np.float32)
        whole = stored.words is not None and stored.weights.keys() <= set(wanted)
        fitted = (
            self._extend(stored, wanted, vectors, targets) if whole else Fitted(vectors, fit_vectors(vectors, targets))
        )
        if missing:
            logger.info("gate_prototypes_embedded count=%d seconds=%.1f", missing, time.perf_counter() - started)
        return fitted

    def _extend(self, stored: Stored, wanted: Sequence[str], vectors: Floats, targets: Floats) -> Fitted:
        """Take the weights that ship, and fit other prototypes to what those leave over: a whole fit takes seconds."""
        import numpy as np  # noqa: PLC0415  # as above

        weights = np.array([stored.weights.get(key, 0.0) for key in wanted], dtype=np.float32)
        own = np.flatnonzero([key not in stored.weights for key in wanted])
        if len(own):
            left = targets[own] - embedding_kernel(vectors[own], vectors) @ weights
            if stored.words is not None:
                left = left - np.array([stored.words.of(self._prototypes[i].text) for i in own], dtype=np.float32)
            weights[own] = fit_vectors(vectors[own], left)
        return Fitted(vectors, weights, stored.words)

    def _report(self, error: Exception) -> None:
        cause = type(error).__name__
        gate_failures.labels("embedding", cause).inc()
        level = logging.DEBUG if self._warned else logging.WARNING  # where there is no local model it fails every turn
        self._warned = True
        logger.log(level, "gate_embedding_failed cause=%s", cause)


@dataclass(frozen=True)
class Fitted:
    """Vectors of prototypes, a row each, with their weights."""

    vectors: Floats
    weights: Floats
    words: WordScore | None = None


@dataclass(frozen=True)
class Stored:
    """What ships: vectors and weights by the digest of their text, and the score of words."""

    vectors: dict[str, Floats]
    weights: dict[str, float]
    words: WordScore | None


def read_stored(name: str) -> Stored:
    """Return what ships; nothing if another embedding than `name` made it."""
    import numpy as np  # noqa: PLC0415  # as above

    with np.load(io.BytesIO(files(__package__).joinpath(VECTORS).read_bytes()), allow_pickle=False) as stored:
        if str(stored["name"]) != name:
            return Stored({}, {}, None)
        keys = stored["digests"].tolist()
        vectors = stored["vectors"].astype(np.float32) * stored["scales"][:, None]
        words = WordScore(
            stored["words"].astype(np.float32), stored["rarity"].astype(np.float32), float(stored["constant"])
        )
        weights = dict(zip(keys, stored["weights"].tolist(), strict=True))
        return Stored(dict(zip(keys, vectors, strict=True)), weights, words)
