"""Services of fakes, and callers whose tokens are made here."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from discreet.access.caller import Caller
from discreet.api.services import Services
from discreet.errors import UnauthorisedError
from discreet.redaction import Redactor
from discreet.settings import Settings
from discreet.state.memory_settings import MemorySettings
from discreet.testing import InMemoryMemories, InMemoryShortTermStore


class TokenAuthenticator:
    """Knows who has which token: everybody who was given one by `headers_of`."""

    def __init__(self) -> None:
        self._known: dict[str, Caller] = {}

    def headers_of(self, name: str, **rights: bool) -> dict[str, str]:
        """Return the headers that `name` sends."""
        token = f"{name}-token-{secrets.token_hex(8)}"
        self._known[f"Bearer {token}"] = Caller(subject=name, identity=self.identity(name), **rights)
        return {"Authorization": f"Bearer {token}"}

    async def caller(self, headers: Mapping[str, str], client_host: str | None) -> Caller:
        caller = self._known.get(headers.get("authorization", ""))
        if caller is None:
            raise UnauthorisedError
        return caller

    def identity(self, subject: str) -> str:
        return f"u_{subject.encode().hex()}"


@pytest.fixture
def authenticator() -> TokenAuthenticator:
    return TokenAuthenticator()


@pytest.fixture
def services(authenticator) -> Services:
    redactor = Redactor()
    return Services(
        memories=InMemoryMemories(redactor=redactor),
        short_term=InMemoryShortTermStore(),
        memory_settings=SimpleNamespace(live=MemorySettings()),
        authenticator=authenticator,
        redactor=redactor,
        settings=Settings(_env_file=None),
    )
