"""The keys that the settings name."""

from __future__ import annotations

from functools import cache

from discreet.encryption.key_file import FileKeys
from discreet.encryption.keyring import read_keys
from discreet.errors import ConfigurationError
from discreet.named_objects import named_function
from discreet.ports import KeyProvider
from discreet.settings import Settings, load_settings


def keys_from_settings(settings: Settings | None = None) -> KeyProvider | None:
    """Return the keys of DISCREET_ENCRYPTION_KEYS, DISCREET_ENCRYPTION_KEYS_FILE or DISCREET_KEY_PROVIDER; None if none is set.

    Raises:
        ConfigurationError: It can't be used, or more than one is set. The message tells which entry is wrong, never what it holds.
    """
    settings = settings or load_settings()
    given, path, provider = settings.encryption_keys, settings.encryption_keys_file, settings.key_provider
    if sum(each is not None for each in (given, path, provider)) > 1:
        raise ConfigurationError(
            "Set one of DISCREET_ENCRYPTION_KEYS, DISCREET_ENCRYPTION_KEYS_FILE and DISCREET_KEY_PROVIDER: each of them has all keys."
        )
    if provider is not None:
        return _provided(provider)
    if path is not None:
        return FileKeys(path)
    return None if given is None else read_keys(given.get_secret_value().split(","), "DISCREET_ENCRYPTION_KEYS")


@cache
def _provided(name: str) -> KeyProvider:
    """Return what a function returns; it is called once a process, as it may ask a service."""
    keys: KeyProvider = named_function("DISCREET_KEY_PROVIDER", name)()
    return keys
