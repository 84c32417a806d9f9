"""OpenAI and every server that speaks its protocol, through langchain-openai."""

from __future__ import annotations

from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from discreet.errors import ConfigurationError
from discreet.settings import Settings

DEFAULT_EMBEDDING_MODEL = "text-embedding-3-small"

DEFAULT_EMBEDDING_DIMS = 512
"""A third of the model's 1,536. The `dimensions` parameter shortens a vector at little loss (OpenAI, "New embedding
models and API updates", January 2024), and the index stays small."""

_KEY_OF_KEYLESS_SERVERS = "unused"
"""Servers on one's own machine take no key, and the client refuses to start without one."""


def openai_chat_model(model: str, settings: Settings) -> BaseChatModel:
    """Return the client for the chat model `model`.

    Raises:
        ConfigurationError: There is neither a key nor a server of one's own.
    """
    access = _access(settings)
    from langchain_openai import ChatOpenAI  # two seconds that an offline start does without

    from discreet.providers.openai_connections import is_proxied

    # With a client given, it no longer looks for proxies before it makes the other, blocking one.
    return ChatOpenAI(model=model, http_socket_options=() if is_proxied() else None, **access)


def openai_embeddings(model: str, dims: int, settings: Settings) -> Embeddings:
    """Return the client for the embedding model `model`, asked for vectors of `dims` floats.

    Raises:
        ConfigurationError: There is neither a key nor a server of one's own.
    """
    access = _access(settings)
    from langchain_openai import OpenAIEmbeddings

    # The client's length check downloads a tokenizer and sends token ids, which only OpenAI's own server takes. Texts
    # are cut before they come here.
    return OpenAIEmbeddings(model=model, dimensions=dims, check_embedding_ctx_length=False, **access)


def asked_once(model: BaseChatModel) -> BaseChatModel:
    """Return `model` without its client's own retries, which know no bound, unless their number was chosen.

    Models of other providers come back as they are.
    """
    root, root_async = getattr(model, "root_client", None), getattr(model, "root_async_client", None)
    if root is None or root_async is None or getattr(model, "max_retries", 0) is not None:
        return model
    root, root_async = root.with_options(max_retries=0), root_async.with_options(max_retries=0)
    clients = {"root_client": root, "root_async_client": root_async, "max_retries": 0}
    return model.model_copy(
        update={**clients, "client": root.chat.completions, "async_client": root_async.chat.completions}
    )


def _access(settings: Settings) -> dict[str, Any]:
    """Return the arguments that say where the server is and how to get in."""
    keys = settings.openai_keys
    if not keys and settings.openai_base_url is None:
        raise ConfigurationError(
            "An openai: model needs OPENAI_API_KEY, or OPENAI_BASE_URL for a compatible server that takes no key."
        )
    access = {"api_key": next(iter(keys), SecretStr(_KEY_OF_KEYLESS_SERVERS)), "base_url": settings.openai_base_url}
    from discreet.providers.openai_connections import ClientPerLoop
    from discreet.providers.openai_keys import KeyRing

    return access | (KeyRing(keys).clients() if len(keys) > 1 else {"http_async_client": ClientPerLoop()})
