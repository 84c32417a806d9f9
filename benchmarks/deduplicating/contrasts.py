"""Pairs of facts that look alike on purpose: what each of them should become, and what it became."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deduplicating.ranking import Outcome, Update

from discreet.retrieval.dedup import Verdict

PARTS = ("tune", "held_out")
LANGUAGES = ("en", "ru", "vi", "zh")
MERGED = ("same", "update")
AT_MOST = {"different lost": 0.0, "updates missed": 0.05, "paraphrases doubled": 0.25}
"""What must hold on the held-out part, all languages together."""


@dataclass(frozen=True)
class Contrast:
    """Two facts, of one `kind` (different, update, paraphrase) and of one class of it."""

    language: str
    part: str
    kind: str
    of: str
    old: str
    new: str
    question: str | None


@dataclass(frozen=True)
class JudgedContrast:
    """A pair, its verdict, and of updates whether a search for the question finds the newer fact first."""

    pair: Contrast
    verdict: Verdict
    newer_first: bool | None = None

    @property
    def failed(self) -> bool:
        """Whether a fact is lost, an update missed, or a paraphrase kept twice."""
        if self.pair.kind == "different":
            return self.verdict in MERGED
        if self.pair.kind == "paraphrase":
            return self.verdict not in MERGED
        return self.verdict in ("new", "same") or (self.verdict == "conflict" and self.newer_first is not True)


def read_contrasts(folder: Path) -> Iterator[Contrast]:
    """Give the pairs of contrasts_tune.jsonl and contrasts_held_out.jsonl."""
    for part in PARTS:
        for line in (folder / f"contrasts_{part}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            kind, of = row["kind"], row["class"]
            yield Contrast(row["lang"], part, kind, of, row["old"], row["new"], row.get("question"))


def updates_among(pairs: Iterable[Contrast]) -> Iterator[Update]:
    """Give the updates that have a question."""
    for pair in pairs:
        if pair.kind == "update" and pair.question is not None:
            yield Update(pair.language, f"contrasts_{pair.part}", pair.old, pair.new, pair.question)


def with_ranking(judged: Iterable[tuple[Contrast, Verdict]], outcomes: Iterable[Outcome]) -> list[JudgedContrast]:
    """Return the pairs with what searches found."""
    found = {(outcome.update.old, outcome.update.new): outcome.newer_first for outcome in outcomes}
    return [JudgedContrast(pair, verdict, found.get((pair.old, pair.new))) for pair, verdict in judged]


def measure_contrasts(everything: Sequence[JudgedContrast], part: str) -> dict[str, float]:
    """Return the figures of `part`, as shares of 1."""
    judged = [each for each in everything if each.pair.part == part]
    of_kind = {
        kind: [each for each in judged if each.pair.kind == kind] for kind in ("different", "update", "paraphrase")
    }
    return {
        "contrasts": len(judged),
        "different lost": _failed(of_kind["different"]),
        "different flagged": _share(each.verdict == "conflict" for each in of_kind["different"]),
        "updates missed": _failed(of_kind["update"]),
        "paraphrases doubled": _failed(of_kind["paraphrase"]),
    }


def show_tune(everything: Sequence[JudgedContrast]) -> None:
    """Print how many pairs of the tune part failed, by kind, class and language."""
    judged = [each for each in everything if each.pair.part == "tune"]
    print("\ncontrasts, tune: failed of all" + "".join(f"{language:>8}" for language in (*LANGUAGES, "all")))
    for kind, of in sorted({(each.pair.kind, each.pair.of) for each in judged}):
        row = [each for each in judged if (each.pair.kind, each.pair.of) == (kind, of)]
        print(f"  {kind:12}{of:16}" + "".join(_cell(row, language) for language in (*LANGUAGES, "all")))
    for kind in ("different", "update", "paraphrase"):
        row = [each for each in judged if each.pair.kind == kind]
        print(f"  {kind:12}{'all':16}" + "".join(_cell(row, language) for language in (*LANGUAGES, "all")))


def _cell(judged: Sequence[JudgedContrast], language: str) -> str:
    asked = [each for each in judged if language in (each.pair.language, "all")]
    return f"{sum(each.failed for each in asked):>4}/{len(asked):<3}" if asked else " " * 8


def _failed(judged: Sequence[JudgedContrast]) -> float:
    return _share(each.failed for each in judged)


def _share(hits: Iterable[bool]) -> float:
    found = list(hits)
    return sum(found) / len(found) if found else 0.0
