"""The key that tags of placeholders are made with, kept apart from the keys that encrypt."""

from __future__ import annotations

import hmac
import json
import logging
import secrets
from collections.abc import Mapping
from functools import cache
from typing import Any

from discreet.redaction.key_file import KEY_BYTES, KeyFile, make_key_text
from discreet.redaction.thread_offload import read_apart
from discreet.settings import Settings, load_settings

logger = logging.getLogger(__name__)

PLACEHOLDER_KEY = KeyFile(
    name="placeholder.key", variable="DISCREET_PLACEHOLDER_KEY", made_by="discreet key --placeholder"
)


@cache
def default_key() -> bytes:
    """Return the placeholder key of this process, see `load_placeholder_key`."""
    return read_apart(lambda: load_placeholder_key(load_settings()))


def keyed_digest(purpose: str, what: Mapping[str, Any]) -> bytes:
    """Return 16 bytes that stand for `what`, plain JSON: the same in all processes of one key, and nothing can be read from them."""
    message = purpose.encode() + b"\0" + json.dumps(what, sort_keys=True).encode()
    return hmac.digest(default_key(), message, "sha256")[:16]


def load_placeholder_key(settings: Settings) -> bytes:
    """Return the key in DISCREET_PLACEHOLDER_KEY, else the one in the data folder, which is made if there is none.

    Where the data folder can't be written to, a key is made for this process only: tags then change with it, and a warning
    says so.

    Raises:
        ConfigurationError: The setting or the file holds something else than base64 of 32 bytes or more.
    """
    try:
        return PLACEHOLDER_KEY.load(settings.placeholder_key, settings.data_dir)
    except OSError as error:
        logger.warning(
            "placeholder_key_not_kept cause=%s; set DISCREET_PLACEHOLDER_KEY or a DISCREET_DATA_DIR that can be written to",
            type(error).__name__,
        )
        return secrets.token_bytes(KEY_BYTES)


def make_placeholder_key() -> str:
    """Return a new random key as the settings and the file have it."""
    return make_key_text()
