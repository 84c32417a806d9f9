"""Fit the models of likely secrets to the tuning rows: `python benchmarks/told_model.py --write`.

Takes numbers and words that have the form of a password from the tuning rows and from texts without secrets, weighs what
stands around them by logistic regression, and prints what other areas than those it was fitted to would lose and gain.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from redacting.rows import find_folder, read_sets
from redaction_sets.near_misses import SENTENCES
from redaction_sets.phrases import rows

from discreet.redaction.normalise import normalise
from discreet.redaction.recognisers.told import likely

MODEL = Path(likely.__file__).with_name("likely.toml")
COPIES = 3
PENALTY = 2.0
STEPS = 40
CONVERGED = 1e-6
FIELDS = ("text", "message", "content")
"""What a message is called in a record."""
SPEAKERS = ("", "User: ")
"""How turns begin in transcripts, our own among them."""
THRESHOLDS = {"numbers": -0.3, "passwords": 0.7, "words": 0.4}
"""Log odds from which a candidate counts: of the texts about codes that tell none, one in fifty has a number above it."""

Sample = tuple[str, list[float], bool, bool]
"""Where it comes from, the figures, whether it is a secret, and whether its text has none at all."""


def texts() -> Iterator[tuple[str, str, list[tuple[int, int]], bool]]:
    """Yield source, text, places of secrets, and whether nothing else in the text has to go."""
    tuning = list(rows("tuning", 1, copies=COPIES))
    others = [row["text"] for row in tuning if row["neg"]]
    chance = random.Random("others")
    for row in tuning:
        secret = [(span["start"], span["end"]) for span in row["spans"] if span["type"] == "SECRET"]
        other = any(span["type"] != "SECRET" for span in row["spans"])
        yield row["src"], row["text"], secret, not other
        yield row["src"], f"{row['text']}\n{chance.choice(others)}", secret, not other
        if row["neg"]:
            yield from (("fields", f"{field}: {row['text']}", [], True) for field in FIELDS)
    folder = find_folder(None)
    sets = read_sets(folder) if folder else None
    for row in sets.rows if sets else ():
        if row.negative:
            yield row.set, row.text, [], True
    yield from (("chat", said + turn, [], True) for turn in (sets.turns if sets else ()) for said in SPEAKERS)
    gate = Path(__file__).parent / "gate_sets"
    for path in sorted(gate.glob("*tune*.jsonl")):
        yield from (("gate", json.loads(line)["text"], [], True) for line in path.read_text("utf-8").splitlines())
    for sentences in SENTENCES.values():
        yield from (("near misses", line, [], True) for line in sentences.splitlines())


def samples(name: str) -> list[Sample]:
    """Return the figures of all candidates that are surely secrets or surely none."""
    sort = likely.SORTS[name]
    kept: list[Sample] = []
    for source, text, secret, plain in texts():
        view = normalise(text)
        found, worth = likely.candidates(view, name)
        for span in worth:
            start, end = view.source(*span)
            hit = any(start < last and first < end for first, last in secret)
            if hit or plain:
                kept.append((source, sort.figures(view, span, found), hit, not secret))
    return kept


def fit(data: list[Sample]) -> tuple[np.ndarray, float]:
    """Return weights and bias of a logistic regression with a penalty on large weights (Newton's method)."""
    inputs = np.array([[*figures, 1.0] for _, figures, _, _ in data])
    truth = np.array([float(hit) for _, _, hit, _ in data])
    penalty = np.full(inputs.shape[1], PENALTY)
    penalty[-1] = 1e-3
    beta = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        odds = 1 / (1 + np.exp(-np.clip(inputs @ beta, -30, 30)))
        gradient = inputs.T @ (odds - truth) + penalty * beta
        hessian = (inputs * (odds * (1 - odds))[:, None]).T @ inputs + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        beta -= step
        if np.abs(step).max() < CONVERGED:
            break
    return beta[:-1], float(beta[-1])


def main() -> None:
    """Fit, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines = ["# Made by benchmarks/told_model.py", ""]
    for kind, sort in likely.SORTS.items():
        data = samples(kind)
        print(kind, len(data), "candidates,", sum(hit for _, _, hit, _ in data), "secrets")
        for held in ("told_asia", "told_europe", "told_asia_b", "told_europe_b"):
            inside = [each for each in data if each[0] != held]
            weights, bias = fit(inside)
            least = THRESHOLDS[kind]
            outside = [
                (hit, float(np.dot(weights, figures) + bias) > least)
                for source, figures, hit, _ in data
                if source == held
            ]
            caught = [over for hit, over in outside if hit]
            wrong = [over for hit, over in outside if not hit]
            print(f"  without {held:14} caught {sum(caught)} of {len(caught)}, wrong {sum(wrong)} of {len(wrong)}")
        weights, bias = fit(data)
        least = THRESHOLDS[kind]
        caught = [float(np.dot(weights, figures) + bias) > least for _, figures, hit, _ in data if hit]
        wrong = [float(np.dot(weights, figures) + bias) > least for _, figures, hit, _ in data if not hit]
        print(
            f"  all: caught {sum(caught)} of {len(caught)}, wrong {sum(wrong)} of {len(wrong)}, threshold {least:.2f}"
        )
        lines += [f"[{kind}]", f"bias = {bias:.3f}", f"threshold = {least:.3f}", f"[{kind}.weights]"]
        lines += [f'"{name}" = {weight:.3f}' for name, weight in zip(sort.FIGURES, weights, strict=True)] + [""]
    if options.write:
        MODEL.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
