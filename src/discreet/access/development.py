"""Tokens for trying the server out on one's own machine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from discreet.errors import ConfigurationError
from discreet.redaction.key_file import KeyFile
from discreet.settings import Settings

DEVELOPMENT_KEY = KeyFile(name="development.key", variable="DISCREET_JWT_SECRET", made_by="discreet key --identity")
"""Signs the tokens of `discreet dev`. It stays, so that a token is good after a restart."""

TTL = timedelta(days=30)


def make_token(
    secret: str,
    subject: str,
    *,
    admin: bool = False,
    ttl: timedelta = TTL,
    issuer: str | None = None,
    audience: str | None = None,
) -> str:
    """Return a bearer token that names `subject`, signed with `secret` (HS256).

    Raises:
        UnauthorisedError: The subject can't be used.
    """
    import jwt  # loaded with the first token: a server is started before

    from discreet.access.subjects import check_subject
    from discreet.access.tokens import ADMIN, SYMMETRIC

    now = datetime.now(UTC)
    claims: dict[str, object] = {"sub": check_subject(subject), "iat": now, "exp": now + ttl}
    optional = {"scope": ADMIN if admin else None, "iss": issuer, "aud": audience}
    claims |= {name: value for name, value in optional.items() if value is not None}
    return jwt.encode(claims, secret.encode(), SYMMETRIC)


def token_for(settings: Settings, subject: str, *, admin: bool = False, ttl: timedelta = TTL) -> str:
    """Return a token that a server with these settings takes, or `discreet dev` in this folder if they have no secret.

    Raises:
        ConfigurationError: Tokens are signed elsewhere, by whom DISCREET_JWKS_URL names.
        UnauthorisedError: The subject can't be used.
    """
    if settings.jwt_secret is not None:
        secret = settings.jwt_secret.get_secret_value()
    elif configured(settings):
        raise ConfigurationError(
            "Tokens for development need DISCREET_JWT_SECRET, or a server with no method configured."
        )
    else:
        secret = development_secret(settings)
    return make_token(secret, subject, admin=admin, ttl=ttl, issuer=settings.jwt_issuer, audience=settings.jwt_audience)


def development_secret(settings: Settings) -> str:
    """Return the secret of `discreet dev` in this data folder, which is made if there is none.

    Raises:
        ConfigurationError: The file holds something else, or can't be read or made.
    """
    try:
        return DEVELOPMENT_KEY.load(None, settings.data_dir).hex()
    except OSError as error:
        raise ConfigurationError(
            f"The secret for development can't be kept in the data folder ({type(error).__name__}). Set "
            "DISCREET_JWT_SECRET, or a DISCREET_DATA_DIR that can be written to."
        ) from error


def configured(settings: Settings) -> bool:
    """Tell whether the settings say how callers are known."""
    return settings.jwt_secret is not None or settings.jwks_url is not None or bool(settings.api_keys)
