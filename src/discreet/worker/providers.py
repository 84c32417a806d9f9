"""Who extracts, as the settings say: made when it is first needed, and kept for the batches that are under way."""

from __future__ import annotations

from collections.abc import Callable

from discreet.ports import BatchProvider
from discreet.providers.batches.choice import make_batch_provider
from discreet.settings import Settings

Make = Callable[[str, str], BatchProvider]
"""Returns the provider of a name, for a model."""


class BatchProviders:
    """The providers of a process, by name and, where it matters, model."""

    def __init__(self, settings: Settings, *, make: Make | None = None) -> None:
        """Take keys and addresses from `settings`; `make` is for providers of one's own."""
        self._make = make or (lambda name, model: make_batch_provider(name, model, settings))
        self._made: dict[tuple[str, str], BatchProvider] = {}

    def get(self, name: str, model: str) -> BatchProvider:
        """Return the provider.

        Raises:
            ConfigurationError: Its key, or its package, is missing, or there is none of that name.
        """
        key = (name, model)
        if key not in self._made:
            self._made[key] = self._make(name, model)
        return self._made[key]

    async def aclose(self) -> None:
        """Close their connections."""
        for provider in self._made.values():
            close = getattr(provider, "aclose", None)
            if close is not None:
                await close()
        self._made.clear()
