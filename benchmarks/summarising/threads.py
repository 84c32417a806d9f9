"""Threads of eighty rounds with the facts in them: the sets of `summary_sets`, and conversations."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from discreet.retrieval.tokens import tokens

HERE = Path(__file__).resolve().parents[1] / "summary_sets"
ROUNDS = 80
PART = 40
"""Rounds that the facts of one `[[threads]]` of a set are spread over."""

FORMAT = """\
format of the sets
  --sets FOLDER  *.toml files, one a language: `talk`, a list of [said, answered] about anything; and `[[threads]]` with a
                 `name` and `facts`, a list of {said, answered, keep}, where `keep` are the words that tell the fact. Each
                 is spread evenly over 40 rounds, with talk between the facts. A thread is 40 rounds of one and 40
                 of the next. Default: benchmarks/summary_sets.
  --locomo PATH  conversations as in retrieval_quality.py: locomo10.json, or one JSON object a line. A thread is the first
                 80 rounds of a conversation; its facts are the turns that questions about it are answered by.
"""

RARE = 2
"""Of a conversation's turn the words count as telling that no more turns of the thread than these have."""


@dataclass(frozen=True)
class Fact:
    """Something that was said, and by what it is known."""

    keep: tuple[str, ...]
    """Words, casefolded."""
    least: int
    """How many of them a prompt must have."""
    round: int
    """Where it was said, from 0."""

    def stands_in(self, text: str) -> bool:
        """Whether `text` has the fact."""
        plain = text.casefold()
        return sum(word in plain for word in self.keep) >= self.least


@dataclass(frozen=True)
class Thread:
    """Rounds, and the facts in them."""

    group: str
    name: str
    rounds: list[tuple[str, str]]
    facts: list[Fact]

    def messages(self, rounds: int) -> list[BaseMessage]:
        """Return the first `rounds` rounds as a graph's state has them."""
        return [
            message
            for n, (said, answered) in enumerate(self.rounds[:rounds])
            for message in (HumanMessage(said, id=f"q{n}"), AIMessage(answered, id=f"a{n}"))
        ]


def read_sets(folder: Path) -> list[Thread]:
    """Return the threads of each file in `folder`."""
    return [thread for path in sorted(folder.glob("*.toml")) for thread in _read_set(path)]


def _read_set(path: Path) -> Iterator[Thread]:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    parts = [_part(path, thread, data["talk"][:: -1 if n % 2 else 1]) for n, thread in enumerate(data["threads"])]
    for number, (thread, first) in enumerate(zip(data["threads"], parts, strict=True)):
        second = parts[(number + 1) % len(parts)]
        later = [Fact(fact.keep, fact.least, fact.round + PART) for fact in second[1]]
        yield Thread(path.stem, thread["name"], [*first[0], *second[0]], [*first[1], *later])


def _part(path: Path, thread: dict[str, Any], talk: Sequence[list[str]]) -> tuple[list[tuple[str, str]], list[Fact]]:
    """Return forty rounds, and the facts that they tell."""
    told, between = thread["facts"], iter(talk)
    places = {each * PART // len(told): fact for each, fact in enumerate(told)}
    rounds: list[tuple[str, str]] = []
    facts: list[Fact] = []
    for n in range(PART):
        fact = places.get(n)
        said, answered = (fact["said"], fact["answered"]) if fact else next(between)
        rounds.append((said, answered))
        if fact:
            keep = tuple(word.casefold() for word in fact["keep"])
            if not Fact(keep, len(keep), n).stands_in(f"{said} {answered}"):
                raise ValueError(f"{path.name}, {thread['name']}: round {n} does not say {keep}.")
            facts.append(Fact(keep, len(keep), n))
    return rounds, facts


def read_conversations(path: Path) -> list[Thread]:
    """Return the first rounds of each conversation; the first speaker is the user, what one says in a row is one text."""
    text = path.read_text(encoding="utf-8")
    samples = map(_from_locomo, json.loads(text)) if path.suffix == ".json" else map(json.loads, text.splitlines())
    return [_read_conversation(sample) for sample in samples]


def _read_conversation(sample: dict[str, Any]) -> Thread:
    spoken: list[tuple[str, list[str], list[str]]] = []
    for turn in sample["turns"]:
        speaker, _, words = turn["text"].partition(": ")
        if not spoken or spoken[-1][0] != speaker:
            spoken.append((speaker, [], []))
        spoken[-1][1].append(words)
        spoken[-1][2].append(turn["id"])
    pairs = list(zip(spoken[::2], spoken[1::2], strict=False))[:ROUNDS]
    rounds = [("\n".join(one[1]), "\n".join(other[1])) for one, other in pairs]
    places = {turn: n for n, pair in enumerate(pairs) for _, _, turns in pair for turn in turns}
    texts = {turn["id"]: turn["text"].partition(": ")[2] for turn in sample["turns"] if turn["id"] in places}
    asked = dict.fromkeys(turn for each in sample["questions"] for turn in each["ev"] if turn in texts)
    facts = [fact for turn in asked if (fact := _fact_of(turn, texts, places)) is not None]
    return Thread("LoCoMo", sample["conversation"], rounds, facts)


def _fact_of(turn: str, texts: dict[str, str], places: dict[str, int]) -> Fact | None:
    """Return what a turn says that few others do; half of it has to stand in a prompt."""
    counts = Counter(word for text in texts.values() for word in set(tokens(text)))
    keep = tuple(sorted({word for word in tokens(texts[turn]) if counts[word] <= RARE}))
    return Fact(keep, -(-len(keep) // 2), places[turn]) if keep else None


def _from_locomo(sample: dict[str, Any]) -> dict[str, Any]:
    spoken = sample["conversation"]
    turns = [
        {"id": turn["dia_id"], "text": f"{turn['speaker']}: {turn['text']}"}
        for session in range(1, len(spoken))
        for turn in spoken.get(f"session_{session}", ())
    ]
    questions = [{"ev": asked.get("evidence", ())} for asked in sample["qa"]]
    return {"conversation": sample["sample_id"], "turns": turns, "questions": questions}
