"""How well dedup tells what a new fact is to a stored one: `python benchmarks/dedup.py [--model NAME] [--json] [--cache FILE]`.

NAME is `provider:model` as in DISCREET_EMBEDDING_MODEL (default: `local`). Data: dedup_sets/*.toml, pairs of facts of four
kinds in four languages. `tune` is what words and thresholds were fitted to, `held_out` was written later, about other
subjects, and not looked at. For each part and language it prints which share of each kind got which verdict, and the
quartiles of the cosine. Then the figures that count:

* merged, precision and recall: `same` and `update` against paraphrases and updates;
* data loss: pairs that both hold and were merged;
* ordered: updates whose older fact is superseded or flagged;
* newer first: updates of which a search for the question that both answer finds the newer fact first, and older as of then:
  of which one as of a time between the two finds the older fact only. Both facts are saved in a real database.

contrasts_tune.jsonl and contrasts_held_out.jsonl are pairs that look alike on purpose, of three kinds: `different`, of which
both hold (the other knee, another year), `update` and `paraphrase`. Whoever wrote them had not read the rules, and the rules were not
fitted to the second. Their figures: different lost (merged), updates missed (new, the same, or flagged while a search for
the question finds the older fact first), paraphrases doubled (not merged), and different facts that were flagged.
At the end stands how long reading a text and comparing a pair takes.

The exit code is 1 if a target is missed on the held-out part. The calibration is that of the model as it ships; with it
come the cosines at which the thresholds lie. Models of OpenAI need OPENAI_API_KEY; without one nothing is known of them
but that the thresholds were meant for their raw cosines.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
from deduplicating.contrasts import AT_MOST as CONTRASTS_AT_MOST
from deduplicating.contrasts import (
    JudgedContrast,
    measure_contrasts,
    read_contrasts,
    show_tune,
    updates_among,
    with_ranking,
)
from deduplicating.ranking import Outcome, Update, rank
from deduplicating.timing import AT_MOST as TIME_AT_MOST
from deduplicating.timing import measure_time

from discreet.ports import EmbeddingProvider
from discreet.providers import embedding_provider
from discreet.retrieval.dedup import DedupThresholds, Verdict, judge

DATA = Path(__file__).with_name("dedup_sets")
KINDS = ("paraphrase", "update", "near", "unrelated")
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
MERGED = ("same", "update")
ORDERED = ("update", "conflict")
AT_MOST = {"data loss": 0.02, "near flagged": 0.15}
AT_LEAST = {"newer first": 0.95, "older as of then": 1.0, "paraphrases merged": 0.70}
"""What must hold on the held-out part, all languages together."""


@dataclass(frozen=True)
class Pair:
    """Two facts of one person, and what they turned out to be."""

    language: str
    part: str
    kind: str
    old: str
    new: str
    question: str | None
    """What both answer; of updates."""


@dataclass(frozen=True)
class Judged:
    """A pair with the cosine of its vectors and the verdict."""

    pair: Pair
    cosine: float
    verdict: Verdict


def main() -> int:
    """Measure one model, print what was found, and return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="local", help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--cache", type=Path, metavar="FILE", help="keep the vectors of the model in this .npz file")
    options = parser.parse_args()
    model = embedding_provider(options.model)
    pairs, contrasts = list(read_pairs()), list(read_contrasts(DATA))
    texts = {text for pair in (*pairs, *contrasts) for text in (pair.old, pair.new)}
    vectors = embed(model, sorted(texts), options.cache)
    judged = [judge_pair(pair, vectors, model) for pair in pairs]
    outcomes = rank([*updates_of(pairs), *updates_among(contrasts)], model, vectors)
    told_apart = with_ranking(
        [(pair, judge(pair.new, pair.old, similarity_of(pair.old, pair.new, vectors, model))) for pair in contrasts],
        outcomes,
    )
    figures = {
        part: measure(judged, part) | measure_ranking(outcomes, part) | measure_contrasts(told_apart, part)
        for part in ("tune", "held_out")
    }
    times = measure_time([(each.pair.new, each.pair.old, model.calibration.similarity(each.cosine)) for each in judged])
    missed = [name for name, most in (AT_MOST | CONTRASTS_AT_MOST).items() if figures["held_out"][name] > most]
    missed += [name for name, least in AT_LEAST.items() if figures["held_out"][name] < least]
    missed += [name for name, most in TIME_AT_MOST.items() if times[name] > most]
    if options.json:
        print(json.dumps({"model": model.name, "figures": figures, "times": times, "missed": missed}, indent=2))
    else:
        show(judged, told_apart, figures, model)
        print(", ".join(f"{value:.0f} {name.replace('us', 'µs')}" for name, value in times.items()))
        print(f"Targets missed on held_out: {', '.join(missed) or 'none'}")
    return int(bool(missed))


def read_pairs() -> Iterable[Pair]:
    """Give all pairs of all languages."""
    for file in sorted(DATA.glob("*.toml")):
        for part, kinds in tomllib.loads(file.read_text(encoding="utf-8")).items():
            for kind in KINDS:
                for old, new, *question in kinds[kind]:
                    yield Pair(file.stem, part, kind, old, new, question[0] if question else None)


def updates_of(pairs: Iterable[Pair]) -> Iterable[Update]:
    """Give the updates that have a question."""
    for pair in pairs:
        if pair.kind == "update" and pair.question is not None:
            yield Update(pair.language, pair.part, pair.old, pair.new, pair.question)


def embed(model: EmbeddingProvider, texts: Sequence[str], cache: Path | None) -> dict[str, np.ndarray]:
    """Return the vectors of `texts`; those in `cache` are not made again."""
    known: dict[str, np.ndarray] = {}
    if cache is not None and cache.exists():
        with np.load(cache) as stored:
            if str(stored["model"]) == model.name:
                known = dict(zip(stored["texts"].tolist(), stored["vectors"], strict=True))
    missing = [text for text in texts if text not in known]
    if missing:
        known.update(zip(missing, np.array(model.embed_documents(missing)), strict=True))
    if cache is not None:
        np.savez(cache, model=model.name, texts=np.array(list(known)), vectors=np.array(list(known.values())))
    return known


def similarity_of(one: str, other: str, vectors: dict[str, np.ndarray], model: EmbeddingProvider) -> float:
    """Return the calibrated similarity of two texts."""
    return model.calibration.similarity(float(vectors[one] @ vectors[other]))


def judge_pair(pair: Pair, vectors: dict[str, np.ndarray], model: EmbeddingProvider) -> Judged:
    """Return what dedup says of `pair`."""
    cosine = float(vectors[pair.old] @ vectors[pair.new])
    return Judged(pair, cosine, judge(pair.new, pair.old, model.calibration.similarity(cosine)))


def measure_ranking(outcomes: Sequence[Outcome], part: str) -> dict[str, float]:
    """Return what searches found in `part`, as shares of 1."""
    found = [outcome for outcome in outcomes if outcome.update.part == part]
    return {
        "newer first": sum(outcome.newer_first for outcome in found) / len(found),
        "older as of then": sum(outcome.older_as_of_then for outcome in found) / len(found),
    }


def measure(everything: Sequence[Judged], part: str) -> dict[str, float]:
    """Return the figures of `part` that count, as shares of 1."""
    judged = [each for each in everything if each.pair.part == part]
    merged = [each for each in judged if each.verdict in MERGED]
    return {
        "pairs": len(judged),
        "precision of merged": share(merged, ("paraphrase", "update"), None),
        "recall of merged": share(judged, None, MERGED, among=("paraphrase", "update")),
        "paraphrases merged": share(judged, None, MERGED, among=("paraphrase",)),
        "ordered": share(judged, None, ORDERED, among=("update",)),
        "updates taken for the same": share(judged, None, ("same",), among=("update",)),
        "data loss": share(judged, None, MERGED, among=("near", "unrelated")),
        "near flagged": share(judged, None, ("conflict",), among=("near",)),
    }


def share(
    judged: Sequence[Judged],
    kinds: Sequence[str] | None,
    verdicts: Sequence[str] | None,
    *,
    among: Sequence[str] = KINDS,
) -> float:
    """Return which share of the pairs of the kinds `among` is of `kinds` and got one of `verdicts`; None is any."""
    asked = [each for each in judged if each.pair.kind in among]
    hits = [
        each
        for each in asked
        if (kinds is None or each.pair.kind in kinds) and (verdicts is None or each.verdict in verdicts)
    ]
    return len(hits) / len(asked) if asked else 0.0


def show(
    judged: Sequence[Judged],
    contrasts: Sequence[JudgedContrast],
    figures: dict[str, dict[str, float]],
    model: EmbeddingProvider,
) -> None:
    """Print the tables of each part and language, the figures, and where the thresholds lie."""
    print(model.name)
    languages = sorted({each.pair.language for each in judged})
    for part, found in figures.items():
        print(
            f"\n{part}\n{'':18}"
            + "".join(f"{verdict:>10}" for verdict in VERDICTS)
            + "   cosine 5 % 25 % 50 % 75 % 95 %"
        )
        for language in [*languages, "all"]:
            for kind in KINDS:
                rows = [
                    each
                    for each in judged
                    if (each.pair.part, each.pair.kind) == (part, kind) and language in (each.pair.language, "all")
                ]
                shares = "".join(f"{share(rows, None, (verdict,)):10.0%}" for verdict in VERDICTS)
                cosines = " ".join(
                    f"{c:5.2f}" for c in np.percentile([each.cosine for each in rows], [5, 25, 50, 75, 95])
                )
                print(f"{language:4} {kind:13}{shares}   {cosines}")
        for name, value in found.items():
            print(f"  {name:28}" + (f"{value:.0f}" if name in ("pairs", "contrasts") else f"{value:6.1%}"))
    show_tune(contrasts)
    thresholds = DedupThresholds()
    zero, one = model.calibration.zero, model.calibration.one
    print()
    for threshold in (thresholds.similar, thresholds.same):
        print(f"{threshold} on the common scale is a cosine of {zero + threshold * (one - zero):.2f}")


if __name__ == "__main__":
    sys.exit(main())
