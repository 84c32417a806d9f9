"""Choose the embedding model of a storage: what the database names, where it can be made."""

from __future__ import annotations

import logging

from discreet.errors import ConfigurationError
from discreet.ports import EmbeddingProvider, SettingsStore
from discreet.providers import embedding_provider
from discreet.providers.environment_values import EMBEDDING, embedding_name
from discreet.settings import Settings

logger = logging.getLogger(__name__)


async def chosen_embeddings(
    memory_settings: SettingsStore, settings: Settings, *, otherwise: EmbeddingProvider
) -> EmbeddingProvider:
    """Return the model that the database names; `otherwise`, that of the environment, where it names none.

    So it is too where the model can't be made, as without its key: who set it sees to that later, and servers start.

    Raises:
        StorageError: The database failed.
    """
    if not EMBEDDING & await memory_settings.overridden():
        return otherwise
    try:
        return embedding_provider(embedding_name(memory_settings.live), settings=settings)
    except ConfigurationError as error:
        logger.warning("settings.embedding_model_not_made cause=%s", error.code)
        return otherwise
