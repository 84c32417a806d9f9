"""A server with an HTTP API that several people use, whatever it is made of: what the suites of isolation and leaks need of it.

A suite makes an `ApiServer` in a fixture of its own, and gives it to what it shares with the suites of other servers:

* `ownership_battery`: operations, what is somebody's (`make_things`), and the checks of all of it (`checks`);
* `leak_suite`: scenes of LangGraph's API (`scenes`) and the stage they are played on (`play`);
* `rest_battery`: values in every field of every operation that an OpenAPI lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx
from kit.places import files, rows

from discreet.access.development import TTL, make_token
from testkit.clients import local_client


@dataclass(frozen=True, kw_only=True)
class ApiServer:
    """A running server."""

    urls: tuple[str, ...]
    """Of its processes, if each has a port of its own. They share all that is kept."""
    folder: Path
    """Where it was started, with its logs and the files that it keeps."""
    secret: str
    """What its tokens are signed with (DISCREET_JWT_SECRET)."""
    databases: tuple[str, ...] = ()
    """DSNs of all databases that it writes to."""

    @property
    def url(self) -> str:
        """Of one process."""
        return self.urls[0]

    def headers(self, subject: str, *, admin: bool = False, ttl: timedelta = TTL) -> dict[str, str]:
        """Return the headers that `subject` sends; with a negative `ttl` their token has expired."""
        return {"authorization": f"Bearer {make_token(self.secret, subject, admin=admin, ttl=ttl)}"}

    def client(self, subject: str | None, *, url: str | None = None, admin: bool = False) -> httpx.AsyncClient:
        """Return a client of `subject`, or of somebody without a token, that talks to `url` of this server."""
        return local_client(url or self.url, None if subject is None else self.headers(subject, admin=admin))

    def events(self, thread_id: str) -> str:
        """Return where the WebSocket of a thread is."""
        return f"ws{self.url.removeprefix('http')}/threads/{thread_id}/stream/events"

    def places(self) -> Iterator[tuple[str, bytes]]:
        """Yield all that it has left: every table, then every file of its folder, its logs among them."""
        for dsn in self.databases:
            yield from rows(dsn)
        yield from files(self.folder)
