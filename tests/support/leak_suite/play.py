"""Play scenes on a server of their own; return what it left and what it said."""

from __future__ import annotations

import asyncio
import secrets
import time
import traceback
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from kit.planter import Planter

from discreet.storage.embedded import lease_server
from leak_suite.layers import write_project
from leak_suite.people import Person, Replies, Reply, person
from leak_suite.scenes import SCENES
from leak_suite.server import Found, environment_of_server, left_behind, running
from leak_suite.visit import Visit

SCENE_SECONDS = 90
AT_ONCE = 6
HOOK_SECONDS = 20


@dataclass
class Played:
    """What came of it."""

    plants: Planter
    at_rest: Found
    """Values on disk, by name: where."""
    in_replies: Found
    """Values in answers in which nothing may stand, by name: in which."""
    given_away: set[str]
    """What somebody else was let do with the owner's things."""
    unmet: list[str]
    """What did not work as it should."""
    looks: int
    replies: Replies = field(repr=False)

    @property
    def leaks(self) -> dict[str, set[str]]:
        """Both kinds of places, by the name of the value."""
        names = self.at_rest.keys() | self.in_replies.keys()
        return {name: self.at_rest.get(name, set()) | self.in_replies.get(name, set()) for name in sorted(names)}


def play(
    folder: Path,
    layers: Collection[str],
    *,
    scenes: Iterable[str] = tuple(SCENES),
    webhooks: bool = False,
    **settings: str,
) -> Played:
    """Start a server with these `layers` and `settings` in its environment, play the `scenes` on it, stop it, and search."""
    scenes = tuple(scenes)
    plants = Planter()
    folder.mkdir(parents=True, exist_ok=True)
    write_project(folder, layers, webhooks=webhooks)
    cluster = folder / ".discreet"
    replies = Replies()
    secret = secrets.token_hex(32)
    with lease_server(cluster) as dsn:
        with (
            receiving_hooks(replies) as hooks,
            running(folder, environment_of_server(secret, hooks) | settings, dsn, plants) as server,
        ):
            stage = Stage(server.url, hooks, secret, plants, replies)
            asyncio.run(stage.play_all(scenes))
            if webhooks and "webhook" in scenes:
                wait_for_hook(replies)
        at_rest = left_behind(server, plants, dsn, cluster)
    return Played(plants, at_rest, replies.holding(plants), replies.given_away(), stage.unmet, server.looks, replies)


def wait_for_hook(replies: Replies) -> None:
    """Wait until the server has called; it does so some time after the run's answer is out."""
    for _ in range(HOOK_SECONDS * 20):
        if any(reply.what == "webhook" for reply in replies.said):
            return
        time.sleep(0.05)


@dataclass
class Stage:
    """A server that scenes are played on, whatever runs there: it has the graph `leaky` and our authentication."""

    url: str
    hooks: str
    """Where it may send webhooks."""
    secret: str
    """What its tokens are signed with."""
    plants: Planter
    replies: Replies
    unmet: list[str] = field(default_factory=list)

    async def play_all(self, scenes: tuple[str, ...]) -> None:
        """Play all, some at once, each with an owner and a stranger of its own."""
        entrance = asyncio.Semaphore(AT_ONCE)

        async def one(route: str) -> None:
            async with entrance, self._person("owner", route) as owner, self._person("other", route) as other:
                visit = Visit(route, self.plants, owner, other, self.hooks, self.unmet)
                try:
                    async with asyncio.timeout(SCENE_SECONDS):
                        await SCENES[route](visit)
                except Exception:  # noqa: BLE001  # a scene that breaks is a failure like any other; the rest goes on
                    self.unmet.append(f"{route}: broke with {traceback.format_exc(limit=-3)}")

        await asyncio.gather(*(one(route) for route in scenes))

    def _person(self, who: str, route: str) -> AbstractAsyncContextManager[Person]:
        subject = self.plants.value(f"identity, {who}", route, "email")
        return person(self.url, self.replies, subject=subject, secret=self.secret)


@contextmanager
def receiving_hooks(replies: Replies) -> Iterator[str]:
    """Receive webhooks on this machine; what they bring counts as an answer to somebody else."""

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the library's name
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            where = "webhook" if self.path.startswith("/hook") else "a request to LangSmith"
            called = "" if where == "webhook" else self.path
            replies.said.append(Reply("later", where, 200, data + called.encode()))
            self.send_response(204)
            self.end_headers()

        do_GET = do_PATCH = do_POST

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
