"""Sessions of pages: signed cookies, and the tokens that tie a form to its session."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

import jwt

from discreet.errors import ConfigurationError

SESSION_SECONDS = 8 * 3600
"""A working day; then one signs in again."""
LOGIN_SECONDS = 3600
"""How long a login form can be sent."""
KEY_BYTES = 32
"""Least length of the key; RFC 7518, section 3.2, asks as much for HS256."""


@dataclass(frozen=True, kw_only=True)
class PageSession:
    """One browser's session."""

    id: str
    """Random."""
    identity: str | None
    """Who signed in, by what the database knows them by; None before they did."""
    ends_at: float
    """Seconds since the epoch."""


def derive(key: bytes, area: str, purpose: str) -> bytes:
    """Return a key of 32 bytes for one purpose in one area of pages.

    Raises:
        ConfigurationError: `key` is shorter than 32 bytes.
    """
    if len(key) < KEY_BYTES:
        raise ConfigurationError(f"session_key needs {KEY_BYTES} random bytes.")
    return hmac.digest(key, f"discreet {area} {purpose}".encode(), "sha256")


class Sessions:
    """Signs and reads the cookie. Of sessions that were ended it knows those that this process has ended."""

    def __init__(self, session_key: bytes, area: str, *, clock: Callable[[], float] = time.time) -> None:
        """Sign under keys derived from `session_key` for the pages of `area`; `clock` gives seconds since the epoch.

        Raises:
            ConfigurationError: `session_key` is too short.
        """
        self._cookie_key = derive(session_key, area, "session")
        self._form_key = derive(session_key, area, "form")
        self._clock = clock
        self._ended: dict[str, float] = {}

    def begin(self, identity: str | None = None) -> PageSession:
        """Return a new session, of 8 hours; without `identity` of one hour, to sign in."""
        seconds = LOGIN_SECONDS if identity is None else SESSION_SECONDS
        return PageSession(id=secrets.token_urlsafe(24), identity=identity, ends_at=int(self._clock()) + seconds)

    def sign(self, session: PageSession) -> str:
        """Return the cookie of `session`."""
        claims = {"jti": session.id, "exp": int(session.ends_at)}
        if session.identity is not None:
            claims["sub"] = session.identity
        return jwt.encode(claims, self._cookie_key, algorithm="HS256")

    def read(self, cookie: str | None) -> PageSession | None:
        """Return the session of `cookie`; None if it is not one of ours, or over."""
        try:
            claims = jwt.decode(
                cookie or "",
                self._cookie_key,
                algorithms=["HS256"],
                options={"require": ["jti", "exp"], "verify_exp": False},  # by our clock, below
            )
        except jwt.InvalidTokenError:
            return None
        if claims["exp"] <= self._clock() or claims["jti"] in self._ended:
            return None
        return PageSession(id=claims["jti"], identity=claims.get("sub"), ends_at=claims["exp"])

    def end(self, session: PageSession) -> None:
        """Take the cookie of `session` no more."""
        now = self._clock()
        self._ended = {name: ends_at for name, ends_at in self._ended.items() if ends_at > now}
        self._ended[session.id] = session.ends_at

    def form_token(self, session: PageSession) -> str:
        """Return what every form of `session` carries, so that no other site can send it."""
        return hmac.new(self._form_key, session.id.encode(), "sha256").hexdigest()

    def is_form_token(self, session: PageSession, token: str) -> bool:
        """Whether `token` belongs to `session`; compared in constant time."""
        return hmac.compare_digest(self.form_token(session).encode(), token.encode("utf-8", "surrogatepass"))
