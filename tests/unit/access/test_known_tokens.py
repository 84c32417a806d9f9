"""A token that was checked is known until it expires, and no other for it."""

import time
from datetime import timedelta

import jwt
import pytest

from discreet.access import tokens
from discreet.access.development import make_token
from discreet.errors import UnauthorisedError


async def _subject(authenticator, token):
    return (await authenticator.caller({"authorization": f"Bearer {token}"}, None)).subject


async def test_a_known_token_is_not_checked_again(make_authenticator, secret, monkeypatch):
    authenticator, token = make_authenticator(jwt_secret=secret), make_token(secret, "ann", admin=True)
    await _subject(authenticator, token)
    monkeypatch.setattr(tokens.jwt, "decode", None)
    caller = await authenticator.caller({"authorization": f"Bearer {token}"}, None)
    assert (caller.subject, caller.admin) == ("ann", True)


async def test_a_known_token_expires(make_authenticator, secret, monkeypatch):
    authenticator, token = make_authenticator(jwt_secret=secret), make_token(secret, "ann", ttl=timedelta(minutes=1))
    await _subject(authenticator, token)
    later = time.time() + 60

    def expired(*_, **__):
        raise jwt.ExpiredSignatureError

    monkeypatch.setattr(tokens.time, "time", lambda: later)
    monkeypatch.setattr(tokens.jwt, "decode", expired)  # PyJWT's clock is not ours to move
    with pytest.raises(UnauthorisedError, match="expired"):
        await _subject(authenticator, token)


@pytest.mark.parametrize("at", [10, -10])
async def test_a_known_token_with_another_letter_is_refused(make_authenticator, secret, at):
    authenticator, token = make_authenticator(jwt_secret=secret), make_token(secret, "ann")
    await _subject(authenticator, token)
    other = token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]
    with pytest.raises(UnauthorisedError):
        await _subject(authenticator, other)


async def test_so_many_tokens_are_known_and_no_more(make_authenticator, secret, monkeypatch):
    monkeypatch.setattr(tokens, "MOST_KNOWN", 2)
    authenticator = make_authenticator(jwt_secret=secret)
    for name in ("ann", "bob", "eve", "ann"):
        assert await _subject(authenticator, make_token(secret, name)) == name
