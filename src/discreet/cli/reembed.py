"""`discreet reembed`: move all memories to the embedding model of the settings, now and to the end."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from discreet.driver_errors import storage_errors
from discreet.encryption import keys_from_settings
from discreet.errors import StorageError
from discreet.providers import embedding_provider
from discreet.settings import load_settings
from discreet.storage import Storage, open_storage
from discreet.storage.database.connecting.connection import connect
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.embedding_choice import chosen_embeddings
from discreet.storage.memories.spaces.reembedding import Reembedding
from discreet.storage.memories.spaces.reindex import rebuild_search_index
from discreet.storage.memories.spaces.spaces import EmbeddingSpace, activate_space, hold_space, register_space

POLL_SECONDS = 2.0
"""How often to look whether another process that is at it has come to the end."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What the command did."""

    space: str
    """Name of the embedding space: provider:model:dims."""
    rows: int
    """Memories embedded anew."""
    failures: int
    """Memories that could not be: their key is not known, or the model refuses them."""
    left: int
    """Memories of people who are not through, about."""
    seconds: float
    """That all of it took."""
    reindexed: bool
    """Whether the covering index was rebuilt."""


def run_reembed(dsn: str | None, *, as_json: bool, reindex: bool) -> int:
    """Embed anew what is of another model or size; return 1 if something is left, else 0.

    Raises:
        ProviderError: The embedding model keeps failing. What was moved stays so; run it again.
        StorageError: The database failed, or another model was activated meanwhile.
    """
    summary = asyncio.run(_reembed(dsn, reindex=reindex))
    if as_json:
        print(json.dumps(asdict(summary)))
    else:
        print(
            f"{summary.rows:,} memories embedded by {summary.space} in {summary.seconds:.1f} s; "
            f"{summary.failures:,} failed, {summary.left:,} left."
        )
    return 1 if summary.left else 0


async def _reembed(dsn: str | None, *, reindex: bool) -> Summary:
    start = time.perf_counter()
    settings = load_settings()
    without_maintenance = settings.model_copy(update={"reembed": False})
    async with open_storage(dsn, settings=without_maintenance) as storage:
        choice = await chosen_embeddings(
            storage.works_pool, storage.memory_settings, settings, otherwise=embedding_provider(settings=settings)
        )
        embeddings = choice.embeddings
        with storage_errors():
            space = await register_space(storage.works_pool, embeddings)
            await activate_space(storage.works_pool, space)
            sealer = FieldSealer(keys_from_settings(settings))
            reembedding = Reembedding(
                storage.works_pool,
                locks=UserLocks(storage.works_pool),
                embeddings=embeddings,
                space=space,
                sealer=sealer,
            )
            rows, failures = await _to_the_end(reembedding, storage, space)
            left = await reembedding.left()
        if reindex:
            await rebuild_search_index(storage.access.owner)
    seconds = round(time.perf_counter() - start, 1)
    return Summary(space=embeddings.name, rows=rows, failures=failures, left=left, seconds=seconds, reindexed=reindex)


async def _to_the_end(reembedding: Reembedding, storage: Storage, space: EmbeddingSpace) -> tuple[int, int]:
    """Return how many rows were moved and how many failed, when nothing is left that another process is at."""
    rows = failures = 0
    async with await connect(storage.access.worker) as guard:
        with _bar(await reembedding.left()) as advance:
            while await hold_space(storage.works_pool, space):
                moved = await reembedding.run(guard, advance)
                rows += moved.rows
                failures += moved.failures
                if moved.finished:
                    return rows, failures
                await asyncio.sleep(POLL_SECONDS)
    raise StorageError("Another embedding model was activated meanwhile: by a process that was started with it.")


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int], None]]:
    """Yield what shows how many rows are through; on standard error, and on a terminal only."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("Embedding", total=total)
        yield lambda rows: progress.update(task, completed=rows)
