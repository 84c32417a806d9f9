"""The admin page on a real server with a real database, for the browser of tests/conftest.py to look at."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI
from testkit.conflicts import plant_conflict
from testkit.conversations import talk
from testkit.proposals import plant_proposal

from discreet.access.authenticator import Authenticator
from discreet.api.admin import make_admin_router
from discreet.api.app import include
from discreet.api.me import make_me_router
from discreet.api.pages import login
from discreet.api.playground import Playground, make_playground_router
from discreet.api.services import Services
from discreet.redaction import Redactor
from discreet.rights.erasure import Erasures, Scope
from discreet.settings import Settings
from discreet.state.records import MemoryRecord, Provenance
from discreet.storage import Storage, open_storage
from discreet.testing import StubEmbeddings

SUBJECT = "ann@example.com"
SAID = datetime.now(UTC).replace(hour=9, minute=30, second=0, microsecond=0) - timedelta(days=60)
"""So long ago that nothing has expired, however many months after this was written."""
MEMORIES = [
    MemoryRecord(text="Ann keeps two African Grey parrots", type="preference", importance=8, tags=["pets"]),
    MemoryRecord(text="Chị ấy dị ứng với đậu phộng và thích phở bò", importance=9, tags=["sức khỏe"]),
    MemoryRecord(text="Живёт в Москве и работает медсестрой", tags=["работа"]),
    MemoryRecord(text="她住在上海，喜欢喝绿茶", type="preference", tags=["饮食"]),
    MemoryRecord(text="<script>document.title = 'broken'</script>", type="event"),
    MemoryRecord(text="A-very-long-word-without-any-space-" + "x" * 200, type="event"),
]

JOBS = [
    ("openai", "gpt-4o-mini", "completed", True),
    ("anthropic", "claude-haiku-4-5", "failed", True),
    ("google", "a-very-long-name-of-a-model-" + "x" * 100, "cancelled", True),
    ("openai", "gpt-4o-mini", "running", False),
]
"""Provider, model, state, and whether it is done: the newest last."""
FIGURES = {
    "applied": 38,
    "failed": 4,
    "added": 12,
    "superseded": 1,
    "known": 7,
    "summaries": 3,
    "refused_not_stated": 4,
    "refused_no_source": 2,
    "input_tokens": 1_250_000,
    "output_tokens": 90_000,
}


@dataclass(frozen=True)
class Place:
    """A server, and who may come in."""

    url: str
    """Of the admin page."""
    my_url: str
    """Of the page of one's own memories."""
    admin_key: str
    other_key: str


@pytest.fixture
def place(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Return a server with some memories of one user."""
    monkeypatch.setattr(login, "PAUSE_SECONDS", 0)
    keys = {name: secrets.token_urlsafe(24) for name in ("boss", "clerk")}
    settings = Settings(
        _env_file=None,
        data_dir=tmp_path / "data",
        api_keys=tuple(f"{name}:{hashlib.sha256(key.encode()).hexdigest()}" for name, key in keys.items()),
        admins=("boss",),
        identity_key=base64.b64encode(secrets.token_bytes(32)).decode(),
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI):
        async with open_storage(database, settings=settings, embeddings=StubEmbeddings(dims=256)) as storage:
            services = Services(
                memories=storage.memories,
                log=storage.log,
                background=storage.background,
                storage=lambda: storage,
                short_term=storage.short_term,
                memory_settings=storage.memory_settings,
                authenticator=Authenticator(settings),
                redactor=Redactor(),
                settings=settings,
            )
            await _fill(services, SUBJECT)
            await _fill(services, "clerk")
            await _talk(storage, services)
            await _let_wait(storage, services)
            app.include_router(make_admin_router(services))
            app.include_router(make_me_router(services))
            yield

    with _serve(FastAPI(lifespan=lifespan)) as port:
        yield Place(
            f"http://127.0.0.1:{port}/memory/admin", f"http://127.0.0.1:{port}/memory/me", keys["boss"], keys["clerk"]
        )


@pytest.fixture
def said():
    """Return when the memories were said, from the first on a day later each."""
    return SAID


async def _fill(services: Services, subject: str) -> None:
    user = services.authenticator.identity(subject)
    provenance = Provenance(source="extraction", model="small-model")
    feedback = [{"rating": 4, "comment": "right"}]
    for number, record in enumerate(MEMORIES):
        said = {"created_at": SAID + timedelta(days=number), "provenance": provenance, "feedback": feedback}
        await services.memories.save(user, [record.model_copy(update=said)])
    turns = [
        MemoryRecord(
            text=f"Turn number {n}", type="turn", thread_id="t", position=n, created_at=SAID - timedelta(hours=n)
        )
        for n in range(1, 31)
    ]
    await services.memories.save(user, turns)
    old = MemoryRecord(text="Ann lives in Hanoi", created_at=SAID, valid_to=SAID + timedelta(days=1))
    await services.memories.save(user, [old])


async def _talk(storage: Storage, services: Services) -> None:
    """Have conversations, two memories that may not both hold, and an erasure that is done."""
    user = services.authenticator.identity(SUBJECT)
    for text in ("Write to ann@example.com, please", "Я живу в Москве", "我住在上海", "A-very-long-word-" + "x" * 200):
        await talk(storage, text, user=user, thread=f"thread {text[:2]}")
    older = MemoryRecord(text="Ann is a vegetarian", created_at=SAID)
    newer = MemoryRecord(
        text="Ann eats fish", created_at=SAID + timedelta(days=1), conflict_flags=[str(older.entry_id)]
    )
    await services.memories.save(user, [older, newer], dedup=False)
    plant_conflict(storage.dsn, storage.background.key_of(user), older, newer)
    await Erasures(storage, settings=services.settings).erase(user, Scope(name="said", text="Nothing of the kind"))


async def _let_wait(storage: Storage, services: Services) -> None:
    """Have some batches, and some memories that wait for a yes."""
    user_key = storage.background.key_of(services.authenticator.identity(SUBJECT))
    for record in MEMORIES[:5]:
        plant_proposal(storage.dsn, user_key, text=f"{record.text} ", type=record.type, tags=record.tags)
    for provider, model, state, is_done in JOBS:
        job = await storage.background.jobs.open(provider, model, lease_seconds=60)
        await storage.background.jobs.submitted(job, f"batch_{'x' * 60}", requests=42)
        if is_done:
            error = "provider" if state == "failed" else None
            await storage.background.jobs.finish(job, state, figures=FIGURES, told="ended", error=error)


class _serve:  # read as a function
    """Run an application in a thread while the block lasts."""

    def __init__(self, app: FastAPI) -> None:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self._server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on"))
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        asyncio.run(self._server.serve([self._socket]))

    def __enter__(self) -> int:
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError("the server did not start")
            self._thread.join(0.05)
        return self._socket.getsockname()[1]

    def __exit__(self, *_error: object) -> None:
        self._server.should_exit = True
        self._thread.join(20)
        self._socket.close()
        assert not self._thread.is_alive()


@pytest.fixture
def playground(database: str, tmp_path: Path) -> Iterator[str]:
    """Return the address of a playground."""
    settings = Settings(_env_file=None, data_dir=tmp_path / "data", chat_model="offline", retrieve_timeout=60)

    @asynccontextmanager
    async def lifespan(app: FastAPI):
        async with open_storage(database, settings=settings) as storage:
            services = Services(
                memories=storage.memories,
                log=storage.log,
                short_term=storage.short_term,
                memory_settings=storage.memory_settings,
                authenticator=Authenticator(settings),
                redactor=Redactor(),
                settings=settings,
            )
            include(app, [make_playground_router(services, Playground(lambda: storage, settings))])
            await storage.memories.search("nobody", "warm")  # loads the embedding
            yield

    with _serve(FastAPI(lifespan=lifespan)) as port:
        yield f"http://127.0.0.1:{port}/memory/playground"
