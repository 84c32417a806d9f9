"""Fit the memory gate's weights: `python tools/gate_weights.py`, after a change of a tuning set, of the rules or of the local embedding.

Two fits, some GB and a few minutes. Kernel ridge regression over all labelled turns comes first; a turn is like another as far
as their embeddings, their words, and the kinds of the rounds before them are. The part of the words is linear and is
kept as it is. The part of the embeddings has a term for each turn, so a small network is fitted to it instead, on
the turns and on points between them: 0.3 MB for 3 MB, and the texts stay here.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.nodes.memory_gate import default_rules
from discreet.nodes.memory_gate.deciding import round_before
from discreet.nodes.memory_gate.rules import RuleBook
from discreet.nodes.memory_gate.scorer import BUCKETS, ROUNDS, WEIGHTS, Round, word_buckets
from discreet.nodes.memory_gate.text import without_accents
from discreet.ports import SpokenRound
from discreet.providers.local import local_embeddings
from discreet.retrieval.embedded_question import embedded_question

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "nodes" / "memory_gate" / WEIGHTS
SETS = ROOT / "benchmarks" / "gate_sets"
TUNING = ("tune.jsonl", "adversarial_tune.jsonl", "adversarial_tune_b.jsonl")

SHARPNESS, RIDGE, BIAS, WORDS_SHARE, OTHER_ROUND = 4.0, 0.3, 0.1, 0.2, 0.7
"""exp(4 (cosine - 1)) + 0.1 + 0.2 x the likeness of the words, times 0.7 where the rounds before differ, ridge 0.3."""

UNITS, POINTS, EPOCHS, BATCH, RATE = 384, 24_000, 20, 256, 3e-3

Floats = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class Row:
    """A labelled turn."""

    text: str
    retrieve: bool
    after: Round = "none"
    previous: SpokenRound | None = None


def written() -> Iterator[Row]:
    """Give those written for the gate; Vietnamese ones also as they are typed without accents."""
    for label, kinds in tomllib.loads((SETS / "written.toml").read_text(encoding="utf-8")).items():
        for table in kinds.values():
            for after in ROUNDS:
                languages = table if after == "none" else table.get(after, {})
                for language, texts in languages.items():
                    if language in ROUNDS:
                        continue
                    for text in texts:
                        yield Row(text, label == "retrieve", after)
                        if language == "vi":
                            yield Row(without_accents(text.casefold()), label == "retrieve", after)


def turns() -> Iterator[Row]:
    """Give the tuning sets."""
    for name in TUNING:
        for line in (SETS / name).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            before = row.get("previous")
            previous = SpokenRound(said=before["user"], answered=before["assistant"]) if before else None
            yield Row(row["text"], row["label"] == "retrieve", previous=previous)


class Kernel:
    """Kernel ridge regression over rows. Targets are 1 for retrieve, -1 for skip."""

    def __init__(self, rows: Sequence[Row], vectors: Floats) -> None:
        self.vectors = vectors
        self.rounds = np.array([ROUNDS.index(row.after) for row in rows])
        targets = np.array([1.0 if row.retrieve else -1.0 for row in rows], dtype=np.float32)
        self._rows, self.rarity = word_matrix([row.text for row in rows])
        self._mean = self._rows.mean(axis=0)
        centred = self._rows - self._mean
        centred = centred[:, centred.any(axis=0)]
        kernel = likeness(vectors, vectors) + np.float32(WORDS_SHARE) * (centred @ centred.T)
        kernel *= alike(self.rounds, self.rounds)
        kernel[np.diag_indices(len(kernel))] += RIDGE
        weights = np.linalg.solve(kernel, targets).astype(np.float32)
        self._counted = alike(np.arange(len(ROUNDS)), self.rounds) * weights

    def of_vectors(self, vectors: Floats) -> Floats:
        """Return the part of the score that embeddings make, a column for each of ROUNDS."""
        part: Floats = likeness(vectors, self.vectors) @ self._counted.T
        return part

    def of_words(self) -> tuple[Floats, Floats]:
        """Return the weights of the words, a row for each bucket, and what is added for the mean, both after each of ROUNDS."""
        words = WORDS_SHARE * (self._counted @ self._rows - self._counted.sum(axis=1)[:, None] * self._mean)
        return words.T, -(words @ self._mean)


def likeness(some: Floats, others: Floats) -> Floats:
    """Return how much each of `some` unit vectors is like each of `others`."""
    kernel: Floats = np.exp(np.float32(SHARPNESS) * (some @ others.T - 1)) + np.float32(BIAS)
    return kernel


def alike(some: np.ndarray[Any, Any], others: np.ndarray[Any, Any]) -> Floats:
    """Return how much each of `others` counts for each of `some`, as numbers in ROUNDS."""
    return np.where(some[:, None] == others, 1.0, OTHER_ROUND).astype(np.float32)


def word_matrix(texts: Sequence[str]) -> tuple[Floats, Floats]:
    """Return a row of unit length for each text over the buckets that occur twice, and the rarity of every bucket."""
    buckets = [word_buckets(text) for text in texts]
    count = np.bincount(np.concatenate(buckets), minlength=BUCKETS)
    rarity = np.where(count > 1, np.log(len(texts) / np.maximum(count, 1)), 0).astype(np.float32)
    rows = np.zeros((len(texts), BUCKETS), dtype=np.float32)
    for row, mine in zip(rows, buckets, strict=True):
        row[mine] = rarity[mine] / max(float(np.linalg.norm(rarity[mine])), 1e-6)
    return rows, rarity


class Network:
    """One hidden layer of rectified units, fitted to scores by Adam (Kingma and Ba, 2015)."""

    def __init__(self, vectors: Floats, scores: Floats) -> None:
        chance = np.random.default_rng(1)
        inputs, outputs = vectors.shape[1], scores.shape[1]
        self.hidden = chance.standard_normal((inputs, UNITS)).astype(np.float32) * np.float32(5 * (2 / inputs) ** 0.5)
        self.bias = np.zeros(UNITS, dtype=np.float32)
        self.heads = chance.standard_normal((UNITS, outputs)).astype(np.float32) * np.float32(0.3 / UNITS**0.5)
        self.constant = scores.mean(axis=0)
        parameters = [self.hidden, self.bias, self.heads, self.constant]
        means, squares = ([np.zeros_like(each) for each in parameters] for _ in range(2))
        rates = [5 * RATE, RATE, RATE, RATE]
        step, steps = 0, EPOCHS * (len(vectors) // BATCH)
        for _ in range(EPOCHS):
            order = chance.permutation(len(vectors))
            for start in range(0, len(vectors) - BATCH + 1, BATCH):
                step += 1
                batch = order[start : start + BATCH]
                units = np.maximum(vectors[batch] @ self.hidden + self.bias, 0)
                error = (units @ self.heads + self.constant - scores[batch]) / BATCH
                back = (error @ self.heads.T) * (units > 0)
                gradients = [vectors[batch].T @ back, back.sum(axis=0), units.T @ error, error.sum(axis=0)]
                pace = min(1.0, step / 100) * (1 - step / (steps + 1))
                for value, gradient, mean, square, rate in zip(
                    parameters, gradients, means, squares, rates, strict=True
                ):
                    mean[...] += 0.1 * (gradient - mean)
                    square[...] += 0.01 * (gradient * gradient - square)
                    value[...] -= rate * pace * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)

    def __call__(self, vectors: Floats) -> Floats:
        """Return the scores of unit vectors."""
        scores: Floats = np.maximum(vectors @ self.hidden + self.bias, 0) @ self.heads + self.constant
        return scores


def between(vectors: Floats) -> Floats:
    """Return the vectors, and points between pairs of them, most of them near to one of the two."""
    chance = np.random.default_rng(2)
    first, second = chance.integers(len(vectors), size=(2, POINTS - len(vectors)))
    share = chance.beta(0.5, 0.5, size=(len(first), 1)).astype(np.float32)
    points = share * vectors[first] + (1 - share) * vectors[second]
    points += 0.02 * chance.standard_normal(points.shape).astype(np.float32)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return np.concatenate([vectors, points])


def embed(rows: Sequence[Row]) -> Floats:
    """Return the embeddings of messages as the gate makes them."""
    embeddings = local_embeddings()
    return np.array([embeddings.embed_query(embedded_question(row.text)) for row in rows], dtype=np.float32)


def labelled(rows: Sequence[Row], vectors: Floats) -> list[Row]:
    """Return the rows with the kind of the round before: of its message what rules say, or the half of the rows that have none."""
    some = [i for i, row in enumerate(rows) if row.previous is None][::2]
    half = Kernel([rows[i] for i in some], vectors[some])
    book = RuleBook(default_rules())

    def scored(text: str, _after: Round) -> float:
        return float(half.of_vectors(embed([Row(text, retrieve=True)]))[0, 0])

    return [
        Row(row.text, row.retrieve, round_before(row.previous, book, scored)) if row.previous else row for row in rows
    ]


def unique(rows: Sequence[Row]) -> list[Row]:
    """Return the last of those with one text after one round."""
    return list({(row.text.casefold(), row.after, row.previous): row for row in rows}.values())


def main() -> None:
    """Fit and write."""
    rows = unique([*written(), *turns()])
    vectors = embed(rows)
    rows = labelled(rows, vectors)
    kernel = Kernel(rows, vectors)
    points = between(vectors)
    scores = np.concatenate([kernel.of_vectors(part) for part in np.array_split(points, 40)])
    network = Network(points, scores)
    error = network(vectors) - kernel.of_vectors(vectors)
    words, constant = kernel.of_words()
    stored: dict[str, Any] = {}
    for name, values, most in (("hidden", network.hidden, 127), ("words", words, 127), ("rarity", kernel.rarity, 255)):
        scale = np.abs(values).max(axis=0) / most
        stored[f"{name}_scale"] = np.float32(scale)
        stored[name] = np.rint(values / scale).astype(np.uint8 if most > 127 else np.int8).T
    np.savez_compressed(
        TARGET,
        embedding=local_embeddings().name,
        bias=network.bias,
        heads=network.heads.astype(np.float16),
        constant=(network.constant + constant).astype(np.float32),
        **stored,
    )
    print(f"{TARGET}: {len(rows)} turns, {TARGET.stat().st_size / 1e3:.0f} kB, network off by {error.std():.3f}")


if __name__ == "__main__":
    main()
