"""Verifying while others write, seal and trim: each of it is played before each statement that a verification sends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from discreet.storage.audit.verifying import verify

Play = Callable[[Any], Awaitable[object]]


async def write(trail) -> None:
    for user in ("ann", "bob", "new"):
        await trail.write(user, 1)


async def write_and_seal(trail) -> None:
    await write(trail)
    await trail.sealer.seal()


async def seal(trail) -> None:
    await trail.sealer.seal()


async def trim(trail) -> None:
    await trail.trimmer.trim(trail.now - timedelta(days=300))


async def trim_and_seal(trail) -> None:
    await trim(trail)
    await write_and_seal(trail)


PLAYS: dict[str, Play] = {
    "writing": write,
    "sealing": seal,
    "writing and sealing": write_and_seal,
    "trimming": trim,
    "trimming, writing and sealing": trim_and_seal,
}


class Beside:
    """The pool of a trail, which has something done before the statement of a number."""

    def __init__(self, trail: Any, play: Play, at: int) -> None:
        self._trail = trail
        self._play = play
        self._at = at
        self.statements = 0

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        self.statements += 1
        if self.statements == self._at:
            await self._play(self._trail)
        async with self._trail.pool.connection() as conn:
            yield conn


async def fill(trail) -> None:
    """Have chains with several seals, some so old that they are trimmed, and entries without a seal."""
    for user in ("ann", "bob", "cyd", "dan"):
        await trail.write(user, 2)
    await trail.log.record("setting.change", user_key=None, data="setting")
    await trail.sealer.seal()
    trail.now += timedelta(days=400)
    await trail.write("ann", 3)
    await trail.write("bob", 1)
    await trail.sealer.seal()
    await trail.write("bob", 2)


@pytest.mark.slow
@pytest.mark.parametrize("what", PLAYS)
async def test_nothing_is_found_whatever_goes_on_beside_it(trail, what):
    at, told = 1, []
    while True:
        await trail.begin_anew()
        await fill(trail)
        beside = Beside(trail, PLAYS[what], at)
        report = await verify(beside, key=trail.keys.audit_key, now=trail.now, page=4)  # type: ignore[arg-type]  # a pool's one method
        told += [(at, finding) for finding in report.findings]
        if beside.statements < at:
            break
        assert not (await trail.verify()).findings, (at, what)
        at += 1
    assert not told, "\n".join(map(str, told))
    assert at > 15
