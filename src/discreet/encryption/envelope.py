"""Envelope encryption: keys that lie wrapped in a file, and are unwrapped once, by a service that keeps its own key to itself.

The file has a line a data key, `id:base64`, the current one first. What it holds is worth nothing without the service.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
from pathlib import Path

from discreet.encryption.keyring import Keyring, make_key
from discreet.errors import ConfigurationError
from discreet.ports import Key, KeyWrapper


class EnvelopeKeys:
    """The port `KeyProvider` over wrapped data keys. They are unwrapped when it is made and by `reload`, and stay in RAM.

    A data key is used in two steps, so that no process meets a value whose key it does not know: `add_data_key` puts it behind the
    others, and once all processes have reloaded, `promote_data_key` has it seal.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from discreet.testing import InMemoryKeyWrapper
        >>> wrapper = InMemoryKeyWrapper()
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "data_keys")
        ...     first, second = add_data_key(path, wrapper), add_data_key(path, wrapper)
        ...     keys = EnvelopeKeys(path, wrapper)
        ...     before = keys.current().id
        ...     promote_data_key(path, second)
        ...     keys.reload()
        >>> before == first, keys.current().id == second, keys.find(first) is not None
        (True, True, True)
    """

    def __init__(self, path: Path, wrapper: KeyWrapper) -> None:
        """Unwrap the keys of the file at `path`.

        Raises:
            ConfigurationError: There is no such file, or it holds something else than wrapped keys.
            EncryptionError: The service refuses, or can't be reached.
        """
        self._path = path
        self._wrapper = wrapper
        self._known: dict[str, Key] = {}
        self.reload()

    def current(self) -> Key:
        """Return the first key."""
        return self._keys.current()

    def find(self, key_id: str) -> Key | None:
        """Return the key of that id."""
        return self._keys.find(key_id)

    def reload(self) -> None:
        """Unwrap the keys of the file anew, those that are not known yet. It asks the service: call it in a thread.

        Raises:
            ConfigurationError: As when it was made; the keys stay as they were.
            EncryptionError: As when it was made; the keys stay as they were.
        """
        entries = _read(self._path)
        if not entries:
            raise ConfigurationError(f"{self._path} holds no data key. `add_data_key` makes one.")
        known = {
            key_id: self._known.get(key_id) or Key(key_id, self._wrapper.unwrap(wrapped))
            for key_id, wrapped in entries.items()
        }
        self._keys, self._known = Keyring([*known.values()]), known


def add_data_key(path: Path, wrapper: KeyWrapper) -> str:
    """Make a data key, put it wrapped behind those of the file at `path`, which is made if need be, and return its id.

    The first one of a file seals from then on, another one once it is promoted.

    Raises:
        ConfigurationError: The file holds something else than wrapped keys.
        EncryptionError: The service refuses, or can't be reached.
    """
    key = make_key()
    _write(path, {**_read(path), key.id: wrapper.wrap(key.secret)})
    return key.id


def promote_data_key(path: Path, key_id: str) -> None:
    """Have the data key of that id seal: it comes to stand first.

    Raises:
        ConfigurationError: The file at `path` has none of that id.
    """
    entries = _read(path)
    if key_id not in entries:
        raise ConfigurationError(f"{path} has no data key of the id {key_id!r}.")
    _write(path, {key_id: entries[key_id], **entries})


def _read(path: Path) -> dict[str, bytes]:
    """Return the wrapped keys of a file by id; none if it is not there."""
    if not path.exists():
        return {}
    entries: dict[str, bytes] = {}
    for number, line in enumerate(path.read_text("ascii", "replace").splitlines(), start=1):
        key_id, _, wrapped = line.partition(":")
        try:
            entries[key_id] = base64.b64decode(wrapped, validate=True)
        except (binascii.Error, ValueError):
            entries[key_id] = b""
        if not entries[key_id]:
            raise ConfigurationError(f"{path}: line {number} is no wrapped key, id:base64.")
    return entries


def _write(path: Path, entries: dict[str, bytes]) -> None:
    """Put a file in the place of another, whole or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.writelines(f"{key_id}:{base64.b64encode(wrapped).decode()}\n" for key_id, wrapped in entries.items())
        file.flush()
        os.fsync(file.fileno())
    own.replace(path)
