"""Hindsight's server, which runs in an environment of its own (BENCH_HINDSIGHT, see the Makefile), asked over HTTP.

It has no language model and no reranking model here; its embeddings come from ours, over a server that speaks OpenAI's protocol.
It needs the extension pg_trgm, which the embedded PostgreSQL lacks, so it gets the PostgreSQL that it brings. Everything is on loopback.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from recalling.layers import Layer, NotStartedError
from serving.server import free_port

from discreet.ports import EmbeddingProvider
from discreet.testing.openai_server import openai_server

ENVIRONMENT = Path(os.environ.get("BENCH_HINDSIGHT", ".venv-bench/hindsight"))
QUERY, PASSAGE = "query: ", "passage: "
"""Before each text, so that our server knows what it is; Hindsight has settings for them."""
NOBODY = 65_534
"""PostgreSQL refuses to be root."""
START_SECONDS = 90


class ByPrefix:
    """Our embedding behind a protocol that knows no difference between questions and memories."""

    def __init__(self, embeddings: EmbeddingProvider) -> None:
        self.dims = embeddings.dims
        self.name = embeddings.name
        self.calibration = embeddings.calibration
        self._embeddings = embeddings

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text with its prefix."""
        if text.startswith(QUERY):
            return self._embeddings.embed_query(text.removeprefix(QUERY))
        return self._embeddings.embed_documents([text.removeprefix(PASSAGE)])[0]

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of texts with prefixes."""
        return list(map(self.embed_query, texts))

    async def aembed_query(self, text: str) -> list[float]:
        """Do what `embed_query` does."""
        return self.embed_query(text)

    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Do what `embed_documents` does."""
        return self.embed_documents(texts)


class Hindsight:
    """A bank for each user."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def save(self, user_id: str, texts: Sequence[str]) -> None:
        """Retain each text as an item of its own."""
        await self._call("PUT", f"/v1/default/banks/{user_id}", {})
        await self._call("POST", f"/v1/default/banks/{user_id}/memories", {"items": [{"content": t} for t in texts]})

    async def search(self, user_id: str, question: str) -> list[str]:
        """Recall."""
        answer = await self._call("POST", f"/v1/default/banks/{user_id}/memories/recall", {"query": question})
        return [each["text"] for each in answer.json()["results"]]

    async def _call(self, method: str, path: str, given: dict[str, object]) -> httpx.Response:
        answer = await self._client.request(method, path, json=given)
        answer.raise_for_status()
        return answer


@asynccontextmanager
async def hindsight(dsn: str, embeddings: EmbeddingProvider) -> AsyncIterator[Layer]:
    """Start its PostgreSQL and its server."""
    with (
        openai_server(embeddings=ByPrefix(embeddings)) as model,
        TemporaryDirectory() as folder,
        _postgres(Path(folder)) as own_dsn,
        _server(_settings(own_dsn, model.base_url)) as url,
    ):
        async with httpx.AsyncClient(base_url=url, timeout=120) as client:
            yield Hindsight(client)


def hindsight_version() -> str | None:
    """Return the release that is installed in `ENVIRONMENT`, None if there is none."""
    found = list(ENVIRONMENT.glob("lib/python*/site-packages/hindsight_api_slim-*.dist-info"))
    return found[0].name.removesuffix(".dist-info").rpartition("-")[2] if found else None


def _settings(dsn: str, base_url: str) -> dict[str, str]:
    """Return what makes it work without any model but ours, and without bounds that were meant for other models."""
    settings = {
        "DATABASE_URL": dsn,
        "LLM_PROVIDER": "none",
        "RERANKER_PROVIDER": "rrf",
        "EMBEDDINGS_PROVIDER": "openai",
        "EMBEDDINGS_OPENAI_API_KEY": "unused",
        "EMBEDDINGS_OPENAI_MODEL": "local",
        "EMBEDDINGS_OPENAI_BASE_URL": base_url,
        "EMBEDDINGS_QUERY_PREFIX": QUERY,
        "EMBEDDINGS_PASSAGE_PREFIX": PASSAGE,
        "SEMANTIC_MIN_SIMILARITY": "0",
        "GRAPH_SEED_MIN_SIMILARITY": "0",
        "TEMPORAL_SEMANTIC_MIN_SIMILARITY": "0",
    }
    return {f"HINDSIGHT_API_{name}": value for name, value in settings.items()}


@contextmanager
def _postgres(folder: Path) -> Iterator[str]:
    """Run the PostgreSQL that comes with it, in `folder`, and yield its DSN."""
    [binary] = ENVIRONMENT.glob("lib/python*/site-packages/pg0/bin/pg0")
    home = folder / "postgres"
    home.mkdir()
    program = shutil.copy(binary, home)
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": ()} if os.geteuid() == 0 else {}
    if as_nobody:
        folder.chmod(0o755)
        shutil.chown(home, NOBODY, NOBODY)
    environment = {**os.environ, "HOME": str(home)}
    port = free_port()

    def call(*arguments: str) -> None:
        given = [program, *arguments]
        subprocess.run(given, check=True, cwd=home, env=environment, stdout=subprocess.DEVNULL, **as_nobody)

    try:
        call("start", "--port", str(port))
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotStartedError("its PostgreSQL does not start") from error
    try:
        yield f"postgresql://postgres:postgres@127.0.0.1:{port}/postgres"
    finally:
        call("stop")


@contextmanager
def _server(settings: dict[str, str]) -> Iterator[str]:
    """Run the server, and yield its address when it answers."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [ENVIRONMENT / "bin/hindsight-api", "--host", "127.0.0.1", "--port", str(port)],
        env={**os.environ, **settings},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(url, process)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    began = time.perf_counter()
    while process.poll() is None and time.perf_counter() - began < START_SECONDS:
        with suppress(httpx.TransportError):
            if httpx.get(f"{url}/health").is_success:
                return
        time.sleep(0.2)
    raise NotStartedError(f"no answer of its server within {START_SECONDS} seconds")
