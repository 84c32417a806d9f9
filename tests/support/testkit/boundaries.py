"""Do something else between two statements of what is under way: every interleaving at the boundaries of statements, one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from psycopg import AsyncCursor

PATIENCE = 0.4
"""Seconds that the other may take before the first goes on: it may be waiting for what that has locked."""

_boundary: ContextVar[Boundary | None] = ContextVar("_boundary", default=None)


class Boundary:
    """The statement of the block before which something else is done."""

    def __init__(self, at: int, act: Callable[[], Awaitable[object]]) -> None:
        self.passed = 0
        """Statements so far."""
        self.task: asyncio.Task[object] | None = None
        """What is done; None if there were fewer statements."""
        self._at, self._act = at, act

    async def step(self) -> None:
        """Be before a statement."""
        self.passed += 1
        if self.passed == self._at:
            token = _boundary.set(None)
            self.task = asyncio.ensure_future(self._act())
            _boundary.reset(token)
            await asyncio.wait([self.task], timeout=PATIENCE)

    async def end(self) -> None:
        """Wait for what is done, or do it now if there were fewer statements."""
        await (self._act() if self.task is None else self.task)


@contextmanager
def at_statement(number: int, act: Callable[[], Awaitable[object]]) -> Iterator[Boundary]:
    """Do `act` before the statement of that number which the block executes, or tasks that it begins."""
    before = AsyncCursor.execute

    async def execute(cursor, query, params=None, **options):
        if (boundary := _boundary.get()) is not None:
            await boundary.step()
        return await before(cursor, query, params, **options)

    boundary = Boundary(number, act)
    token = _boundary.set(boundary)
    AsyncCursor.execute = execute  # type: ignore[method-assign]  # stands in
    try:
        yield boundary
    finally:
        AsyncCursor.execute = before  # type: ignore[method-assign]  # as it was
        _boundary.reset(token)
