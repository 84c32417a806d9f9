"""The rules of the ports `KeyProvider` and `KeyWrapper`."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from discreet.encryption import Column, seal, unseal
from discreet.errors import EncryptionError
from discreet.ports import KEY_BYTES, KeyProvider, KeyWrapper
from discreet.testing.conformance.rules import expect

KeyProviderCheck = Callable[[KeyProvider], None]
KeyWrapperCheck = Callable[[KeyWrapper], None]

MANY = 20


def finds_the_key_that_seals(keys: KeyProvider) -> None:
    """Check that the current key is found by its id, as it is, again and again."""
    current = keys.current()
    expect(len(current.secret) == KEY_BYTES, f"A key has {KEY_BYTES} bytes.")
    expect(keys.find(current.id) == current, "find returns the current key by its id.")
    expect(keys.current() == current, "The current key stays the current one until there is a newer one.")


def opens_what_it_seals(keys: KeyProvider) -> None:
    """Check that a value opens in its own place and in no other."""
    notes = Column("conformance", "note")
    sealed = seal(b"a note", notes.of("ann", "1"), keys)
    expect(unseal(sealed, notes.of("ann", "1"), keys) == b"a note", "What was sealed can be opened.")
    try:
        unseal(sealed, notes.of("bob", "1"), keys)
    except EncryptionError:
        return
    expect(False, "A value can't be opened in the place of another.")


def knows_no_other_key(keys: KeyProvider) -> None:
    """Check that an id that is not known is None, whatever it looks like."""
    for key_id in (secrets.token_hex(4), "", "a:b", "k" * 64, "\N{REPLACEMENT CHARACTER}"):
        expect(keys.find(key_id) is None, "find returns None for an id that is not known.")


def serves_many_threads(keys: KeyProvider) -> None:
    """Check that threads may ask at once, as nodes and the sync checkpointer do."""
    current = keys.current()
    with ThreadPoolExecutor(MANY) as threads:
        found = list(threads.map(keys.find, [current.id] * MANY))
    expect(found == [current] * MANY, "Many threads at once find the same key.")


def shows_no_secret(keys: KeyProvider) -> None:
    """Check that no secret is in what the provider shows of itself."""
    secret = keys.current().secret
    shown = f"{keys!r} {keys}"
    expect(secret.hex() not in shown and repr(secret)[2:-1] not in shown, "A provider does not show its keys.")


def unwraps_what_it_wraps(wrapper: KeyWrapper) -> None:
    """Check that a data key comes back as it was, whatever its bytes are."""
    for secret in (secrets.token_bytes(KEY_BYTES), bytes(KEY_BYTES), b"\xff" * KEY_BYTES):
        wrapped = wrapper.wrap(secret)
        expect(secret not in wrapped, "A wrapped key does not show the key.")
        expect(wrapper.unwrap(wrapped) == secret, "unwrap returns what wrap took.")


def never_wraps_alike(wrapper: KeyWrapper) -> None:
    """Check that nobody sees of two wrapped keys whether they are the same."""
    secret = secrets.token_bytes(KEY_BYTES)
    expect(wrapper.wrap(secret) != wrapper.wrap(secret), "A key that is wrapped twice looks different each time.")


def refuses_what_it_did_not_wrap(wrapper: KeyWrapper) -> None:
    """Check that what was changed, or is none of its own, is a typed error that quotes nothing."""
    secret = secrets.token_bytes(KEY_BYTES)
    wrapped = wrapper.wrap(secret)
    for broken in (b"", secrets.token_bytes(60), wrapped[:-1], wrapped[:-1] + bytes([wrapped[-1] ^ 1])):
        try:
            wrapper.unwrap(broken)
        except EncryptionError as error:
            expect(secret.hex() not in str(error), "An error does not quote a key.")
        else:
            expect(False, "unwrap raises EncryptionError for what wrap did not return.")


KEY_PROVIDER_CHECKS: Final[tuple[KeyProviderCheck, ...]] = (
    finds_the_key_that_seals,
    opens_what_it_seals,
    knows_no_other_key,
    serves_many_threads,
    shows_no_secret,
)
"""One for each rule."""

KEY_WRAPPER_CHECKS: Final[tuple[KeyWrapperCheck, ...]] = (
    unwraps_what_it_wraps,
    never_wraps_alike,
    refuses_what_it_did_not_wrap,
)
"""One for each rule."""


def check_key_provider(keys: KeyProvider) -> None:
    """Run all checks of a provider, which answers from RAM and needs no event loop.

    Example:
        >>> from discreet.testing import InMemoryKeys
        >>> check_key_provider(InMemoryKeys())

    Raises:
        ConformanceError: A rule is broken.
    """
    for check in KEY_PROVIDER_CHECKS:
        check(keys)


def check_key_wrapper(wrapper: KeyWrapper) -> None:
    """Run all checks of a wrapper, as a program without an event loop.

    Example:
        >>> from discreet.testing import InMemoryKeyWrapper
        >>> check_key_wrapper(InMemoryKeyWrapper())

    Raises:
        ConformanceError: A rule is broken.
    """
    for check in KEY_WRAPPER_CHECKS:
        check(wrapper)
