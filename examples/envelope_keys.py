"""Keys that a key management service wraps: what seals the database's texts is in no file and in no variable.

`TransitKeyWrapper` speaks the transit protocol of OpenBao and Vault: name your service in KMS_URL and KMS_TOKEN, and its key in KMS_KEY.
Without them a stand-in answers on this machine.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import secrets
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from discreet.encryption import EnvelopeKeys, add_data_key, promote_data_key
from discreet.errors import EncryptionError
from discreet.settings import load_settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.rekeying import Rekeying
from discreet.testing import InMemoryKeyWrapper

ANSWER_SECONDS = 10.0


class TransitKeyWrapper:
    """The port `KeyWrapper`: asks a service to encrypt and decrypt data keys under a key that never leaves it."""

    def __init__(self, url: str, token: str, key: str = "discreet") -> None:
        """Use the key of that name at `url`, https:// unless it is on this machine."""
        self._url, self._token, self._key = url, token, key

    def wrap(self, secret: bytes) -> bytes:
        """Return `secret` encrypted."""
        return self._ask("encrypt", {"plaintext": base64.b64encode(secret).decode()})["ciphertext"].encode()

    def unwrap(self, wrapped: bytes) -> bytes:
        """Return the secret that `wrap` took."""
        return base64.b64decode(self._ask("decrypt", {"ciphertext": wrapped.decode("ascii", "replace")})["plaintext"])

    def _ask(self, what: str, body: dict[str, str]) -> dict[str, str]:
        request = urllib.request.Request(  # noqa: S310  # the operator's own address
            f"{self._url}/v1/transit/{what}/{self._key}",
            data=json.dumps(body).encode(),
            headers={"X-Vault-Token": self._token, "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:  # noqa: S310  # as above
                data: dict[str, str] = json.load(answer)["data"]
                return data
        except (OSError, ValueError, KeyError) as error:  # HTTPError is an OSError
            status = error.code if isinstance(error, urllib.error.HTTPError) else type(error).__name__
            raise EncryptionError(
                f"The key management service did not {what} ({status}). Check KMS_URL, KMS_TOKEN and what its policy allows."
            ) from None


def keys() -> EnvelopeKeys:
    """Return the keys; DISCREET_KEY_PROVIDER=envelope_keys:keys has servers and commands ask this."""
    wrapper = TransitKeyWrapper(os.environ["KMS_URL"], os.environ["KMS_TOKEN"], os.environ.get("KMS_KEY", "discreet"))
    path = _data_keys()
    if not path.exists():
        add_data_key(path, wrapper)
    return EnvelopeKeys(path, wrapper)


@contextmanager
def local_service(token: str) -> Iterator[str]:
    """Yield the address of a stand-in for such a service, on this machine."""
    wrapper = InMemoryKeyWrapper()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.headers["X-Vault-Token"] != token:
                self._answer(403, {"errors": ["permission denied"]})
                return
            try:
                self._answer(200, {"data": self._done(body)})
            except (EncryptionError, ValueError):
                self._answer(400, {"errors": ["invalid ciphertext"]})

        def _done(self, body: dict[str, str]) -> dict[str, str]:
            if "/encrypt/" in self.path:
                wrapped = wrapper.wrap(base64.b64decode(body["plaintext"]))
                return {"ciphertext": f"vault:v1:{base64.b64encode(wrapped).decode()}"}
            wrapped = base64.b64decode(body["ciphertext"].removeprefix("vault:v1:"), validate=True)
            return {"plaintext": base64.b64encode(wrapper.unwrap(wrapped)).decode()}

        def _answer(self, status: int, body: dict[str, Any]) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def main() -> None:
    """Store a memory under one data key, make a second one, and move everything to it."""
    provider = await asyncio.to_thread(keys)
    async with open_storage(keys=provider) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Keeps two African Grey parrots")])
        wrapper = TransitKeyWrapper(os.environ["KMS_URL"], os.environ["KMS_TOKEN"])
        second = await asyncio.to_thread(add_data_key, _data_keys(), wrapper)
        await asyncio.to_thread(provider.reload)  # in every process: now all can open what it will seal
        promote_data_key(_data_keys(), second)
        await asyncio.to_thread(provider.reload)
        came = await Rekeying(storage.works_pool, keys=provider).run()  # what `discreet rekey` does
        [record, *_] = await storage.memories.latest("ann")
        print(f"under {came.key_id}, {'the second' if came.key_id == second else 'another'} data key: {record.text}")


def _data_keys() -> Path:
    return Path(load_settings().data_dir) / "data.key"


if __name__ == "__main__":
    if "KMS_URL" in os.environ:
        asyncio.run(main())
    else:
        os.environ["KMS_TOKEN"] = secrets.token_hex(16)
        with local_service(os.environ["KMS_TOKEN"]) as os.environ["KMS_URL"]:
            asyncio.run(main())
