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
from itertools import chain
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError
from discreet.metrics import gate_failures
from discreet.nodes.memory_gate.decision import UNSURE, GateDecision
from discreet.nodes.memory_gate.likeness import ROUNDS, Round, WordScore, embedding_kernel, fit_vectors, round_kernel
from discreet.nodes.memory_gate.text import without_accents
from discreet.providers.local import LocalEmbeddings, local_embeddings
from discreet.retrieval.embedded_question import embedded_question

if TYPE_CHECKING:
    from discreet.nodes.memory_gate.likeness import Floats

logger = logging.getLogger(__name__)

VECTORS = "prototypes.npz"
"""Vectors of the prototypes that ship, made by tools/gate_vectors.py."""

TEXTS = ("prototypes.toml", "turns.toml")
"""Those written for the gate, and the tuning sets of benchmarks/gate.py, which tools/gate_vectors.py copies."""

SKIP_BELOW, RETRIEVE_ABOVE = -0.15, 0.05
OVERRULE_ABOVE = 0.1
"""Scores: 1 is what needs memory, -1 what does not. Between the first two a message is unsure, and retrieves; above the third the
score overrules a weak rule that skips."""

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
    after: Round = "none"
    """The round before it."""

    @property
    def key(self) -> tuple[str, Round]:
        """What no two of them share."""
        return self.text.casefold(), self.after


def load_prototypes(text: str) -> tuple[Prototype, ...]:
    """Read prototypes from TOML: tables `[retrieve.<kind>]` and `[skip.<kind>]` with a list of texts for each language.

    `[retrieve.<kind>.<round>]` has those that are said after such a round. A Vietnamese text is also taken as it is typed
    without accents.
    """
    found = [
        Prototype(text=said, retrieve=label == "retrieve", kind=kind, after=after)
        for label, kinds in tomllib.loads(text).items()
        for kind, table in kinds.items()
        for after in ROUNDS
        for language, texts in (table if after == "none" else table.get(after, {})).items()
        if language not in ROUNDS
        for text in texts
        for said in ((without_accents(text.casefold()), text) if language == "vi" else (text,))
    ]
    return _once(found)


def _once(prototypes: Iterable[Prototype]) -> tuple[Prototype, ...]:
    """Return the last of those with one key."""
    return tuple({prototype.key: prototype for prototype in prototypes}.values())


@cache
def default_prototypes() -> tuple[Prototype, ...]:
    """Return the prototypes that ship: English, Vietnamese, Russian and Chinese."""
    here = files(__package__)
    both = (load_prototypes(here.joinpath(name).read_text(encoding="utf-8")) for name in TEXTS)
    return _once(chain.from_iterable(both))


def digests(texts: Iterable[str]) -> list[str]:
    """Return for each text what tells whether its stored vector is still its own."""
    return [hashlib.blake2b(text.encode(), digest_size=8).hexdigest() for text in texts]


def keys_of(prototypes: Iterable[Prototype]) -> list[str]:
    """Return for each prototype the digest that its stored weight has."""
    return digests(p.text if p.after == "none" else f"{p.after}\n{p.text}" for p in prototypes)


class Neighbours:
    """Prototypes with their vectors and weights, read, and made where they are missing, at first use. Thread-safe."""

    def __init__(self, prototypes: Sequence[Prototype], *, embeddings: LocalEmbeddings | None = None) -> None:
        self._prototypes = tuple(prototypes)
        self._rounds = [prototype.after for prototype in self._prototypes]
        self._embeddings = embeddings or local_embeddings()
        self._lock = threading.Lock()
        self._fitted: Fitted | None = None
        self._warned = False
        self._decided: dict[str, GateDecision] = {}

    def decide(self, text: str, after: Round = "none") -> GateDecision:
        """Return what `text` is like after such a round; unsure if that is both or neither, or the embedding fails."""
        found = self._score(text, after)
        if found is None or SKIP_BELOW <= found[0] <= RETRIEVE_ABOVE:
            return self._remember(text, UNSURE)
        return self._like(text, *found)

    def overrule(self, text: str, after: Round = "none") -> GateDecision | None:
        """Return what `text` is like if that clearly needs memory, else None."""
        found = self._score(text, after)
        return self._like(text, *found) if found is not None and found[0] > OVERRULE_ABOVE else None

    def _like(self, text: str, score: float, likeness: Floats) -> GateDecision:
        kind = self._kind(likeness, retrieve=score > 0)
        return self._remember(text, GateDecision(retrieve=score > 0, reason=f"like_{kind}"))

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
        """Return the prototypes' vectors and weights."""
        with self._lock:
            if self._fitted is None:
                self._fitted = self._fit()
            return self._fitted

    def _score(self, text: str, after: Round) -> tuple[float, Floats] | None:
        """Return the score of `text` and its likeness to each prototype, None if the embedding fails."""
        import numpy as np  # importing this module must stay cheap

        try:
            vector = np.asarray(self._embeddings.embed_query(embedded_question(text)), dtype=np.float32)
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
        words = fitted.words.of(text, after) if fitted.words else 0.0
        return float(likeness @ fitted.weights[ROUNDS.index(after)]) + words, likeness

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
        import numpy as np

        stored = read_stored(self._embeddings.name)
        wanted = keys_of(self._prototypes)
        started, missing, rows = time.perf_counter(), 0, []
        for key, prototype in zip(wanted, self._prototypes, strict=True):
            row = stored.vectors.get(key)
            if row is None:
                row = np.asarray(self._embeddings.embed_query(embedded_question(prototype.text)), dtype=np.float32)
                missing += 1
            rows.append(row)
        vectors = np.array(rows, dtype=np.float32)
        targets = np.array([1.0 if prototype.retrieve else -1.0 for prototype in self._prototypes], dtype=np.float32)
        whole = stored.words is not None and stored.weights.keys() <= set(wanted)
        if whole:
            weights, words = self._extend(stored, wanted, vectors, targets), stored.words
        else:
            weights, words = fit_vectors(vectors, targets, self._rounds), None
        fitted = Fitted(vectors, round_kernel(ROUNDS, self._rounds) * weights, words)
        if missing:
            logger.info("gate_prototypes_embedded count=%d seconds=%.1f", missing, time.perf_counter() - started)
        return fitted

    def _extend(self, stored: Stored, wanted: Sequence[str], vectors: Floats, targets: Floats) -> Floats:
        """Take the weights that ship, and fit other prototypes to what those leave over: a whole fit takes seconds."""
        import numpy as np

        weights = np.array([stored.weights.get(key, 0.0) for key in wanted], dtype=np.float32)
        own = np.flatnonzero([key not in stored.weights for key in wanted])
        if len(own):
            mine = [self._prototypes[i] for i in own]
            rounds = [prototype.after for prototype in mine]
            likeness = embedding_kernel(vectors[own], vectors) * round_kernel(rounds, self._rounds)
            left = (targets[own] - likeness @ weights).astype(np.float32)
            if stored.words is not None:
                left = left - np.array([stored.words.of(p.text, p.after) for p in mine], dtype=np.float32)
            weights[own] = fit_vectors(vectors[own], left, rounds)
        return weights

    def _report(self, error: Exception) -> None:
        cause = type(error).__name__
        gate_failures.labels("embedding", cause).inc()
        level = logging.DEBUG if self._warned else logging.WARNING  # where there is no local model it fails every turn
        self._warned = True
        logger.log(level, "gate_embedding_failed cause=%s", cause)


@dataclass(frozen=True)
class Fitted:
    """Vectors of prototypes, a row each, with their weights, a row for each of ROUNDS."""

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
    import numpy as np

    with np.load(io.BytesIO(files(__package__).joinpath(VECTORS).read_bytes()), allow_pickle=False) as stored:
        if str(stored["name"]) != name:
            return Stored({}, {}, None)
        keys = stored["digests"].tolist()
        vectors = stored["vectors"].astype(np.float32) * stored["scales"][:, None]
        words = WordScore(stored["words"].astype(np.float32), stored["rarity"].astype(np.float32), stored["constant"])
        weights = dict(zip(keys, stored["weights"].tolist(), strict=True))
        return Stored(dict(zip(keys, vectors, strict=True)), weights, words)
