"""Callers who take turns with a storage, one after another without a pause: search, append to the log, now and then save."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Literal
from uuid import uuid4

from comparing.spread import Spread
from racing.contestant import LIMIT
from racing.people import Lookup, Person, Question, make_person, make_questions

from discreet.errors import DiscreetError
from discreet.state.records import MemoryRecord, TurnRecord
from discreet.storage import Storage

SAVES_EVERY = 3
"""Turns, of which one has something to remember."""
MEMORIES = 200
"""Of each user, at first."""
NEW_FACTS = 5_000
"""Facts that are saved; then they begin anew."""
PAUSE_SECONDS = 0.05
"""After an error: who tried again at once would be refused thousands of times."""

Operation = Literal["search", "log append", "save"]
OPERATIONS: tuple[Operation, ...] = ("search", "log append", "save")


@dataclass(frozen=True)
class Users:
    """Who calls, and what they say."""

    people: list[Person]
    questions: list[Question]
    """One of each."""
    facts: list[str]
    """New ones, of nobody."""
    embeddings: Lookup

    @classmethod
    def make(cls, number: int, dims: int) -> Users:
        """Return `number` users; what they say can be embedded."""
        embeddings = Lookup(dims)
        people = [make_person(n, memories=MEMORIES, dims=dims) for n in range(number)]
        questions = [question for person in people for question in make_questions(person, 1, embeddings)]
        new = make_person(number, memories=NEW_FACTS, dims=dims)
        embeddings.add(new.texts, new.vectors)
        return cls(people, questions, new.texts, embeddings)


@dataclass
class Tally:
    """What became of the calls, apart for the slow user and for all others."""

    slow: str | None
    """Their user_id."""
    seconds: float
    """In which calls began."""
    milliseconds: defaultdict[tuple[bool, Operation], list[float]] = field(default_factory=lambda: defaultdict(list))
    """Of calls that succeeded, by whether the user is the slow one."""
    errors: Counter[tuple[bool, Operation, str]] = field(default_factory=Counter)
    """By code, of an error that isn't ours by class."""

    async def call(self, user_id: str, operation: Operation, work: Awaitable[object]) -> None:
        """Wait for `work` and note how that went."""
        slow = user_id == self.slow
        started = time.perf_counter()
        try:
            await work
        except DiscreetError as error:
            self.errors[slow, operation, error.code] += 1
        except Exception as error:  # noqa: BLE001  # which errors there are is what is measured
            self.errors[slow, operation, type(error).__name__] += 1
        else:
            self.milliseconds[slow, operation].append(1e3 * (time.perf_counter() - started))
            return
        await asyncio.sleep(PAUSE_SECONDS)

    def spreads(self, title: str) -> list[Spread]:
        """Return a line for each operation."""
        group = f"{title}: {sum(map(len, self.milliseconds.values())) / self.seconds:,.0f} calls a second"
        who = {False: "all" if self.slow is None else "others", True: "the slow user"}
        return [
            Spread.of(group, f"{who[slow]}: {operation}", self.milliseconds[slow, operation])
            for slow in (False, True)
            for operation in OPERATIONS
            if (slow, operation) in self.milliseconds
        ]

    def failures(self) -> list[str]:
        """Return a line for each kind of error."""
        return [
            f"{'the slow user' if slow else 'others'}: {operation}: {code}: {times:,}"
            for (slow, operation, code), times in sorted(self.errors.items())
        ] or ["none"]


async def call_for(storage: Storage, users: Users, *, callers: int, seconds: float, slow: str | None) -> Tally:
    """Let `callers` call at once for so many `seconds`; each turn is of a user drawn anew."""
    tally = Tally(slow, seconds)
    numbers = count()
    started = time.perf_counter()
    calling = [
        asyncio.create_task(
            _call(storage, users, tally, drawn=random.Random(caller), numbers=numbers, until=started + seconds)
        )
        for caller in range(callers)
    ]
    await asyncio.gather(*calling)
    return tally


async def _call(
    storage: Storage, users: Users, tally: Tally, *, drawn: random.Random, numbers: Iterator[int], until: float
) -> None:
    while time.perf_counter() < until:
        asked = drawn.choice(users.questions)
        user_id, number = asked.user_id, next(numbers)
        found = storage.memories.search(user_id, asked.text, limit=LIMIT)
        await tally.call(user_id, "search", found)
        await tally.call(user_id, "log append", storage.log.append(_turn(user_id, asked.text)))
        if number % SAVES_EVERY == 0:
            fact = users.facts[number // SAVES_EVERY % NEW_FACTS]
            await tally.call(user_id, "save", storage.memories.save(user_id, [MemoryRecord(text=fact)]))


def _turn(user_id: str, text: str) -> TurnRecord:
    now = datetime.now(UTC)
    return TurnRecord(
        request_id=uuid4().hex,
        user_id=user_id,
        thread_id=f"thread of {user_id}",
        input_text=text,
        output_text="Here is what I know of it.",
        started_at=now,
        ended_at=now,
    )
