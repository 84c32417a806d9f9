"""Ids that programs make: random, so that they look like secrets, and nobody's. Known by their forms, and by their names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import View
from discreet.redaction.word_index import Kinds

RANDOM_ID: Final = lazy(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}"  # UUID
    r"|(?=[0-9]+[a-f]|(?:[0-9]*[a-f]){4})(?:[0-9a-f]{24}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})"
    r"|auth0\|[0-9a-f]{24}"
    r"|(?=(?:[0-9]*[A-Z]){4})[0-7][0-9A-HJKMNP-TV-Z]{25}"  # ULID
    r"|(?:[a-z]{1,32}(?:_[a-z]{1,32})?_)?(?=(?:[0-9]*[a-z]){4})[0-7][0-9a-hjkmnp-tv-z]{25}"  # in small letters, TypeID
)
"""ObjectIds, digests and the like: digits in these are no numbers of anybody. An IBAN in small letters begins with two and has no more."""

_OBJECTS: Final = (
    # https://docs.stripe.com/api: what is no key
    "acct|ba|bps|btok|card|ch|cn|cs_test|cs_live|cus|di|dp|du|evt|fee|fr|ic|ich|ii|il|in|ip|ipi|link|mandate|or|pi|plink|pm|po"
    "|price|prod|promo|prv|py|pyr|qt|rcpt|req|seti|setatt|si|sli|src|sub|sub_sched|tr|trr|tu|txcd|txn|txr|vr|vs|we"
    # providers of models, of identities
    "|asst|batch|call|chatcmpl|fc|file|gen|item|msg|resp|rs|run|step|thread|toolu|vs|user|org|orgmem|inv"
)
"""Prefixes that tell what an id is of."""

FORMED_ID: Final = lazy(
    rf"{RANDOM_ID.pattern}"
    rf"|(?:{_OBJECTS})[_-]{{1,2}}(?=[0-9]*[A-Za-z])[0-9A-Za-z]{{14,80}}"
    r"|(?=.*[a-z])(?=.*[A-Z])[0-9A-Za][0-9A-Za-z]{26}|c[0-9a-z]{24}",  # KSUID, the greatest of which is aWgEPTl1…; CUID
    re.ASCII,
)
"""Those, and ids of more letters that are known within a text, too."""

_RANDOM_OBJECT: Final = lazy(rf"(?:{_OBJECTS})[_-]{{1,2}}(?=[0-9]+[a-f]|(?:[0-9]*[a-f]){{4}})[0-9a-f]{{16,128}}")
"""Of these whose rest is hexadecimal: digits in it are no numbers of anybody, either."""

KNOWN_ID: Final = lazy(rf"{FORMED_ID.pattern}|(?=.*[a-z])(?=.*[A-Z])[\w-]{{21}}|[a-z][0-9a-z]{{23}}", re.ASCII)
"""Those, and nanoid and CUID2, which have nothing but a length: they are no ids within a text."""

_SNOWFLAKE: Final = lazy("[0-9]{17,19}")
_LAST_SNOWFLAKE: Final = 4 * 10**18
"""Of the year 2040: greater ones have the length and the beginning of cards."""
_RANDOM: Final = lazy(
    r"(?:(?:W/)?(?P<quote>\"))?(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[\w+/=.:|~-]{20,256}(?(quote)\")", re.ASCII
)
"""What may be an id if its name says so: longer than the numbers that organisations give people. HTTP has ETags in quotes."""

_ENDINGS: Final = frozenset(
    [
        "id",
        "ids",
        "uid",
        "uuid",
        "guid",
        "ulid",
        "sha",
        "sha1",
        "sha256",
        "sha512",
        "md5",
        "hash",
        "hashes",
        "digest",
        "etag",
        "checksum",
        "fingerprint",
        "commit",
        "revision",
        "cursor",
    ]
)
"""Last words of names under which ids stand."""
_SECRET: Final = frozenset(
    [
        "pass",
        "auth",
        "authorization",
        "authentication",
        "jwt",
        "session",
        "sid",
        "cookie",
        "csrf",
        "xsrf",
        "otp",
        "pin",
        "code",
        "verifier",
        "nonce",
        "signature",
        "salt",
        "bearer",
        "private",
    ]
)
"""Words of names of secrets, in the singular, beside those that the redactor knows in any text."""
_GLUED: Final = lazy(
    ".+(?:token|secret|cookie|password)s?|.*sess(?:ion)?id|(?:access|secret|private|session|signing|encryption)keys?|authcodes?"
)
"""Words of those written as one."""
_THINGS: Final = frozenset(["reason", "region", "state", "city", "location", "department", "category", "type", "event"])
"""What has codes that are no secrets, beside what the redactor knows."""
_PERSONS: Final = frozenset(["national", "citizen", "personal", "card", "phone", "bank", "insurance", "ssn"])
"""Likewise of numbers that are somebody's."""
_WORD: Final = lazy(r"[A-Z]?[^\W\dA-Z_]+[0-9]*|[A-Z]+(?![^\W\dA-Z_])[0-9]*|[0-9]+")
_PASSWORDS_AND_KEYS: Final = Kinds("secret", "password", "key")
_SECRET_CODES: Final = Kinds("code", "once", "pin", "card")
_CODES_OF_THINGS: Final = Kinds("code", "other")
_NUMBERS_OF_PERSONS: Final = Kinds("identity", "person", "member", "bank", "medical")
_REACH: Final = 100
"""Characters around an id in which a word says that it is a secret."""

_LONGEST_NAME: Final = 256
"""What is longer is no name, and nobody knows what it says."""
_DIGITS: Final = lazy("(?:[0-9][-_]?){8}")
"""What may be somebody's number, or hold one."""

NEUTRAL: Final = "digest: "
"""Before this a redactor takes what looks random for no secret, and finds all else."""


def is_id(text: str, name: str | None = None) -> bool:
    """Return whether a value is an id of a form in which nothing is to be looked for, unless its `name` says that it is a secret."""
    if not KNOWN_ID.fullmatch(text) or (name and _says(name).secret):
        return False
    if RANDOM_ID.fullmatch(text) or _RANDOM_OBJECT.fullmatch(text):
        return True
    return not (_DIGITS.search(text) or _is_vendors(text))


def is_named_id(text: str, name: str | None) -> bool:
    """Return whether a value that looks random is an id since its name says so: it is to be read after `NEUTRAL`."""
    said = _says(name) if name else None
    if said is None or said.secret or not said.id:
        return False
    if _SNOWFLAKE.fullmatch(text):
        return not said.person and int(text) < _LAST_SNOWFLAKE
    return _RANDOM.fullmatch(text) is not None


def is_secret(text: str, name: str | None) -> bool:
    """Return whether a value of the form of an id is a secret as a whole, since its `name` says so.

    What has nothing but the length of an id may be a word, such as the name of a fault under `code`, unless it has a digit.
    """
    if not name or len(name) > _LONGEST_NAME or not _says(name).secret or not KNOWN_ID.fullmatch(text):
        return False
    return any(map(str.isdigit, text)) or FORMED_ID.fullmatch(text) is not None


def is_name_of_id(name: str | None) -> bool:
    """Return whether a name says that an id stands under it, if it may be the id of a session or a key."""
    return name is not None and _says(name).id


def told_by_name(name: str, *, found: bool) -> bool:
    """Return whether a value is to be read together with its name: if nothing was `found` in it alone, or all of it is a secret."""
    return len(name) <= _LONGEST_NAME and (not found or _says(name).secret)


def is_told_secret(view: View, start: int, end: int) -> bool:
    """Return whether a word for a password or a key stands near a part of a text."""
    return any(
        start - _REACH <= place < start or end <= place < end + _REACH for place in _PASSWORDS_AND_KEYS.places(view)
    )


class _Said(NamedTuple):
    """What a name says of its value."""

    id: bool
    secret: bool
    person: bool
    """Whether a number of somebody's stands under it."""


@lru_cache(maxsize=4096)
def _says(name: str) -> _Said:
    if len(name) > _LONGEST_NAME:
        return _Said(id=False, secret=True, person=True)
    words = [_singular(word.lower()) for word in _WORD.findall(name)]
    spaced = View(" ".join(words))
    return _Said(
        id=bool(words) and words[-1] in _ENDINGS,
        secret=bool(_PASSWORDS_AND_KEYS.found(spaced)) or _has_word_of_secret(words, spaced),
        person=not _PERSONS.isdisjoint(words) or bool(_NUMBERS_OF_PERSONS.found(spaced)),
    )


def _singular(word: str) -> str:
    return word.removesuffix("s") if word.removesuffix("s") in _SECRET else word


def _has_word_of_secret(words: list[str], spaced: View) -> bool:
    """Return whether one of `words` says that a secret stands there: of codes all but those of things, as in `product_code`."""
    found = _SECRET.intersection(words)
    if words[-2:] == ["user", "id"]:  # whoever authenticated them, it is the id of a user
        return False
    if any(map(_GLUED.fullmatch, words)):
        return True
    if found != {"code"} or _SECRET_CODES.found(spaced):
        return bool(found)
    return not _CODES_OF_THINGS.found(spaced) and _THINGS.isdisjoint(words)


def _is_vendors(text: str) -> bool:
    # Imported here since ids of messages, most of which are UUIDs, are known without it.
    from discreet.redaction.recognisers.vendor_forms import FIXED, PREFIXED

    return (PREFIXED.match(text) or FIXED.match(text)) is not None
