"""Make the provider that the settings name."""

from __future__ import annotations

from pydantic import SecretStr

from discreet.errors import ConfigurationError
from discreet.ports import BatchProvider
from discreet.providers.chat import chat_model
from discreet.providers.offline import OfflineChatModel
from discreet.providers.offline.batches import OfflineBatchProvider
from discreet.providers.retry import ModelRetry
from discreet.settings import Settings

ACCEPTED = "openai, anthropic, google, immediate or offline"

IMMEDIATE_SECONDS = 120.0
"""How long a chat model that is overloaded is waited for: nobody waits for the answer."""


def make_batch_provider(name: str, model: str, settings: Settings) -> BatchProvider:
    """Return the provider `name`. Nothing is sent anywhere. `model` is needed here for `immediate` alone.

    Raises:
        ConfigurationError: There is none of that name, or its key is missing.
        MissingDependencyError: Its package is not installed.
    """
    match name:
        case "offline":
            return OfflineBatchProvider()
        case "immediate":
            asked = chat_model(_named(model), settings=settings)
            if isinstance(asked, OfflineChatModel):  # it fills no schema; these are its rules
                return OfflineBatchProvider()
            from discreet.providers.batches.immediate import ImmediateBatchProvider  # loads LangChain's models

            fallback = settings.fallback_model
            return ImmediateBatchProvider(
                asked,
                fallback=chat_model(fallback, settings=settings) if fallback else None,
                retry=ModelRetry(seconds=IMMEDIATE_SECONDS),
            )
        case "openai":
            from discreet.providers.batches.openai import OpenAIBatchProvider  # takes seconds to import

            keys = _keys("OPENAI_API_KEY", *settings.openai_keys)
            return OpenAIBatchProvider(api_keys=keys, base_url=settings.openai_base_url)
        case "anthropic":
            from discreet.providers.batches.anthropic import AnthropicBatchProvider

            keys = _keys("ANTHROPIC_API_KEY", settings.anthropic_api_key)
            return AnthropicBatchProvider(api_keys=keys, base_url=settings.anthropic_base_url)
        case "google":
            from discreet.providers.batches.google import GoogleBatchProvider

            keys = _keys("GOOGLE_API_KEY", settings.google_api_key)
            return GoogleBatchProvider(api_keys=keys, base_url=settings.google_base_url)
        case _:
            raise ConfigurationError(f"There is no extraction provider of that name. Accepted: {ACCEPTED}.")


def _named(model: str) -> str | None:
    """Return a model as `chat_model` takes it; None: the one that answers."""
    if model == "default":
        return None
    return model if ":" in model or model == "offline" else f"openai:{model}"


def _keys(variable: str, *given: SecretStr | None) -> list[str]:
    keys = [key.get_secret_value() for key in given if key is not None]
    if not keys:
        raise ConfigurationError(
            f"Batches need {variable}. Set it, or DISCREET_EXTRACTION_PROVIDER=offline to extract by rules."
        )
    return keys
