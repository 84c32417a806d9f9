"""Ask an embedding model that may fail: wait and ask again, and find the texts that it refuses."""

from __future__ import annotations

from collections.abc import Sequence

from tenacity import retry_if_exception_type, stop_after_attempt, wait_random_exponential
from tenacity.asyncio import AsyncRetrying

from discreet.errors import ProviderError
from discreet.ports import EmbeddingProvider

ATTEMPTS = 5
"""How often a batch is asked for."""

LONGEST_WAIT_SECONDS = 30.0
"""Between two attempts. The waits double from one second on and are random up to that (AWS's "full jitter")."""

PROBES = 3
"""If the first three texts of a failed batch fail alone too, it is not about the texts."""


async def embed_with_retries(embeddings: EmbeddingProvider, texts: Sequence[str]) -> list[list[float] | None]:
    """Return the vector of each of `texts`; None for one that the model refuses while it takes others.

    Raises:
        ProviderError: It fails whatever it is asked.
    """
    attempts = AsyncRetrying(
        retry=retry_if_exception_type(ProviderError),
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_random_exponential(max=LONGEST_WAIT_SECONDS),
        reraise=True,
    )
    try:
        return list(await attempts(embeddings.aembed_documents, texts))
    except ProviderError as error:
        if len(texts) == 1:
            raise
        return await _one_by_one(embeddings, texts, error)


async def _one_by_one(
    embeddings: EmbeddingProvider, texts: Sequence[str], error: ProviderError
) -> list[list[float] | None]:
    vectors: list[list[float] | None] = []
    for text in texts:
        if len(vectors) == PROBES and not any(vectors):
            raise error
        try:
            vectors += await embeddings.aembed_documents([text])
        except ProviderError:
            vectors.append(None)
    if not any(vectors):
        raise error
    return vectors
