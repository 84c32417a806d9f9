"""Where an embedding model's cosines lie, and the calibration that follows: `python benchmarks/embedding_calibration.py [NAME]`.

NAME is `provider:model` as in DISCREET_EMBEDDING_MODEL (default: `local`). For each language and for all together it
prints the quartiles of the cosine between a fact and its paraphrase, its answerless neighbour, other facts, and the
questions. Then it looks for the cosine that parts answers from other texts best and gives the line on which that
cosine is 0.6 and the same text is 1. Data: embedding_calibration.toml, 20 facts in each of four languages.
"""

from __future__ import annotations

import sys
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from discreet.ports import EmbeddingProvider
from discreet.providers import embedding_provider

DATA = Path(__file__).with_suffix(".toml")
ABOUT_THE_SAME = 0.6
"""Where the best separator goes on the common scale; the default of DISCREET_RETRIEVE_THRESHOLD."""

Rows = Sequence[dict[str, str]]
Cosines = dict[str, list[float]]


def main() -> None:
    """Measure one model and print what was found."""
    model = embedding_provider(sys.argv[1] if len(sys.argv) > 1 else "local")
    languages: dict[str, Rows] = tomllib.loads(DATA.read_text(encoding="utf-8"))
    everything: Cosines = defaultdict(list)
    print(f"{model.name}\n{'':24}{'5 %':>7}{'25 %':>7}{'50 %':>7}{'75 %':>7}{'95 %':>7}")
    for language, rows in languages.items():
        cosines = measure(model, rows)
        show(language, cosines)
        for group, values in cosines.items():
            everything[group] += values
    show("all", everything)
    report(np.array(everything["question, answer"]), np.array(everything["question, other"]))


def measure(model: EmbeddingProvider, rows: Rows) -> Cosines:
    """Return the cosines of all pairs of one language, by what the two texts are to each other."""
    texts, same, near = (
        np.array(model.embed_documents([row[key] for row in rows])) for key in ("text", "same", "near")
    )
    questions = np.array([model.embed_query(row["question"]) for row in rows])
    other = ~np.eye(len(rows), dtype=bool)
    return {
        "fact, paraphrase": list((texts * same).sum(1)),
        "fact, same subject": list((texts * near).sum(1)),
        "fact, other": list((texts @ texts.T)[other]),
        "question, answer": list((questions * texts).sum(1)),
        "question, same subject": list((questions * near).sum(1)),
        "question, other": list((questions @ texts.T)[other]),
    }


def show(title: str, cosines: Cosines) -> None:
    """Print five percentiles a group."""
    print(title)
    for group, values in cosines.items():
        print(f"  {group:22}" + "".join(f"{p:7.2f}" for p in np.percentile(values, [5, 25, 50, 75, 95])))


def report(answers: np.ndarray, others: np.ndarray) -> None:
    """Print the best separator, how good it is, and the calibration through it."""
    candidates = np.arange(0.0, 1.0, 0.01)
    balanced = [((answers >= c).mean() + (others < c).mean()) / 2 for c in candidates]
    best = float(candidates[int(np.argmax(balanced))])
    zero = 1 - (1 - best) / (1 - ABOUT_THE_SAME)
    print(
        f"Best separator {best:.2f}: {(answers >= best).mean():.0%} of the answers, {(others >= best).mean():.0%} of the "
        f"others.\nCalibration(zero={zero:.3f}, one=1.0)"
    )
    for similarity in (0.6, 0.85, 0.95):
        print(f"  {similarity} on the common scale is a cosine of {zero + similarity * (1 - zero):.2f}")


if __name__ == "__main__":
    main()
