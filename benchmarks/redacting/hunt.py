"""A search for texts that take long: fragments are mutated and repeated, the slowest live on."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.testing.hostile_texts import REPEATED

SIZE = 20_000
KEPT = 60
"""Generators that live on and have offspring."""
SHOWN = 12
LONGEST_UNIT = 120
SEPARATORS = (" ", "", "\n", "-", ".", ",", ":", "@", "/", "=", '"', "\u200b", "**", "%", "<", "0")
RETRIES = 3


@dataclass(frozen=True, slots=True)
class Generator:
    """How a text is made: a head, then a unit over and over."""

    head: str
    unit: str

    def text(self) -> str:
        """Return it, `SIZE` characters long."""
        return (self.head + self.unit * (SIZE // len(self.unit) + 1))[:SIZE]


@dataclass(frozen=True, slots=True)
class Found:
    """A generator and the seconds that its text takes."""

    seconds: float
    generator: Generator


def hunt(run: Callable[[str], object], *, budget: float, seed: int, fragments: Sequence[str]) -> list[Found]:
    """Return the slowest generators that `budget` seconds of search find, the slowest first."""
    chance = random.Random(seed)
    pool = [*REPEATED.values(), *(each for each in fragments if len(each) <= LONGEST_UNIT)]
    population = [Found(_best(run, one, 0.0), one) for one in (Generator("", unit) for unit in REPEATED.values())]
    seen = {found.generator for found in population}
    deadline = time.monotonic() + budget
    while time.monotonic() < deadline:
        population = _selected(population)
        generator = _offspring(chance, population, pool)
        if generator in seen or not generator.unit:
            continue
        seen.add(generator)
        population.append(Found(_best(run, generator, population[-1].seconds), generator))
    return _selected(population)[:SHOWN]


def _best(run: Callable[[str], object], generator: Generator, bar: float) -> float:
    """Return the best CPU time of a few runs; of one if it is below `bar` at once."""
    text = generator.text()
    best = float("inf")
    for _ in range(RETRIES):
        start = time.process_time()
        run(text)
        best = min(best, time.process_time() - start)
        if best <= bar:
            break
    return best


def _selected(population: list[Found]) -> list[Found]:
    """Return the slowest, of those that time alike and share a unit's first characters only some."""
    alike: dict[str, int] = {}
    kept = []
    for found in sorted(population, key=lambda each: -each.seconds):
        family = "".join(sorted(set(found.generator.unit)))
        alike[family] = alike.get(family, 0) + 1
        if alike[family] <= RETRIES:
            kept.append(found)
    return kept[:KEPT]


def _offspring(chance: random.Random, population: Sequence[Found], pool: Sequence[str]) -> Generator:
    parent = population[min(chance.randrange(len(population)), chance.randrange(len(population)))].generator
    unit, head = parent.unit, parent.head
    for _ in range(chance.randint(1, 3)):
        unit = _mutated(chance, unit, pool)
    if chance.random() < 0.15:
        head = chance.choice(["", chance.choice(pool), chance.choice(pool) * chance.randint(1, 50)])
    return Generator(head[: SIZE // 2], unit[:LONGEST_UNIT])


def _mutated(chance: random.Random, unit: str, pool: Sequence[str]) -> str:
    start, end = sorted((chance.randint(0, len(unit)), chance.randint(0, len(unit))))
    other = chance.choice(pool)
    return chance.choice(
        (
            lambda: unit + other,
            lambda: other + unit,
            lambda: unit[:start] + other + unit[start:],
            lambda: unit[:start] + unit[end:],
            lambda: unit[start:end],
            lambda: unit[:end] + unit[start:end] + unit[end:],
            lambda: unit[:start] + chance.choice(SEPARATORS) + unit[start:],
            lambda: unit[:start] + chance.choice(SEPARATORS) + unit[end:],
            lambda: chance.choice(SEPARATORS).join(unit),
            unit.swapcase,
            lambda: unit[:start] + str(chance.randrange(10 ** chance.randint(1, 6))) + unit[start:],
            lambda: unit[::-1],
        )
    )()
