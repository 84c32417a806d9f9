import base64
import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from discreet.access import Authenticator
from discreet.settings import Settings

IDENTITY_KEY = base64.b64encode(bytes(32)).decode()


@pytest.fixture
def secret():
    return secrets.token_urlsafe(32)


@pytest.fixture
def make_authenticator():
    """Build one of settings; identities are made by a key that all tests share."""

    def make(**values):
        return Authenticator(Settings(**{"identity_key": IDENTITY_KEY, **values}))

    return make


class KeyServer:
    """Public keys over http on this machine, with a count of who asked."""

    def __init__(self):
        self.keys, self.asked, self.broken = [], 0, False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked += 1
                self.send_response(500 if outer.broken else 200)
                self.end_headers()
                self.wfile.write(json.dumps({"keys": outer.keys}).encode())

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.01], daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/keys"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def key_server():
    server = KeyServer()
    yield server
    server.close()
