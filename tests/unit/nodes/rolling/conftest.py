"""Conversations by numbers, and what stands around a summariser."""

import asyncio
import re
from dataclasses import dataclass, field

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from discreet.errors import ProviderError, StorageUnavailableError
from discreet.nodes.rolling_summary import RollingSummariser
from discreet.ports import RollingSummary
from discreet.testing import InMemoryRollingSummaries


class AsGiven:
    """A redactor that finds nothing, so that it is the summariser's own that a test sees."""

    def redact(self, text):
        return text


class Summaries(InMemoryRollingSummaries):
    """Lets others have their turn before it answers, and can be down."""

    def __init__(self):
        super().__init__(redactor=AsGiven())
        self.is_down = False

    @property
    def kept(self):
        return self._kept

    async def get(self, user_id, thread_id):
        await asyncio.sleep(0)
        if self.is_down:
            raise StorageUnavailableError
        return await super().get(user_id, thread_id)

    async def commit(self, user_id, thread_id, *, expected, new):
        await asyncio.sleep(0)
        return await super().commit(user_id, thread_id, expected=expected, new=new)


@dataclass
class Numbers:
    """Summarises `q7` to `7`, so that a summary tells the rounds that it covers; shortens to the same in another form."""

    calls: list = field(default_factory=list)
    fails: int = 0
    gate: asyncio.Event | None = None
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def summarize(self, rounds, *, earlier="", max_tokens=200):
        self.calls.append((tuple(rounds), earlier, max_tokens))
        self.asked.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.fails:
            self.fails -= 1
            raise ProviderError("The model failed.")
        if not rounds:
            return ",".join(re.findall(r"\d+", earlier))
        return " ".join(re.findall(r"q(\d+)", " ".join(each.said for each in rounds)))


def covered(summary):
    """Return the numbers of the rounds in a summary by `Numbers`."""
    return [int(number) for number in re.findall(r"\d+", summary.text)]


def talk(rounds, *, branch="", start=1):
    """Return a conversation whose n-th round is `q<n>` and `a<n>`."""
    return [
        message
        for n in range(start, rounds + 1)
        for message in (HumanMessage(f"q{n}", id=f"{branch}q{n}"), AIMessage(f"a{n}", id=f"{branch}a{n}"))
    ]


class OnALivingLoop(RollingSummariser):
    """A summariser whose event loop has served a turn before, as a server's."""

    async def after_turn(self, user_id, thread_id, messages, **options):
        await super().after_turn(user_id, None, [])
        await super().after_turn(user_id, thread_id, messages, **options)


@dataclass
class Rig:
    """A summariser and what it works with."""

    summariser: RollingSummariser
    summaries: Summaries
    provider: Numbers

    async def after(self, messages, *, user="ann", thread="t"):
        await self.summariser.after_turn(user, thread, messages)
        await self.summariser.drain()
        return self.summaries.kept.get((user, thread), RollingSummary())


@pytest.fixture(scope="session")
def build():
    """Return `build(**options)`: a summariser over fakes that counts a token a character."""

    def made(*, summaries=None, provider=None, count_tokens=len, **options):
        summaries, provider = summaries or Summaries(), provider or Numbers()
        return Rig(OnALivingLoop(summaries, provider, count_tokens, **options), summaries, provider)

    made.talk, made.covered, made.Numbers, made.Summaries = talk, covered, Numbers, Summaries
    made.Summariser = OnALivingLoop
    return made
