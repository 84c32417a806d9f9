"""How much shorter a prompt gets by the rolling summary, and what it forgets: `python benchmarks/rolling_summary.py`.

Threads of eighty rounds are played round by round through the summariser, without a model (the summary quotes). Measured is
the conversation part of the prompt, the summary and the last six rounds and those that it does not cover yet, against all
rounds verbatim, in tokens; and the share of the facts told so far that it has, against the last six rounds alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from summarising.measuring import LOOKED_AT, Look, play
from summarising.threads import FORMAT, HERE, read_conversations, read_sets

from discreet.nodes.summary_steps import BUDGET, CHUNK
from discreet.providers.summaries import ExtractiveSummaryProvider
from discreet.providers.tokens import count_tokens
from discreet.testing import InMemoryRollingSummaries

TARGETS = (40, 80)
"""Rounds at which it is asked what is saved and told."""

LEAST_SAVED = 0.8
"""At eighty rounds, of the threads of each language together."""

LEAST_TOLD = {"en": 0.75, "ru": 0.58, "vi": 0.66, "zh": 0.83}
"""Of the facts of the first forty rounds, at round forty."""

Looks = dict[str, list[list[Look]]]
"""By language, of each thread."""


def main() -> int:
    """Measure, print the figures, and return 1 if a language saves or tells too little."""
    options = parse()
    looks = asyncio.run(measure(options))
    print(as_json(looks) if options.json else as_text(looks))
    return int(not all(met(group, of_one) for group, of_one in looks.items()))


def parse() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=FORMAT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, default=HERE, metavar="FOLDER", help="threads with facts")
    parser.add_argument("--locomo", type=Path, metavar="PATH", help="conversations with questions")
    parser.add_argument("--chunk", type=int, default=CHUNK, help="rounds at a time, default: %(default)s")
    parser.add_argument("--budget", type=int, default=BUDGET, help="tokens of a summary, default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


async def measure(options: argparse.Namespace) -> Looks:
    """Return the looks at every thread."""
    threads = read_sets(options.sets) + (read_conversations(options.locomo) if options.locomo else [])
    return {
        group: [
            await play(
                thread,
                InMemoryRollingSummaries(),
                ExtractiveSummaryProvider(),
                count_tokens,
                chunk=options.chunk,
                budget=options.budget,
            )
            for thread in members
        ]
        for group, members in groupby(threads, key=lambda each: each.group)
    }


def saved(looks: Sequence[Sequence[Look]], at: int) -> float:
    """Return the share of tokens that the threads save together."""
    return 1 - sum(each[at].tokens for each in looks) / sum(each[at].verbatim for each in looks)


def told(looks: Sequence[Sequence[Look]], at: int) -> float:
    """Return the share of the facts that the prompts of the threads have."""
    return _mean(each[at].kept for each in looks)


def met(group: str, looks: Sequence[Sequence[Look]]) -> bool:
    """Whether a language saves and tells enough."""
    forty, eighty = (LOOKED_AT.index(rounds) for rounds in TARGETS)
    return saved(looks, eighty) >= LEAST_SAVED and told(looks, forty) >= LEAST_TOLD.get(group, 0)


def machine() -> str:
    """Return one line about where the figures come from."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"


def as_json(looks: Looks) -> str:
    """Return everything for programs."""
    groups = {
        group: {
            "saved": saved(of_one, LOOKED_AT.index(TARGETS[1])),
            "least": LEAST_SAVED,
            "least_told": LEAST_TOLD.get(group, 0),
            "met": met(group, of_one),
            "threads": [[{**asdict(each), "saved": each.saved} for each in thread] for thread in of_one],
        }
        for group, of_one in looks.items()
    }
    return json.dumps({"machine": machine(), "groups": groups}, indent=2)


def as_text(looks: Looks) -> str:
    """Return everything for people: means over the threads of a language."""
    text = [machine(), f"{'':10}{'':>8}{'tokens of the prompt':>24}{'':>17}{'facts that it has':>28}"]
    text.append(
        f"{'':10}{'rounds':>8}{'summary':>10}{'with it':>10}{'verbatim':>10}{'saved':>11}"
        f"{'with it':>10}{'last six':>10}{'verbatim':>10}"
    )
    for group, of_one in looks.items():
        for at, rounds in enumerate(LOOKED_AT):
            each = [thread[at] for thread in of_one]
            text.append(
                f"{group if not at else '':10}{rounds:>8}{_mean(x.summary for x in each):>10.0f}"
                f"{_mean(x.tokens for x in each):>10.0f}{_mean(x.verbatim for x in each):>10.0f}"
                f"{saved(of_one, at):>11.1%}"
                f"{_mean(x.kept for x in each):>10.2f}{_mean(x.peer for x in each):>10.2f}"
                f"{_mean(x.full for x in each):>10.2f}"
            )
    text.append(
        f"Targets: at {TARGETS[1]} rounds {LEAST_SAVED:.0%} fewer tokens, at {TARGETS[0]} so many facts told as named"
    )
    for group, of_one in looks.items():
        figures = (
            f"{rounds} rounds: {saved(of_one, at):6.1%} saved, {told(of_one, at):.2f} told"
            for rounds in TARGETS
            for at in [LOOKED_AT.index(rounds)]
        )
        least = LEAST_TOLD.get(group, 0)
        text.append(f"  {group:8}{'; '.join(figures)} (least {least:.2f}): {'met' if met(group, of_one) else 'missed'}")
    return "\n".join(text)


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)


if __name__ == "__main__":
    sys.exit(main())
