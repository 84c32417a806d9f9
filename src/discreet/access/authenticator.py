"""Tell who sends a request, by its headers and by where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from discreet.access.api_keys import ApiKeys
from discreet.access.caller import Caller
from discreet.access.identity import load_identities
from discreet.access.loopback import made_here
from discreet.access.subjects import ANONYMOUS
from discreet.access.tokens import Tokens
from discreet.errors import UnauthorisedError
from discreet.redaction.thread_offload import read_apart
from discreet.settings import Settings, load_settings

MAX_CREDENTIAL_CHARS = 8_192
"""Tokens with many roles have some 4,000 characters; servers and proxies take 8,192 for a header. Longer ones aren't read."""

NOTHING_CONFIGURED = (
    "This server can't tell who calls. Whoever runs it: set DISCREET_JWT_SECRET, DISCREET_JWKS_URL or DISCREET_API_KEYS, or "
    "DISCREET_ALLOW_ANONYMOUS=true to take requests from the same machine."
)
SCHEME = "Send `Authorization: Bearer …` with a token or an API key, or an API key as `X-API-Key`."


class Authenticator:
    """Check credentials by the settings.

    `Authorization` comes before `X-API-Key`, since LangGraph's SDK sends keys of other services as the latter if it finds them in
    its environment. Credentials that are wrong are refused even where none are needed.
    """

    def __init__(self, settings: Settings) -> None:
        """Read what the settings say, and the key that makes identities.

        Raises:
            ConfigurationError: A setting can't be used.
        """
        self._tokens = Tokens(settings)
        self._api_keys = ApiKeys(settings.api_keys)
        self._identities = load_identities(settings)
        self._admins = frozenset(settings.admins)
        self._allow_anonymous = settings.allow_anonymous
        self._configured = bool(self._tokens) or bool(self._api_keys)

    async def caller(self, headers: Mapping[str, str], client_host: str | None) -> Caller:
        """Return who sends a request with these headers, whose names are in small letters.

        Raises:
            UnauthorisedError: The credentials are missing, wrong or expired.
        """
        authorization, api_key = headers.get("authorization", "").strip(), headers.get("x-api-key", "").strip()
        if max(len(authorization), len(api_key)) > MAX_CREDENTIAL_CHARS:
            raise UnauthorisedError(f"Credentials have at most {MAX_CREDENTIAL_CHARS:,} characters.")
        if authorization:
            return await self._bearer(authorization)
        if api_key:
            return self._known_key(api_key)
        return self._without_credentials(headers, client_host)

    def identity(self, subject: str) -> str:
        """Return what the database knows `subject` by."""
        return self._identities.of(subject)

    def key_for(self, purpose: str) -> bytes:
        """Return 32 bytes that are the same on all servers with this identity key, and for this purpose only."""
        return self._identities.key_for(purpose)

    async def _bearer(self, authorization: str) -> Caller:
        scheme, _, credentials = authorization.partition(" ")
        credentials = credentials.strip()
        if scheme.lower() != "bearer" or not credentials:
            raise UnauthorisedError(SCHEME)
        if (subject := self._api_keys.subject(credentials)) is not None:
            return self._named(subject)
        if not self._tokens:
            raise UnauthorisedError("This API key is not known." if self._api_keys else NOTHING_CONFIGURED)
        claims = await self._tokens.claims(credentials)
        return self._named(claims.subject, admin=claims.admin)

    def _known_key(self, api_key: str) -> Caller:
        subject = self._api_keys.subject(api_key)
        if subject is None:
            raise UnauthorisedError(
                "This API key is not known. LangGraph's SDK sends LANGSMITH_API_KEY if it is set: "
                "get_client(api_key=None) doesn't."
            )
        return self._named(subject)

    def _without_credentials(self, headers: Mapping[str, str], client_host: str | None) -> Caller:
        """Return the anonymous caller.

        Where nothing else is configured there is one person, whose machine it is: they may change settings, and say whose
        memories they mean. Where others have tokens, the anonymous caller is one user, and no more.
        """
        if not self._allow_anonymous:
            raise UnauthorisedError(SCHEME if self._configured else NOTHING_CONFIGURED)
        if not made_here(headers, client_host):
            raise UnauthorisedError(f"Without credentials, requests are taken from this machine only. {SCHEME}")
        alone = not self._configured
        return Caller(subject=ANONYMOUS, identity=self.identity(ANONYMOUS), names_users=alone, admin=alone)

    def _named(self, subject: str, *, admin: bool = False) -> Caller:
        return Caller(subject=subject, identity=self.identity(subject), admin=admin or subject in self._admins)


@cache
def default_authenticator() -> Authenticator:
    """Return the authenticator of this process's settings.

    Raises:
        ConfigurationError: A setting can't be used.
    """
    return read_apart(lambda: Authenticator(load_settings()))
