"""Say in one line which models are asked and what is kept how long, without any key or address with a password."""

from __future__ import annotations

import logging
from urllib.parse import urlsplit

from discreet.ports import EmbeddingProvider
from discreet.providers.chat import OFFLINE, default_model
from discreet.providers.embeddings import LOCAL, NONE
from discreet.settings import Settings
from discreet.state.memory_settings import MemorySettings

logger = logging.getLogger(__name__)

HERE = "this_process"
OPENAI = "api.openai.com"


def in_force(settings: Settings, live: MemorySettings, embeddings: EmbeddingProvider, *, given: bool = False) -> str:
    """Return what holds as `name=value` pairs.

    `chat`, `summaries` and `media` are what the template and the worker ask; an agent of your own brings its model.

    Args:
        settings: Of the environment.
        live: What the database says, else the environment.
        embeddings: Embeds texts.
        given: Whether the application gave `embeddings`, instead of naming them in a setting.
    """
    chat = default_model(settings)
    is_offline = chat.strip().lower() == OFFLINE
    told = {
        "embedding": embeddings.name,
        "embedding_at": "the_application" if given else _place(embeddings.name, settings),
        "chat": chat,
        "summaries": "quotations" if is_offline else chat,
        "media": "captions" if is_offline else chat,
        "extraction": _extraction(live),
        "vault": settings.turn_vault,
        "checkpoints": _kept(live.retention_checkpoint_days),
        "log": _kept(live.retention_log_days),
        "turns": _kept(live.retention_turn_days),
    }
    return " ".join(f"{name}={value}" for name, value in told.items())


def tell_in_force(
    settings: Settings, live: MemorySettings, embeddings: EmbeddingProvider, *, given: bool, named: bool
) -> None:
    """Log what holds, a key that names no model, and a search that goes by words because nothing else is installed.

    `named` is whether somebody chose `embeddings`.
    """
    logger.info("storage.opened %s", in_force(settings, live, embeddings, given=given))
    if keys := unused_keys(settings):
        logger.info(
            "providers.key_not_used keys=%s: a key names no model; DISCREET_CHAT_MODEL=<provider>:<model> and "
            "DISCREET_EMBEDDING_MODEL=openai:<model> do",
            ",".join(keys),
        )
    if not named and embeddings.name.startswith(f"{NONE}:"):
        logger.warning(
            "embedding.words_alone memories are found by their words: install the extra local, or set "
            "DISCREET_EMBEDDING_MODEL=openai:<model>; DISCREET_EMBEDDING_MODEL=none says that it is meant so"
        )


def unused_keys(settings: Settings) -> list[str]:
    """Return the variables whose key is there while no setting names a model; empty if one does."""
    named = (
        settings.chat_model,
        settings.embedding_model,
        settings.fallback_model,
        settings.gate_model,
        settings.extraction_provider,
    )
    if any(named):
        return []
    keys = {
        "OPENAI_API_KEY": settings.openai_keys,
        "ANTHROPIC_API_KEY": settings.anthropic_api_key,
        "GOOGLE_API_KEY": settings.google_api_key,
    }
    return [name for name, key in keys.items() if key]


def _place(name: str, settings: Settings) -> str:
    """Return where texts are embedded: host and port at most, as an address may hold a password."""
    if name.split(":", maxsplit=1)[0] in {LOCAL, NONE}:
        return HERE
    if settings.openai_base_url is None:
        return OPENAI
    try:
        there = urlsplit(settings.openai_base_url)
        return f"{there.hostname}:{there.port}" if there.port else str(there.hostname)
    except ValueError:  # a port that is no number
        return "another_address"


def _extraction(live: MemorySettings) -> str:
    if not live.memory_extraction_enabled:
        return "off"
    return f"{live.memory_extraction_provider}:{live.extraction_model}"


def _kept(days: int) -> str:
    return f"{days}d" if days else "kept"
