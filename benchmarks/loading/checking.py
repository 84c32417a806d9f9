"""Look afterwards whether all that was acknowledged is there."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import httpx
from loading.stub_embedding import DIMS
from loading.tally import Kept

from discreet.checkpoint import RedactingSaver
from discreet.settings import load_settings
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

AT_ONCE = 8
SHOWN = 10
"""Losses that are listed; all are counted."""


async def missing_entries(url: str, kept: Sequence[Kept]) -> list[Kept]:
    """Return the entries that the REST API at `url` doesn't give their owners, whose tokens are the `user_id`."""
    limit = asyncio.Semaphore(AT_ONCE)
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:

        async def is_there(each: Kept) -> bool:
            async with limit:
                headers = {"authorization": f"Bearer {each.user_id}"}
                answer = await client.get(f"/memory/entry/{each.place}", headers=headers)
                return answer.is_success and each.mark in answer.json()["short_answer"]

        found = await asyncio.gather(*map(is_there, kept))
    return [each for each, there in zip(kept, found, strict=True) if not there]


async def missing_turns(dsn: str, folder: Path, kept: Sequence[Kept]) -> tuple[list[Kept], list[Kept]]:
    """Return the turns whose message is not in the newest checkpoint of their thread, and those that have lost their words.

    The servers' keys are in `folder`.
    """
    by_thread: defaultdict[str, list[Kept]] = defaultdict(list)
    for each in kept:
        by_thread[each.place].append(each)
    missing, wordless = list[Kept](), list[Kept]()
    settings = load_settings().model_copy(update={"data_dir": folder})
    async with open_storage(dsn, settings=settings, embeddings=StubEmbeddings(DIMS), maintained=False) as storage:
        saver = RedactingSaver.from_pool(storage.pool)
        for thread, turns in by_thread.items():
            found = await saver.aget_tuple({"configurable": {"thread_id": thread}})
            messages = found.checkpoint["channel_values"].get("messages", []) if found else []
            said = {message.id: str(message.content) for message in messages}
            missing += [each for each in turns if each.message_id not in said]
            wordless += [each for each in turns if each.mark not in said.get(each.message_id, each.mark)]
    return missing, wordless


def as_lines(kept: Sequence[Kept], missing: Sequence[Kept], what: str) -> list[str]:
    """Return how many there are and which are not."""
    lines = [f"{len(kept):,} {what} were acknowledged, {len(missing):,} of them are gone"]
    return lines + [f"  lost: {each.mark} of {each.place}" for each in missing[:SHOWN]]
