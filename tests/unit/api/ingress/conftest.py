"""The ingress in front of something that records what it gets."""

import json
import sys
from dataclasses import dataclass, field

import langgraph_api.validation
import pytest

from discreet.access.caller import Caller
from discreet.api.ingress import Ingress, body_schemas
from discreet.errors import UnauthorisedError
from discreet.redaction import InMemoryTurnVault, Redactor

THREAD = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"


class Tokens:
    """Knows `Bearer <name>`; `nobody` may name users."""

    async def caller(self, headers, client_host):
        scheme, _, name = headers.get("authorization", "").partition(" ")
        if scheme != "Bearer":
            raise UnauthorisedError
        return Caller(subject=name, identity=self.identity(name), names_users=name == "nobody")

    def identity(self, subject):
        return "u_" + subject.encode().hex().translate(str.maketrans("0189", "xyzw"))[:32].ljust(32, "a")


@dataclass
class Recorder:
    """An application that answers `replies` and keeps what it was sent."""

    requests: list = field(default_factory=list)
    replies: list = field(default_factory=lambda: [b"{}"])
    status: int = 200
    kind: bytes = b"application/json"

    async def __call__(self, scope, receive, send):
        body, more = b"", scope["type"] == "http"
        while more:
            message = await receive()
            body += message["body"]
            more = message.get("more_body", False)
        self.requests.append({**scope, "body": body})
        await send({"type": "http.response.start", "status": self.status, "headers": [(b"content-type", self.kind)]})
        for number, piece in enumerate(self.replies, 1):
            data = piece(self) if callable(piece) else piece
            await send({"type": "http.response.body", "body": data, "more_body": number < len(self.replies)})

    @property
    def body(self):
        return json.loads(self.requests[-1]["body"])


@dataclass
class Reply:
    status: int
    headers: dict
    pieces: list

    @property
    def text(self):
        return b"".join(self.pieces).decode()

    @property
    def json(self):
        return json.loads(self.text)


@pytest.fixture(autouse=True)
def schemas(monkeypatch):
    """The real server's, as if it ran in this process."""
    monkeypatch.setitem(sys.modules, body_schemas.SERVER, langgraph_api.validation)


@pytest.fixture
def vault():
    return InMemoryTurnVault()


@pytest.fixture
def redactor():
    return Redactor(placeholder_key=bytes(32))


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def stored():
    """What threads have, by id."""
    return {}


@pytest.fixture
def ingress(recorder, vault, redactor, stored):
    async def messages_of(user_id, thread_id, key):
        return stored.get(thread_id, ())

    return Ingress(
        recorder,
        authenticator=Tokens(),
        redactor=redactor,
        vault=vault,
        stored=messages_of,
        max_body_bytes=100_000,
    )


@pytest.fixture
def call(ingress):
    async def call(method, path, body=None, *, query=b"", headers=(), user="ann", pieces=None, scope=()):
        sent = []
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        inbox = list(pieces or [raw])
        given = [(b"authorization", f"Bearer {user}".encode())] if user else []

        async def receive():
            return {"type": "http.request", "body": inbox.pop(0), "more_body": bool(inbox)}

        async def send(message):
            sent.append(message)

        await ingress(
            {
                "type": "http", "method": method, "path": path, "query_string": query,
                "headers": [*given, *headers], "client": ("127.0.0.1", 1), **dict(scope),
            },
            receive,
            send,
        )  # fmt: skip
        start, *bodies = sent
        return Reply(start["status"], dict(start["headers"]), [m["body"] for m in bodies])

    return call


@pytest.fixture
def thread():
    return THREAD


@pytest.fixture
def identity():
    return Tokens().identity
