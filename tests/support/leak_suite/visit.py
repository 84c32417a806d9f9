"""One route through the server: its values, its callers, and what was expected of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kit.planter import Planter

from leak_suite.people import Person

Scene = Callable[["Visit"], Awaitable[None]]

RUN_SECONDS = 30.0
RUN_PARTS = ("", "/stream", "/join")
UNFINISHED = ("pending", "running")


@dataclass
class Visit:
    """What a scene needs."""

    route: str
    plants: Planter
    owner: Person
    other: Person
    hooks: str
    """Where webhooks may go."""
    unmet: list[str] = field(default_factory=list)
    """What did not work as it should."""
    read_runs: set[str] = field(default_factory=set)
    """Runs that were over when they were read: nothing of them changes any more."""
    tried: set[tuple[str, str]] = field(default_factory=set)
    """What somebody else has tried to read: they are told the same each time."""

    def plant(self, place: str, kind: str | None = None) -> str:
        """Return the value to plant at `place` of this route."""
        return self.plants.value(place, self.route, kind)

    def planted_by_graph(self, *places: str) -> None:
        """Say what the graph plants, which has the same values."""
        for place in places:
            self.plant(place)

    def expect(self, what: str, *, holds: bool) -> None:
        """Note `what` if it does not hold."""
        if not holds:
            self.unmet.append(f"{self.route}: {what}")

    def message(self, text: str) -> dict[str, Any]:
        """Return the input of a run in which the user says `text`."""
        return {"messages": [{"role": "user", "content": text}]}

    def leaky(self, *steps: str, **channels: Any) -> dict[str, Any]:
        """Return the body of a run of the leaky graph, with a value in its message."""
        said = self.message(f"My secret is {self.plant('input')}, thanks.")
        return {"assistant_id": "leaky", "input": {**said, "steps": list(steps), "route": self.route, **channels}}

    async def thread(self, **body: Any) -> str:
        """Create a thread of the owner's and return its id."""
        made = await self.owner.call("live", "POST", "/threads", body)
        return str(made["thread_id"])

    async def settled(self, thread: str, run: str) -> str:
        """Wait until a run is over and return its status."""
        path = f"/threads/{thread}/runs/{run}"
        for _ in range(int(RUN_SECONDS / 0.1)):
            found = await self.owner.call("later", "GET", path)
            if isinstance(found, Mapping) and found.get("status") not in UNFINISHED:
                return str(found.get("status"))
            await self.owner.call("later", "GET", f"{path}/join")
            await asyncio.sleep(0.1)
        self.expect("a run came to an end", holds=False)
        return "unfinished"

    async def read_thread(self, thread: str) -> None:
        """Read all that there is of a thread, as its owner and as somebody else."""
        reads: tuple[tuple[str, str, Any], ...] = (
            ("GET", f"/threads/{thread}", None),
            ("GET", f"/threads/{thread}/state?subgraphs=true", None),
            ("GET", f"/threads/{thread}/history?limit=50", None),
            ("POST", f"/threads/{thread}/history", {"limit": 50}),
            ("GET", f"/threads/{thread}/runs?limit=50", None),
        )
        for method, path, body in reads:
            await self.owner.call("later", method, path, body)
            await self._try(method, path, body)
        runs = await self.owner.call("later", "GET", f"/threads/{thread}/runs")
        for run in runs if isinstance(runs, list) else ():
            await self._read_run(f"/threads/{thread}/runs/{run['run_id']}", over=run["status"] not in UNFINISHED)
        for run in runs[:1] if isinstance(runs, list) else ():  # one stands for all: whose it is is up to the thread
            for part in RUN_PARTS:
                await self._try("GET", f"/threads/{thread}/runs/{run['run_id']}{part}")

    async def _read_run(self, path: str, *, over: bool) -> None:
        """Read all that there is of a run, unless it was over when it was read before."""
        if path in self.read_runs:
            return
        for part in RUN_PARTS if over else RUN_PARTS[:1]:
            await self.owner.call("later", "GET", path + part)
        if over:
            self.read_runs.add(path)

    async def _try(self, method: str, path: str, body: Any = None) -> None:
        """Read something as somebody else, once."""
        if (method, path) not in self.tried:
            self.tried.add((method, path))
            await self.other.call("foreign", method, path, body)
