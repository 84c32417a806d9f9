"""Read model names: `provider:model`."""

from __future__ import annotations

from discreet.errors import ConfigurationError


def split_name(name: str, *, accepted: str) -> tuple[str, str]:
    """Return provider and model of `name`; the provider in lower case.

    Args:
        name: `provider:model`; everything after the first colon is the model.
        accepted: Which names there are, for the error's message.

    Raises:
        ConfigurationError: One of the two is missing.
    """
    provider, colon, model = (part.strip() for part in name.partition(":"))
    if not (provider and colon and model):
        raise ConfigurationError(f"{name!r} names no model. Accepted: {accepted}.")
    return provider.lower(), model
