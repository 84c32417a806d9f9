"""An authenticator for tests of routes."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping

from discreet.access import Caller
from discreet.errors import UnauthorisedError


class TokenAuthenticator:
    """Knows who has which token: everybody who was given one by `headers_of`."""

    def __init__(self) -> None:
        self._known: dict[str, Caller] = {}

    def headers_of(self, name: str, *, admin: bool = False, names_users: bool = False) -> dict[str, str]:
        """Return the headers that `name` sends."""
        token = f"{name}-token-{secrets.token_hex(8)}"
        caller = Caller(subject=name, identity=self.identity(name), admin=admin, names_users=names_users)
        self._known[f"Bearer {token}"] = caller
        return {"Authorization": f"Bearer {token}"}

    async def caller(self, headers: Mapping[str, str], client_host: str | None) -> Caller:
        """Return who was given the token.

        Raises:
            UnauthorisedError: Nobody was.
        """
        caller = self._known.get(headers.get("authorization", ""))
        if caller is None:
            raise UnauthorisedError
        return caller

    def identity(self, subject: str) -> str:
        """Return a digest: the same for a subject, and no key is needed."""
        return f"u_{hashlib.sha256(subject.encode('utf-8', 'surrogatepass')).hexdigest()}"
