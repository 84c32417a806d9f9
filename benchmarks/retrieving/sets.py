"""Memories and the questions about them: the sets of this folder, and conversations."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.state.records import MemoryRecord

HERE = Path(__file__).resolve().parents[1] / "retrieval_sets"

FORMAT = """\
format of the sets
  --sets FOLDER  *.toml files with `pairs`, a list of [memory, question that it answers], and `others`, memories that answer
                 none; the file is one person's memories. Default: benchmarks/retrieval_sets.
                 people/LANGUAGE_PART.jsonl: a line {"id", "fact"} or {"kind", "question", "facts": [ids]}; the memories of
                 LANGUAGE.toml are there too. `tune` was looked at, `held_out` never.
  --locomo PATH  conversations: locomo10.json of https://github.com/snap-research/locomo (CC BY-NC 4.0: for measuring,
                 not for shipping), or one JSON object a line: {"conversation", "turns": [{"id", "session", "date",
                 "text"}], "questions": [{"q", "cat", "ev": [ids of turns]}]}
"""

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""LoCoMo's, as its authors number them; 5 has no answer in the conversation and is left out."""


@dataclass(frozen=True)
class Question:
    """A question and the memories that answer it."""

    text: str
    answers: tuple[int, ...]
    """Their numbers in the memories of the person."""
    category: str = ""


@dataclass(frozen=True)
class Person:
    """One person's memories and what is asked about them."""

    name: str
    memories: list[MemoryRecord]
    questions: list[Question]

    def apart(self) -> Person:
        """Return the same memories, each in a conversation of its own."""
        alone = [
            memory.model_copy(update={"thread_id": f"turn {number}", "position": 0})
            for number, memory in enumerate(self.memories)
        ]
        return replace(self, memories=alone)

    def shortened(self, count: int) -> Person:
        """Return the person with about `count` of the questions, from everywhere in the list."""
        return replace(self, questions=self.questions[:: max(1, len(self.questions) // count)])


def read_sets(folder: Path) -> list[Person]:
    """Return the person of each file in `folder`."""
    return [_read_pairs(path) for path in sorted(folder.glob("*.toml"))]


def read_people(folder: Path) -> list[Person]:
    """Return the person of each file in `folder`/people, with the facts of the set of their language besides."""
    others = {person.name: person.memories for person in read_sets(folder)}
    return [_read_person(path, others) for path in sorted((folder / "people").glob("*.jsonl"))]


def _read_person(path: Path, others: Mapping[str, list[MemoryRecord]]) -> Person:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    facts = [row for row in rows if "fact" in row]
    numbers = {fact["id"]: number for number, fact in enumerate(facts)}
    questions = [
        Question(row["question"], tuple(numbers[fact] for fact in row["facts"]), row["kind"])
        for row in rows
        if "question" in row
    ]
    language = path.stem.partition("_")[0]
    return Person(path.stem, [*(MemoryRecord(text=fact["fact"]) for fact in facts), *others[language]], questions)


def read_conversations(path: Path) -> list[Person]:
    """Return the user of each conversation, whose memories are its turns."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        conversations = map(_from_locomo, json.loads(text))
    else:
        conversations = map(json.loads, text.splitlines())
    return [_read_turns(conversation) for conversation in conversations]


def _read_pairs(path: Path) -> Person:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    texts = [*(memory for memory, _ in data["pairs"]), *data["others"]]
    questions = [Question(question, (number,)) for number, (_, question) in enumerate(data["pairs"])]
    return Person(path.stem, [MemoryRecord(text=text) for text in texts], questions)


def _read_turns(conversation: dict[str, Any]) -> Person:
    name = conversation["conversation"]
    turns = conversation["turns"]
    numbers = {turn["id"]: number for number, turn in enumerate(turns)}
    questions = []
    for asked in conversation["questions"]:
        answers = tuple(dict.fromkeys(numbers[turn] for turn in asked["ev"] if turn in numbers))
        if answers and asked["cat"] in CATEGORIES:
            questions.append(Question(asked["q"], answers, CATEGORIES[asked["cat"]]))
    return Person(name, list(_records(turns)), questions)


def _records(turns: Sequence[dict[str, Any]]) -> Iterator[MemoryRecord]:
    session, position = None, 0
    for turn in turns:
        position = position + 1 if turn["session"] == session else 0
        session = turn["session"]
        said = datetime.strptime(turn["date"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        thread = f"session {session}"
        yield MemoryRecord(text=turn["text"], type="turn", thread_id=thread, position=position, created_at=said)


def _from_locomo(sample: dict[str, Any]) -> dict[str, Any]:
    """Return a sample of locomo10.json in the form of a line; a shared photo is the caption it comes with."""
    spoken = sample["conversation"]
    turns = []
    for session in range(1, len(spoken)):
        for turn in spoken.get(f"session_{session}", ()):
            photo = f" [shares photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            date = spoken[f"session_{session}_date_time"]
            text = f"{turn['speaker']}: {turn['text']}{photo}"
            turns.append({"id": turn["dia_id"], "session": session, "date": date, "text": text})
    questions = [{"q": qa["question"], "cat": qa["category"], "ev": qa.get("evidence", ())} for qa in sample["qa"]]
    return {"conversation": sample["sample_id"], "turns": turns, "questions": questions}
