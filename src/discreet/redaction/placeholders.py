"""What stands in the place of a value: `<EMAIL>`, or within a thread `<EMAIL:7K2QX3MD>`."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from discreet.state.ids import SECRET_ID_CHARS

OVERSIZE = "OVERSIZE"
"""A text too long to be searched."""
UNKNOWN = "UNKNOWN"
"""Something that can't be shown to be harmless."""
BYTES = "BYTES"
"""Binary data."""
SECRET = "SECRET"  # noqa: S105  # the name of a type
"""A password, key or token."""

UNTAGGED = frozenset({OVERSIZE, UNKNOWN, BYTES, SECRET})
"""Types that never carry a tag. Nobody needs to tell two secrets apart, and a tag could be looked up again."""

TAG_CHARS = 8
"""40 bits in base32 (RFC 4648, section 6). Of 1,000 values in a thread two share a tag once in two million threads."""

TAGGED = re.compile(rf"<(?P<kind>[A-Z][A-Z0-9_]{{0,40}}):(?P<tag>[A-Z2-7]{{{TAG_CHARS}}})>")
"""What has the form of a tagged placeholder, of whatever type."""

REFERENCE = re.compile(rf"<{SECRET}_(?P<secret_id>[A-Z2-7]{{{SECRET_ID_CHARS}}})>")
"""What a memory has in the place of a secret that a `SecretStore` keeps. It has the form of an untagged placeholder, so whatever
leaves those alone leaves this alone; and no tag, so no text can have a value handed out by it."""

UNFINISHED = re.compile(rf"<[A-Z][A-Z0-9_]{{0,40}}(?::[A-Z2-7]{{0,{TAG_CHARS}}})?\Z|<\Z")
"""What may be the beginning of a placeholder at the end of a piece of text."""


_uncounted: ContextVar[bool] = ContextVar("discreet_uncounted", default=False)


def issue(kind: str, tag: str | None = None) -> str:
    """Return the placeholder for one value of type `kind`, and count it. Nothing else counts redactions."""
    from discreet import metrics  # the client library takes longer to import than all of this room

    if not _uncounted.get():
        metrics.redactions.labels(type=kind).inc()
    return written(kind, tag)


@contextmanager
def uncounted() -> Iterator[None]:
    """Issue placeholders without counting them: what a process logs is no text of a user's that passed through it."""
    token = _uncounted.set(True)
    try:
        yield
    finally:
        _uncounted.reset(token)


def written(kind: str, tag: str | None = None) -> str:
    """Return the placeholder as it is written in a text."""
    return f"<{kind}:{tag}>" if tag else f"<{kind}>"


def placeholder_pattern(kinds: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of the placeholders of `kinds`, with tag or without, of those that are no finding's, and of references."""
    names = sorted({*kinds, *UNTAGGED})
    secret_id = f"(?<=<{SECRET})_[A-Z2-7]{{{SECRET_ID_CHARS}}}"
    return re.compile(f"<(?P<kind>{'|'.join(map(re.escape, names))})(?::[A-Z2-7]{{{TAG_CHARS}}}|{secret_id})?>")


def reference(secret_id: str) -> str:
    """Return what stands in a memory for the secret of this id."""
    return f"<{SECRET}_{secret_id}>"


def referenced(texts: Iterable[str]) -> set[str]:
    """Return the ids of the secrets that `texts` refer to."""
    return {match["secret_id"] for text in texts for match in REFERENCE.finditer(text)}


def unreferenced(text: str) -> str:
    """Return `text` as it would read had its secrets not been kept.

    Example:
        >>> unreferenced("the door opens with <SECRET_ABCDEFGHABCDEFGHABCDEFGH>")
        'the door opens with <SECRET>'
    """
    return REFERENCE.sub(written(SECRET), text)


def untagged(text: str, known: Container[str] = ()) -> str:
    """Return `text` with the tags of its placeholders dropped, but of those that are `known`.

    So it is done to what comes from outside a turn (people, tools, memories), where a tag would be somebody's attempt to
    have a value handed out; and to what leaves the thread for long-term memory.

    Example:
        >>> untagged("write to <EMAIL:7K2QX3MD>")
        'write to <EMAIL>'
    """
    while ":" in text and (shorter := TAGGED.sub(lambda m: m[0] if m[0] in known else f"<{m['kind']}>", text)) != text:
        text = shorter
    return text


def resolve(text: str, values: Mapping[str, str]) -> str:
    """Return `text` with the values of its tagged placeholders put back; those not in `values` stay.

    `values` has the turn's values by placeholder, see `ThreadRedactor.mask`. What a value says is not looked at again.

    Example:
        >>> resolve("write to <EMAIL:7K2QX3MD>", {"<EMAIL:7K2QX3MD>": "ann@example.com"})
        'write to ann@example.com'
    """
    return TAGGED.sub(lambda match: values.get(match[0], match[0]), text) if values else text
