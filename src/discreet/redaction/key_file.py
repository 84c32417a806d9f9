"""Keys that a first run makes for itself: of a setting, else of a file in the data folder."""

from __future__ import annotations

import base64
import binascii
import logging
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from discreet.errors import ConfigurationError
from discreet.private_files import make_private

logger = logging.getLogger(__name__)

KEY_BYTES = 32
"""As long as the digest (RFC 2104, section 3)."""


@dataclass(frozen=True, kw_only=True)
class KeyFile:
    """Where a key is, and what to say when it isn't there."""

    name: str
    """Of the file in the data folder."""
    variable: str
    """Environment variable that comes first."""
    made_by: str
    """Command that prints a new one."""

    def load(self, setting: SecretStr | None, data_dir: Path) -> bytes:
        """Return the key in the setting, else the one in the data folder, which is made if there is none.

        Raises:
            ConfigurationError: The setting or the file holds something else than base64 of 32 bytes or more, or the folder
                is open to others and can't be closed.
            OSError: The file can't be read or made.
        """
        if setting is not None:
            return self._decoded(setting.get_secret_value().encode(), self.variable)
        return self._decoded(self._read_or_make(data_dir / self.name), f"The file {self.name} in the data folder")

    def _decoded(self, written: bytes, where: str) -> bytes:
        try:
            key = base64.b64decode(written.strip(), validate=True)
        except binascii.Error:
            key = b""
        if len(key) < KEY_BYTES:
            raise ConfigurationError(
                f"{where} must be base64 of at least {KEY_BYTES} random bytes, as `{self.made_by}` makes them."
            )
        return key

    def _read_or_make(self, path: Path) -> bytes:
        """Return what the file says. Of processes that make it at once, one is first: all read the same."""
        make_private(path.parent)
        if not path.exists():
            own = path.with_name(f"{self.name}.{secrets.token_hex(8)}")
            with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
                file.write(make_key_text() + "\n")
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(own, path)
            except FileExistsError:
                logger.debug("key_file_made_elsewhere name=%s", self.name)
            finally:
                own.unlink()
        return path.read_bytes()


def make_key_text() -> str:
    """Return a new random key as the settings and the files have it."""
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode("ascii")
