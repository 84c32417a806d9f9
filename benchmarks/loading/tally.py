"""What became of what people did: milliseconds, errors, and what was acknowledged to them."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar
from uuid import NAMESPACE_OID, uuid5

import httpx
from langgraph_sdk.errors import APIStatusError

from discreet.errors import DiscreetError

T = TypeVar("T")


def message_id(mark: str) -> str:
    """Return the id of the message that has that mark."""
    return str(uuid5(NAMESPACE_OID, mark))


@dataclass(frozen=True)
class Kept:
    """Something that a server said it has."""

    user_id: str
    place: str
    """The id of an entry, or of a thread."""
    mark: str
    """A word that only this message has."""

    @property
    def message_id(self) -> str:
        """Id of the message, if it was one of a thread."""
        return message_id(self.mark)


@dataclass
class Tally:
    """Of one run. Everything in it goes through JSON, from the process of the people to that of the report."""

    milliseconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """By operation, of what succeeded."""
    errors: Counter[str] = field(default_factory=Counter)
    """By operation and code."""
    failed_at: list[float] = field(default_factory=list)
    """Times since the epoch."""
    kept: list[Kept] = field(default_factory=list)
    messages: int = 0
    """That were answered."""
    repeated: int = 0
    """Attempts that followed a failed one."""
    cpu_seconds: float = 0.0
    """Of the people's process."""

    async def timed(self, operation: str, work: Awaitable[T]) -> T | None:
        """Return what `work` returns; None, once it is noted, if it fails."""
        began = time.perf_counter()
        try:
            found = await work
        except (DiscreetError, httpx.HTTPError, APIStatusError, OSError) as error:
            self.errors[f"{operation}: {code_of(error)}"] += 1
            self.failed_at.append(time.time())
            return None
        self.milliseconds[operation].append(1e3 * (time.perf_counter() - began))
        return found

    def clear(self) -> None:
        """Forget what was noted so far."""
        vars(self).update(vars(Tally()))

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        kept = [[each.user_id, each.place, each.mark] for each in self.kept]
        return {**vars(self), "kept": kept}

    @classmethod
    def read(cls, written: dict[str, Any]) -> Self:
        """Return what `as_dict` wrote."""
        return cls(
            **{
                **written,
                "milliseconds": defaultdict(list, written["milliseconds"]),
                "errors": Counter(written["errors"]),
                "kept": [Kept(*each) for each in written["kept"]],
            }
        )


def code_of(error: Exception) -> str:
    """Return what an error is counted as, without any text of a message."""
    if isinstance(error, DiscreetError):
        return error.code
    if isinstance(error, httpx.HTTPStatusError):
        return str(error.response.status_code)
    if isinstance(error, APIStatusError):
        return str(error.status_code)
    return type(error).__name__
