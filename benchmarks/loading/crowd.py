"""People who write a message, read the answer, wait some seconds and write the next one: a closed loop."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from loading.tally import Tally

VOICE_SHARE = 0.3
"""Of the messages; the others are text."""

_NAMES = ("Anna", "Bob", "Liu", "Mia", "Pavel", "Tom")
_DEEDS = ("bought", "dreams of", "found", "likes", "lost", "photographs", "repairs", "sold")
_THINGS = ("bicycle", "boat", "garden", "painting", "parrot", "recipe", "telescope", "violin")
_WHERE = ("at work", "every winter", "in Hanoi", "near the lake", "on Sundays", "with the neighbours")
_LETTERS = "bcdfghjklmnpqrst"


@dataclass(frozen=True)
class Pace:
    """Who comes when, and how fast they are."""

    users: int
    per_second: float
    """New ones."""
    seconds: float
    """From the first one's first message to the last one's last."""
    wait_seconds: tuple[float, float] = (5.0, 10.0)
    """Between an answer and the next message."""
    first_turn: int = 16
    """Number of everybody's first message, so that no message comes twice."""


@dataclass(frozen=True)
class Said:
    """One message."""

    text: str
    mark: str
    """A word that no other message has, and no redactor minds."""
    kind: Literal["text", "voice"]

    @property
    def question(self) -> str:
        """What somebody would look for."""
        return self.text.partition(",")[0] + "?"

    @property
    def content(self) -> str | list[dict[str, Any]]:
        """Return it as a client sends it."""
        if self.kind == "text":
            return self.text
        return [
            {
                "type": "audio",
                "url": f"https://media.example.com/{self.mark}.ogg",
                "mime_type": "audio/ogg",
                "durationMs": 8_000,
                "summary": self.text,
            }
        ]


FIRST = Pace(users=4, per_second=4, seconds=1, first_turn=0)
"""Those who come before anything is measured: a process loads much with its first requests."""

Act = Callable[[int, Said], Awaitable[None]]
"""Has the user of that number say that, and reads the answer."""


async def come(pace: Pace, act: Act, tally: Tally) -> Tally:
    """Let people come and talk until the time is over; what is under way then ends."""
    began = time.perf_counter()

    async def live(number: int) -> None:
        drawn = random.Random(number)
        await asyncio.sleep(number / pace.per_second)
        turn = pace.first_turn
        while time.perf_counter() - began < pace.seconds:
            await act(number, _said(drawn, number, turn))
            turn += 1
            left = pace.seconds - (time.perf_counter() - began)
            await asyncio.sleep(min(drawn.uniform(*pace.wait_seconds), max(0.0, left)))

    cpu = time.process_time()
    async with asyncio.TaskGroup() as people:
        for number in range(pace.users):
            people.create_task(live(number))
    tally.cpu_seconds = time.process_time() - cpu
    return tally


def _said(drawn: random.Random, number: int, turn: int) -> Said:
    mark = f"{_letters(number)}a{_letters(turn)}"
    name, deed, thing, where = (drawn.choice(words) for words in (_NAMES, _DEEDS, _THINGS, _WHERE))
    kind: Literal["text", "voice"] = "voice" if drawn.random() < VOICE_SHARE else "text"
    return Said(f"{name} {deed} a {thing} {where}, and calls it {mark}.", mark, kind)


def _letters(number: int) -> str:
    return f"{number:03x}".translate(str.maketrans("0123456789abcdef", _LETTERS))
