"""Choose the embedding model of a storage: what the database names, else the settings, else the default."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from discreet.errors import ConfigurationError
from discreet.ports import EmbeddingProvider, SettingsStore
from discreet.providers import embedding_provider
from discreet.providers.environment_values import EMBEDDING, embedding_name
from discreet.providers.openai import DEFAULT_EMBEDDING_DIMS
from discreet.settings import Settings
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.memories.spaces.spaces import active_space

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Choice:
    """The embedding model of a storage."""

    embeddings: EmbeddingProvider
    is_named: bool
    """Whether the database or a setting names it; else it is the default."""


async def chosen_embeddings(
    pool: Pool, memory_settings: SettingsStore, settings: Settings, *, otherwise: EmbeddingProvider
) -> Choice:
    """Return the model that the database names; `otherwise`, that of the environment, where it names none.

    So it is too where the model can't be made, as without its key: who set it sees to that later, and servers start.

    Raises:
        StorageError: The database failed.
        ConfigurationError: Nobody names a model, and the memories are in vectors of a provider that has to be named.
    """
    chosen, said = otherwise, EMBEDDING & await memory_settings.overridden()
    if said:
        try:
            chosen = embedding_provider(embedding_name(memory_settings.live), settings=settings)
        except ConfigurationError as error:
            logger.warning("settings.embedding_model_not_made cause=%s", error.code)
    is_named = settings.embedding_model is not None or "embedding_provider" in said
    if not is_named:
        await _check_default(pool, chosen)
    return Choice(chosen, is_named=is_named)


async def _check_default(pool: Pool, default: EmbeddingProvider) -> None:
    """Leave the vectors of a database as they are if the default is not what made them."""
    before = await active_space(pool)
    if before is None or before == default.name:
        return
    provider, _, rest = before.partition(":")
    if provider != "openai":
        logger.warning("embedding.model_changed before=%s now=%s", before, default.name)
        return
    model, _, dims = rest.rpartition(":")
    also = "" if dims == str(DEFAULT_EMBEDDING_DIMS) else f" and DISCREET_EMBEDDING_DIMS={dims}"
    raise ConfigurationError(
        f"The memories of this database were embedded by {provider}:{model}, and no setting names an embedding model; a key in "
        f"the environment names none. Set DISCREET_EMBEDDING_MODEL={provider}:{model}{also} to go on with it, or "
        f"DISCREET_EMBEDDING_MODEL={default.name.partition(':')[0]} to have them all embedded anew in this process."
    )
