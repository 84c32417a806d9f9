"""The key that tags of placeholders are made with, kept apart from the keys that encrypt."""

from __future__ import annotations

import base64
import binascii
import logging
import os
import secrets
from functools import cache
from pathlib import Path

from discreet.errors import ConfigurationError
from discreet.redaction.apart import read_apart
from discreet.settings import Settings, load_settings

logger = logging.getLogger(__name__)

KEY_BYTES = 32
"""As long as the digest (RFC 2104, section 3)."""

FILE_NAME = "placeholder.key"


@cache
def default_key() -> bytes:
    """Return the placeholder key of this process, see `load_placeholder_key`."""
    return read_apart(lambda: load_placeholder_key(load_settings()))


def load_placeholder_key(settings: Settings) -> bytes:
    """Return the key in DISCREET_PLACEHOLDER_KEY, else the one in the data folder, which is made if there is none.

    Where the data folder can't be written to, a key is made for this process only: tags then change with it, and a warning
    says so.

    Raises:
        ConfigurationError: The setting or the file holds something else than base64 of 32 bytes or more.
    """
    if settings.placeholder_key is not None:
        return _decoded(settings.placeholder_key.get_secret_value().encode(), "DISCREET_PLACEHOLDER_KEY")
    path = settings.data_dir / FILE_NAME
    try:
        return _decoded(_read_or_make(path), f"The file {FILE_NAME} in the data folder")
    except OSError as error:
        logger.warning(
            "placeholder_key_not_kept cause=%s; set DISCREET_PLACEHOLDER_KEY or a DISCREET_DATA_DIR that can be written to",
            type(error).__name__,
        )
        return secrets.token_bytes(KEY_BYTES)


def make_placeholder_key() -> str:
    """Return a new random key as the settings and the file have it."""
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode("ascii")


def _decoded(written: bytes, where: str) -> bytes:
    try:
        key = base64.b64decode(written.strip(), validate=True)
    except binascii.Error:
        key = b""
    if len(key) < KEY_BYTES:
        raise ConfigurationError(
            f"{where} must be base64 of at least {KEY_BYTES} random bytes, as `discreet key --placeholder` makes them."
        )
    return key


def _read_or_make(path: Path) -> bytes:
    """Return what the file says. Of processes that make it at once, one is first: all read the same."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        own = path.with_name(f"{FILE_NAME}.{secrets.token_hex(8)}")
        with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(make_placeholder_key() + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(own, path)
        except FileExistsError:
            logger.debug("placeholder_key_made_elsewhere")
        finally:
            own.unlink()
    return path.read_bytes()
