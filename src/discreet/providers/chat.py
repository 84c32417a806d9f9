"""Chat models by name."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel

from discreet.errors import ConfigurationError, MissingDependencyError
from discreet.providers.names import split_name
from discreet.providers.openai import openai_chat_model
from discreet.settings import Settings, load_settings

OFFLINE = "offline"
ACCEPTED = f"'{OFFLINE}', 'openai:<model>', or '<provider>:<model>' of a provider that LangChain knows"


def chat_model(name: str | None = None, *, settings: Settings | None = None) -> BaseChatModel:
    """Return the chat model `name`: `offline`, `openai:<model>`, or `<provider>:<model>` as LangChain names them.

    Without a name it is `settings.chat_model`, else the offline model: a key in the environment names no model. Nothing is
    sent anywhere before the model is asked.

    Example:
        >>> chat_model("offline").invoke("Hello").text.split(":")[0]
        'This is the offline model'

    Raises:
        ConfigurationError: The name is malformed or unknown, or the provider's settings are missing.
        MissingDependencyError: The provider's package is not installed.
    """
    settings = settings or load_settings()
    name = name or default_model(settings)
    if name.strip().lower() == OFFLINE:
        from discreet.providers.offline import OfflineChatModel  # its rules, which other models do without

        return OfflineChatModel()
    provider, model = split_name(name, accepted=ACCEPTED)
    if provider == "openai":
        return openai_chat_model(model, settings)
    return _langchain_chat_model(provider, model, _access(provider, settings))


def default_model(settings: Settings) -> str:
    """Return the name of the model that answers where none is named."""
    return settings.chat_model or OFFLINE


def _access(provider: str, settings: Settings) -> dict[str, Any]:
    """Return what our settings say of a provider's key and address; LangChain reads the variables that it knows itself."""
    given = {
        "anthropic": {"api_key": settings.anthropic_api_key, "base_url": settings.anthropic_base_url},
        "google_genai": {"google_api_key": settings.google_api_key, "base_url": settings.google_base_url},
    }
    return {name: value for name, value in given.get(provider, {}).items() if value is not None}


def _langchain_chat_model(provider: str, model: str, access: dict[str, Any]) -> BaseChatModel:
    """Return the model of any provider that the package `langchain` knows."""
    try:
        from langchain.chat_models import init_chat_model  # an optional package
    except ImportError as error:
        raise MissingDependencyError(
            f"Models of {provider!r} need the package langchain: pip install langchain"
        ) from error
    try:
        made: BaseChatModel = init_chat_model(model, model_provider=provider, **access)
    except ImportError as error:
        raise MissingDependencyError(f"Models of {provider!r} need one more package. {error}") from error
    except ValueError as error:
        raise ConfigurationError(
            f"'{provider}:{model}' can't be set up: unknown provider, or one of its own settings is missing. "
            f"Accepted: {ACCEPTED}."
        ) from error
    return made
