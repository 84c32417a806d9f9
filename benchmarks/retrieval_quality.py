"""How well a search finds what answers a question: `python benchmarks/retrieval_quality.py [--locomo PATH]`.

Through the real database and the local embedding. Each part of the ranking alone (BM25 of a memory's own words, BM25 with
the turns around it, the vector) and each fusion, as the share of the answers among the best 5, 10 and 20 memories and as
mean reciprocal rank, with 95 % intervals. With conversations also by kind of question, and the default fusion with its
weight chosen on the other conversations each time. `people` are facts of eight lives in four languages, asked in other words, in
few words, in the first person, in another language, for an order, a wish or a summary, and for what was never said. Then: does a question that has a word of a memory ever find nothing?
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from retrieving.asking import WAYS, Asked, Top, asking
from retrieving.holding_out import GRID, Fold, hold_out
from retrieving.measures import Judged, mean
from retrieving.report import Line, Target, as_json, as_text, line
from retrieving.sets import FORMAT, HERE, Person, read_conversations, read_people, read_sets
from retrieving.vectors import KeptEmbeddings

from discreet.providers import embedding_provider

PARTS = ("conversations", "languages", "people")
NAMES = {
    "words": "BM25, turns around it too",
    "meaning": "vector",
    "rrf": "RRF",
    "convex": "convex (default)",
}
OWN_WORDS = "BM25, own words"
QUESTIONS_IF_QUICK = 20
LEAST_PARAPHRASES = {"en": 0.75, "vi": 0.75, "zh": 0.75, "ru": 0.65}
"""R@5 of questions that share hardly a word with their answer, on the part that was never looked at."""
LOST = (0.01, 0.02, 0.05, 0.10, 0.20)
"""Shares of right hits that a bound on the score would lose."""
NEVER_SAID = "never_said"
CROSS = "cross"
"""The set whose questions are in other languages than its memories."""

Results = tuple[list[Line], list[Target], list[str]]


def main() -> int:
    """Measure, print the figures, and return 1 if a question found nothing that had a word to find something by."""
    options = parse()
    embeddings = KeptEmbeddings(embedding_provider(options.model), options.cache)
    try:
        lines, targets, notes = asyncio.run(measure(options, embeddings))
    finally:
        embeddings.keep()
    print((as_json if options.json else as_text)(lines, targets, notes))
    return int(any(target.at_most is not None and not target.met for target in targets))


def parse() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=FORMAT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, default=HERE, metavar="FOLDER", help="memories with questions")
    parser.add_argument("--locomo", type=Path, metavar="PATH", help="conversations with questions")
    parser.add_argument("--quick", action="store_true", help=f"{QUESTIONS_IF_QUICK} questions a conversation, no folds")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--model", default="local", help="embedding model, as in DISCREET_EMBEDDING_MODEL")
    parser.add_argument("--cache", type=Path, default=Path("build/vectors"), help="default: %(default)s")
    return parser.parse_args()


async def measure(options: argparse.Namespace, embeddings: KeptEmbeddings) -> Results:
    """Return the lines, the targets and notes of all parts."""
    lines: list[Line] = []
    targets: list[Target] = []
    notes: list[str] = []
    if "conversations" in options.only and options.locomo is None:
        notes.append(
            "no conversations: get locomo10.json from https://github.com/snap-research/locomo and name it with --locomo"
        )
    elif "conversations" in options.only:
        people = read_conversations(options.locomo)
        if options.quick:
            people = [person.shortened(QUESTIONS_IF_QUICK) for person in people]
        await conversations(people, embeddings, (lines, targets, notes), quick=options.quick)
    if "languages" in options.only:
        await languages(read_sets(options.sets), embeddings, (lines, targets, notes))
    if "people" in options.only:
        await lives(read_people(options.sets), embeddings, (lines, targets, notes))
    return lines, targets, notes


async def lives(everybody: Sequence[Person], embeddings: KeptEmbeddings, results: Results) -> None:
    """Measure facts of a person's life by kind of question, and whether a score tells what was never said."""
    lines, targets, notes = results
    async with asking(everybody, embeddings) as asked:
        progress("people")
        judged = await asked.lists("convex")
        meant = await asked.lists("meaning")
        tops = await asked.tops()
    for person in everybody:
        for kind in dict.fromkeys(question.category for question in person.questions if question.answers):
            for way, lists in (("convex (default)", judged), ("vector", meant)):
                chosen = [each for each in lists if (each.person, each.category) == (person.name, kind)]
                lines.append(line(f"{person.name}, {kind}", way, chosen))
        language, _, part = person.name.partition("_")
        if part == "held_out":
            found = mean([each for each in judged if (each.person, each.category) == (person.name, "paraphrase")])
            targets.append(Target(f"{language}, paraphrases, R@5", found.r5, at_least=LEAST_PARAPHRASES[language]))
    for part in ("tune", "held_out"):
        notes += never_said(part, [top for top in tops if top.person.endswith(part)])


def never_said(part: str, tops: Sequence[Top]) -> list[str]:
    """Return the share of questions about what was never said that keep a hit, by the share of right hits that are lost."""
    notes = []
    asked = {"all kinds": None, "short questions and those with I": ("short", "first_person")}
    best = [top.hits[0][0] for top in tops if top.category == NEVER_SAID]
    for what, kinds in asked.items():
        right = [
            top.hits[0][0]
            for top in tops
            if kinds is None or top.category in kinds
            for _, is_right in top.hits
            if is_right
        ]
        bounds = np.quantile(right, LOST)
        curve = (
            f"{lost:.0%}: {np.mean([score >= bound for score in best]):.2f}"
            for lost, bound in zip(LOST, bounds, strict=True)
        )
        notes.append(
            f"{part}, a bound on the best score of a search; of {len(right)} right hits ({what}) so many are lost: "
            f"share of {len(best)} questions about what was never said that keep one. {', '.join(curve)}"
        )
    return notes


async def conversations(people: Sequence[Person], embeddings: KeptEmbeddings, results: Results, *, quick: bool) -> None:
    """Measure the turns of conversations, found with and without the turns around them."""
    lines, targets, _ = results
    judged: dict[str, list[Judged]] = {}
    progress("conversations, each turn alone")
    async with asking([person.apart() for person in people], embeddings) as asked:
        judged[OWN_WORDS] = await asked.lists("words")
    embeddings.keep()
    async with asking(people, embeddings) as asked:
        for way in WAYS:
            progress(f"conversations, {way}")
            judged[NAMES[way]] = await asked.lists(way)
        if not quick:
            progress("conversations, weights")
        weights = {} if quick else {weight: await asked.lists("convex", lexical_weight=weight) for weight in GRID}
        empty = await never_empty(asked, "conversations")
    lines += [line("Conversations", way, lists) for way, lists in judged.items()]
    for category in sorted({each.category for each in judged[OWN_WORDS]}):
        for way, lists in judged.items():
            lines.append(line(f"  {category}", way, [each for each in lists if each.category == category]))
    if weights:
        held_out(hold_out(weights), lines, targets)
    targets.append(empty)


def held_out(folds: Sequence[Fold], lines: list[Line], targets: list[Target]) -> None:
    """Add what each conversation has with the weight that was chosen without it, and what all have so."""
    group = "Convex, weight of BM25 chosen on the other conversations"
    lines += [line(group, f"{fold.person}: {fold.weight}", fold.lists) for fold in folds]
    every = [each for fold in folds for each in fold.lists]
    lines.append(line(group, "all", every))
    quality = mean(every)
    for name, value, least in (("R@5", quality.r5, 0.67), ("R@10", quality.r10, 0.76), ("MRR", quality.mrr, 0.56)):
        targets.append(Target(f"conversations held out, {name}", value, at_least=least))


async def languages(people: Sequence[Person], embeddings: KeptEmbeddings, results: Results) -> None:
    """Measure facts and questions that share few words."""
    lines, targets, _ = results
    judged: dict[str, list[Judged]] = {}
    async with asking(people, embeddings) as asked:
        for way in WAYS:
            progress(f"languages, {way}")
            judged[way] = await asked.lists(way)
        empty = await never_empty(asked, "languages")
    for person in people:
        of_one = {way: [each for each in lists if each.person == person.name] for way, lists in judged.items()}
        lines += [line(person.name, NAMES[way], lists) for way, lists in of_one.items()]
        if person.name != CROSS:
            targets.append(Target(f"{person.name}, R@5", mean(of_one["convex"]).r5, at_least=0.9))
    targets.append(empty)


async def never_empty(asked: Asked, what: str) -> Target:
    """Return how many questions found nothing though a memory has one of their words."""
    progress(f"{what}, words that must find something")
    missed, total = await asked.empty()
    return Target(f"{what}, of {total} questions with a word of a memory found nothing", missed, at_most=0)


def progress(what: str) -> None:
    """Say on standard error what is measured now."""
    print(f"… {what}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
