"""Ask each configured model one thing, and say whether and how fast it answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable

from discreet.cli.checks import Check
from discreet.errors import DiscreetError
from discreet.providers import chat_model, embedding_provider
from discreet.providers.retry import http_status
from discreet.settings import Settings

SECONDS = 30.0
"""A model that takes longer for one word is of no use in a conversation."""

QUESTION = "Answer with the word yes."

REASONS = {
    401: "The provider does not take the key. Check it.",
    403: "The provider does not let this key use the model.",
    404: "The provider knows no model of this name, or nothing is at this address.",
    429: "The provider's limit is reached, or the account has no credit.",
}
"""By the HTTP status of the answer (RFC 9110; 429: RFC 6585)."""


async def probe_checks(settings: Settings, *, probe: bool) -> list[Check]:
    """Return whether the chat model and the embedding model answer. Without `probe` neither is asked."""
    if not probe:
        return [Check("models", "ok", "They were not asked anything: --probe asks them.")]

    async def ask_chat_model() -> object:
        return await chat_model(settings=settings).ainvoke(QUESTION)

    async def ask_embedding_model() -> object:
        return await embedding_provider(settings=settings).aembed_query(QUESTION)

    return [
        *await asyncio.gather(
            _asked("chat model answers", ask_chat_model()), _asked("embedding model answers", ask_embedding_model())
        )
    ]


async def _asked(name: str, answer: Awaitable[object]) -> Check:
    began = time.perf_counter()
    try:
        async with asyncio.timeout(SECONDS):
            await answer
    except TimeoutError:
        return Check(name, "fail", f"Not within {SECONDS:.0f} s.")
    except Exception as error:  # noqa: BLE001  # every client library has errors of its own, and no common base
        return Check(name, "fail", reason(error))
    return Check(name, "ok", f"In {time.perf_counter() - began:.2f} s.")


def reason(error: BaseException) -> str:
    """Return why a model did not answer. What its provider wrote is left out: it may quote the key."""
    cause = error.__cause__ if isinstance(error, DiscreetError) and error.__cause__ is not None else error
    status = http_status(cause)
    if status is not None:
        return REASONS.get(status, f"The provider answers with status {status}.")
    if isinstance(error, DiscreetError) and cause is error:
        return str(error)
    return f"It can't be asked ({type(cause).__name__}). Check its address, and whether this machine reaches it."
