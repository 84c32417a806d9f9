"""Embedding models by name, and any LangChain `Embeddings` as a provider."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from langchain_core.embeddings import Embeddings

from discreet import outcomes
from discreet.errors import ConfigurationError, ProviderError
from discreet.ports import Calibration, EmbeddingProvider
from discreet.providers.keywords import DIMS as KEYWORDS_DIMS
from discreet.providers.keywords import KeywordOnly
from discreet.providers.local import DIMS as LOCAL_DIMS
from discreet.providers.local import check_installed, is_installed, local_embeddings
from discreet.providers.names import split_name
from discreet.providers.openai import DEFAULT_EMBEDDING_DIMS, DEFAULT_EMBEDDING_MODEL, openai_embeddings
from discreet.providers.vectors import embeddable, unit
from discreet.settings import Settings, load_settings
from discreet.state.records import MAX_MEMORY_CHARS

LOCAL = "local"
NONE = "none"
ACCEPTED = f"'{LOCAL}', '{NONE}' or 'openai:<model>', for example 'openai:{DEFAULT_EMBEDDING_MODEL}'"

RAW_COSINE = Calibration(zero=0.0, one=1.0)
"""The thresholds 0.6, 0.85 and 0.95 were chosen on OpenAI's own cosines, so these are the common scale."""


def embedding_provider(name: str | None = None, *, settings: Settings | None = None) -> EmbeddingProvider:
    """Return the embedding provider `name`: `local`, `openai:<model>`, or `none`, which finds texts by their words alone.

    Without a name it is `settings.embedding_model`, else the local model where it is installed, else `none`: a key in the
    environment names no model. Nothing is loaded and nothing is sent anywhere before the first text is embedded.

    Example:
        >>> embedding_provider("local").dims
        384

    Raises:
        ConfigurationError: The name is malformed or unknown, `settings.embedding_dims` does not fit it, or the
            provider's settings are missing.
        MissingDependencyError: It is the local model, and the extra `local` is not installed.
    """
    settings = settings or load_settings()
    name = name or settings.embedding_model or default_embedding()
    if name.strip().lower() == LOCAL:
        _check_dims(settings, LOCAL_DIMS, "The local embedding model has")
        check_installed()
        return local_embeddings()
    if name.strip().lower() == NONE:
        _check_dims(settings, KEYWORDS_DIMS, "Search by words alone has")
        return KeywordOnly()
    provider, model = split_name(name, accepted=ACCEPTED)
    if provider != "openai":
        raise ConfigurationError(f"No embedding provider is called {provider!r}. Accepted: {ACCEPTED}.")
    dims = settings.embedding_dims or DEFAULT_EMBEDDING_DIMS
    client = openai_embeddings(model, dims, settings)
    return from_langchain(client, name=f"openai:{model}", dims=dims)


def _check_dims(settings: Settings, dims: int, which: str) -> None:
    if settings.embedding_dims not in (None, dims):
        raise ConfigurationError(
            f"{which} {dims} dims: unset DISCREET_EMBEDDING_DIMS, which is {settings.embedding_dims}."
        )


def from_langchain(
    embeddings: Embeddings, *, name: str, dims: int, calibration: Calibration = RAW_COSINE
) -> EmbeddingProvider:
    """Return `embeddings` as a provider.

    Args:
        embeddings: Any LangChain embeddings object.
        name: `provider:model`; the vector size is added to it.
        dims: Length of its vectors; another length is an error at the first text.
        calibration: How its cosines read; measure it with benchmarks/embedding_calibration.py.
    """
    return _LangChainEmbeddings(embeddings, name=f"{name}:{dims}", dims=dims, calibration=calibration)


def default_embedding() -> str:
    """Return the name of the embedding model where none is named: the local one if the extra `local` is installed."""
    return LOCAL if is_installed() else NONE


class _LangChainEmbeddings:
    """Cleans texts on the way in, checks vectors on the way out, and turns every failure into a ProviderError."""

    def __init__(self, embeddings: Embeddings, *, name: str, dims: int, calibration: Calibration) -> None:
        self.name = name
        self.dims = dims
        self.calibration = calibration
        self._embeddings = embeddings

    def embed_query(self, text: str) -> list[float]:
        with self._failures_named():
            vector = self._embeddings.embed_query(_clean(text))
        return unit(vector, self.dims)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        if not texts:
            return []
        with self._failures_named():
            vectors = self._embeddings.embed_documents([_clean(text) for text in texts])
        return self._checked(vectors, len(texts))

    async def aembed_query(self, text: str) -> list[float]:
        with self._failures_named():
            vector = await self._embeddings.aembed_query(_clean(text))
        return unit(vector, self.dims)

    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        if not texts:
            return []
        with self._failures_named():
            vectors = await self._embeddings.aembed_documents([_clean(text) for text in texts])
        return self._checked(vectors, len(texts))

    def _checked(self, vectors: Sequence[Sequence[float]], expected: int) -> list[list[float]]:
        if len(vectors) != expected:
            raise ProviderError(f"{self.name} returned {len(vectors)} vectors for {expected} texts.")
        return [unit(vector, self.dims) for vector in vectors]

    @contextmanager
    def _failures_named(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # every client library has errors of its own, and no common base
            outcomes.embedding.failed()
            raise ProviderError(f"The embedding model {self.name} failed: {type(error).__name__}.") from error
        outcomes.embedding.worked()


def _clean(text: str) -> str:
    return embeddable(text, MAX_MEMORY_CHARS)
