"""Who sends a request."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Caller:
    """A person or a program whose credentials were checked."""

    subject: str
    """What the token or the key names. May be an e-mail address: it is never stored or logged."""
    identity: str
    """What the database knows them by: a keyed digest of the subject, which tells nothing without the key."""
    admin: bool = False
    """Whether settings and the admin page are theirs."""
    names_users: bool = False
    """Whether they may say in a request whose memories are meant: nobody vouches for callers without a token, who are
    allowed on this machine only if a setting says so."""
