"""Bearer tokens: signed JSON (RFC 7519), checked as RFC 8725 wants it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import jwt

from discreet.access.public_keys import PublicKeys
from discreet.access.subjects import check_subject
from discreet.errors import ConfigurationError, UnauthorisedError
from discreet.settings import Settings

SECRET_BYTES = 32
"""As long as the digest (RFC 7518, section 3.2)."""

LEEWAY_SECONDS = 30
"""By which the clocks of two machines may differ."""

MOST_KNOWN = 10_000
"""Tokens signed with the secret that are known by their digests until they expire: to check one takes 0.15 ms. A secret holds for
as long as the process, so that nothing else can end them."""

ADMIN: Final = "discreet:admin"
"""In `scope` or `roles` of an administrator's token."""

SYMMETRIC = "HS256"
ASYMMETRIC = ("RS256", "ES256", "EdDSA")
"""Of what the header of a token says, only which of the two is meant is believed: a public key is never a secret."""

REFUSED = "The bearer token is not valid here."
REASONS: Final[Mapping[type[jwt.PyJWTError], str]] = {
    jwt.ExpiredSignatureError: "The bearer token has expired. Get a new one.",
    jwt.ImmatureSignatureError: "The bearer token is not valid yet.",
    jwt.InvalidAudienceError: "The bearer token is meant for another audience.",
    jwt.InvalidIssuerError: "The bearer token is of another issuer.",
    jwt.MissingRequiredClaimError: "The bearer token lacks a claim: `exp` and `sub` are needed, `iss` and `aud` if configured.",
}


@dataclass(frozen=True, kw_only=True)
class Claims:
    """What a checked token says."""

    subject: str
    admin: bool


class _Known(NamedTuple):
    """A token that was checked."""

    claims: Claims
    expires_at: int
    """Without leeway: in that it is checked each time."""


class Tokens:
    """Check tokens by a secret, by public keys, or by either."""

    def __init__(self, settings: Settings) -> None:
        """Read what the settings say of tokens.

        Raises:
            ConfigurationError: The secret is too short, or the address of the keys can't be used.
        """
        secret = None if settings.jwt_secret is None else settings.jwt_secret.get_secret_value().encode()
        if secret is not None and len(secret) < SECRET_BYTES:
            raise ConfigurationError(
                f"DISCREET_JWT_SECRET must have at least {SECRET_BYTES} bytes. Make one with `openssl rand -base64 32`."
            )
        self._secret = secret
        self._public_keys = None if settings.jwks_url is None else PublicKeys(settings.jwks_url)
        self._issuer, self._audience = settings.jwt_issuer, settings.jwt_audience
        self._known: dict[bytes, _Known] = {}

    def __bool__(self) -> bool:
        return self._secret is not None or self._public_keys is not None

    async def claims(self, token: str) -> Claims:
        """Return what `token` says.

        Raises:
            UnauthorisedError: It is no token, is not signed by whom the settings name, has expired, or names nobody.
        """
        digest = hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=32).digest()
        if (known := self._known.get(digest)) is not None and time.time() < known.expires_at:
            return known.claims
        try:
            header = jwt.get_unverified_header(token)
            key, algorithms = await self._key(header)
            payload = jwt.decode(
                token,
                key,
                algorithms=algorithms,
                audience=self._audience,
                issuer=self._issuer,
                leeway=LEEWAY_SECONDS,
                options={
                    "require": self._required(),
                    "verify_aud": self._audience is not None,
                    "verify_iss": self._issuer is not None,
                    "enforce_minimum_key_length": True,
                },
            )
        except jwt.PyJWTError as error:
            raise UnauthorisedError(REASONS.get(type(error), REFUSED)) from None
        except (ValueError, OverflowError, RecursionError):  # JSON that is nested too deep, a time that is infinite
            raise UnauthorisedError(REFUSED) from None
        claims = Claims(subject=check_subject(payload["sub"]), admin=_has_admin(payload))
        if key == self._secret:  # a public key may be withdrawn
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[digest] = _Known(claims, int(payload["exp"]))
        return claims

    async def _key(self, header: Mapping[str, Any]) -> tuple[bytes | jwt.PyJWK, list[str]]:
        algorithm, key_id = header.get("alg"), header.get("kid")
        if algorithm == SYMMETRIC and self._secret is not None:
            return self._secret, [SYMMETRIC]
        if algorithm in ASYMMETRIC and self._public_keys is not None and isinstance(key_id, str):
            return await self._public_keys.find(key_id), list(ASYMMETRIC)
        raise UnauthorisedError(REFUSED)

    def _required(self) -> list[str]:
        required = ["exp", "sub"]
        if self._issuer is not None:
            required.append("iss")
        if self._audience is not None:
            required.append("aud")
        return required


def _has_admin(payload: Mapping[str, Any]) -> bool:
    return any(ADMIN in _names(payload.get(claim)) for claim in ("scope", "roles"))


def _names(claim: object) -> list[object]:
    """Return the names in a claim: a text with spaces between them (RFC 8693, section 4.2), or a list."""
    if isinstance(claim, str):
        return list(claim.split())
    return claim if isinstance(claim, list) else []
