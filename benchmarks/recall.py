"""How well and how fast memory layers find what answers a question: `python benchmarks/recall.py [--quick] [--json]`.

Discreet beside LangGraph's AsyncPostgresStore, langmem, mem0 and Hindsight, as far as they are installed: the same facts of four
lives in four languages (retrieval_sets/people, the part that was never looked at), the same questions in other words, in few
words, in the first person and in another language, and the same embedding, Discreet's local one, whose vectors are kept. Facts
are stored as they are: where a peer would ask a language model to extract them it does not (mem0: infer=False; Hindsight: chunks,
without a reranking model). No bound on the score on any side. All layers are asked each question by turns, twice, of which the
second time counts, so that none pays for the vector of the question. A figure is the share of the answers among the first five,
or the median time. Hindsight is a server, and its time has the way there, and that to the embedding; it runs on the PostgreSQL
that it brings, all others on the embedded one.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from comparing.database import Database
from comparing.intervals import Statistic, ratio_interval
from comparing.report import Figure, as_json, as_table, machine
from recalling.hindsight_layer import hindsight, hindsight_version
from recalling.layers import LIMIT, OURS, Layer, NotStartedError, Opener, langmem, named, ours, store
from recalling.mem0_layer import mem0
from retrieving.sets import HERE, Person, Question, read_people
from retrieving.vectors import KeptEmbeddings

from discreet.providers import embedding_provider
from discreet.storage.embedded import lease_server

KINDS = {
    "paraphrase": "in other words",
    "short": "in few words",
    "first_person": "with I",
    "cross": "in another language",
}
Asked = tuple[Question, dict[str, float], dict[str, float]]
"""A question, and by layer the share of its answers that was found and the milliseconds."""


def main() -> None:
    """Store the facts, ask, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="every eighth question")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    people = [person for person in read_people(HERE) if person.name.endswith("held_out")]
    notes: list[str] = []
    with TemporaryDirectory() as folder, lease_server(Path(folder)) as dsn:
        asked = asyncio.run(measure(dsn, people, notes, every=8 if options.quick else 1))
    figures, where = compare(asked), machine("18, embedded")
    print(as_json(figures, where, notes) if options.json else as_table(figures, where, notes, other="peer"))


def openers(notes: list[str]) -> dict[str, Opener]:
    """Return the layers that are installed, ours first; in `notes` those that aren't."""
    found: dict[str, Opener] = {OURS: ours, named("AsyncPostgresStore", "langgraph-checkpoint-postgres"): store}
    for name, module, package, opener in (("langmem", "langmem", "langmem", langmem), ("mem0", "mem0", "mem0ai", mem0)):
        if find_spec(module):
            found[named(name, package)] = opener
        else:
            notes.append(f"{name}: not installed: pip install {package}")
    if release := hindsight_version():
        found[f"Hindsight {release}"] = hindsight
    else:
        notes.append("Hindsight: not installed: `make bench` builds its environment")
    return found


async def measure(dsn: str, people: Sequence[Person], notes: list[str], *, every: int) -> list[Asked]:
    """Return what came of the questions, of every one in `every`."""
    asked: list[Asked] = []
    async with AsyncExitStack() as stack:
        embeddings = KeptEmbeddings(embedding_provider("local"), Path(stack.enter_context(TemporaryDirectory())))
        layers: dict[str, Layer] = {}
        for name, opener in openers(notes).items():
            progress(f"{name}: opening")
            database = stack.enter_context(Database(dsn))
            try:
                layers[name] = await stack.enter_async_context(opener(database.dsn, embeddings))
            except NotStartedError as error:
                notes.append(f"{name}: {error}")
        for person in people:
            for name, layer in layers.items():
                progress(f"{person.name}: {len(person.memories)} facts for {name}")
                await layer.save(person.name, [memory.text for memory in person.memories])
            progress(f"{person.name}: questions")
            questions = [question for question in person.questions if question.category in KINDS][::every]
            for question in questions:
                await ask(layers, person, question)  # who is first embeds it, and loads what others find loaded
                asked.append(await ask(layers, person, question))
                layers = dict([*list(layers.items())[1:], *list(layers.items())[:1]])  # another one is the first
    return asked


async def ask(layers: dict[str, Layer], person: Person, question: Question) -> Asked:
    """Ask all layers one question."""
    wanted = {person.memories[number].text for number in question.answers}
    shares, took = {}, {}
    for name, layer in layers.items():
        began = time.perf_counter()
        found = await layer.search(person.name, question.text)
        took[name] = 1000 * (time.perf_counter() - began)
        shares[name] = len(wanted.intersection(found[:LIMIT])) / len(wanted)
    return question, shares, took


def compare(asked: Sequence[Asked]) -> list[Figure]:
    """Return the figures of ours beside those of each other: a ratio with its interval over the questions."""
    figures = []
    for peer in sorted(asked[0][1].keys() - {OURS}):
        for kind, what in {"": "all", **KINDS}.items():
            pairs = [(shares[peer], shares[OURS]) for question, shares, _ in asked if kind in ("", question.category)]
            if pairs:
                figures.append(_figure((f"answers among the first {LIMIT}", what, "found"), pairs, np.mean, peer=peer))
        times = [(took[peer], took[OURS]) for _, _, took in asked]
        figures.append(_figure(("time", "of a search, median", "ms"), times, np.median, peer=peer))
    return sorted(figures, key=lambda figure: (figure.group, figure.what))


def _figure(named: tuple[str, str, str], pairs: list[tuple[float, float]], of: Statistic, *, peer: str) -> Figure:
    theirs, own = zip(*pairs, strict=True)
    one, other = float(of(theirs)), float(of(own))
    return Figure(
        *(*named, one, other),
        value=other / one if one else float("inf"),
        peer=peer,
        pairs=len(pairs),
        interval=ratio_interval(theirs, own, of),
    )


def progress(what: str) -> None:
    """Say on standard error what is measured now."""
    print(f"… {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
