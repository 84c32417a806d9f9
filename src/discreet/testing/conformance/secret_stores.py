"""The rules of the port `SecretStore`."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol, runtime_checkable

from discreet.ports import SecretStore
from discreet.state.ids import is_secret_id, new_secret_id
from discreet.testing.conformance.rules import expect, someone

SecretStoreCheck = Callable[[SecretStore], Awaitable[None]]

MANY = 20


@runtime_checkable
class Revealing(Protocol):
    """A store whose values can be read by this name: then it is checked that they come back as they were."""

    async def reveal(self, user_id: str, secret_id: str) -> str | None:
        """Return the value; None if this person has none of that id."""
        ...


async def hands_out_an_id_for_each_secret(store: SecretStore) -> None:
    """Check the form of ids, and that no two are equal, also of the same value."""
    value = _value()
    async with _somebody(store) as user:
        ids = [await _kept(store, user, each) for each in (value, value, _value())]
        expect(all(map(is_secret_id, ids)), "A secret_id is 24 of A-Z and 2-7.")
        expect(len(set(ids)) == len(ids), "Each call of keep returns an id of its own.")


async def keeps_a_text_as_it_is(store: SecretStore) -> None:
    """Check that long values, lines and any script are taken, and come back if the store has `reveal`."""
    lines = "\n".join(["-----BEGIN OF A KEY-----", *(secrets.token_urlsafe(48) for _ in range(50)), "-----END-----\n"])
    values = [lines, "mật khẩu ёлка 密码 🔑", " 'a\" \\n {b} %s $c ", "1"]
    async with _somebody(store) as user:
        for value in values:
            secret_id = await _kept(store, user, value)
            if isinstance(store, Revealing):
                expect(await store.reveal(user, secret_id) == value, "A value is kept as it was given.")


async def forgets_one_secret_once(store: SecretStore) -> None:
    """Check that one goes, the others stay, and what isn't there is no error."""
    async with _somebody(store) as user:
        one, other = [await _kept(store, user, _value()) for _ in range(2)]
        expect(await store.forget(user, one) == 1, "forget returns 1 for a secret that it deleted.")
        expect(await store.forget(user, one) == 0, "forget returns 0 for a secret that is gone.")
        expect(await store.forget(user, new_secret_id()) == 0, "forget returns 0 for an id that was never handed out.")
        if isinstance(store, Revealing):
            expect(await store.reveal(user, one) is None, "A forgotten secret is gone.")
        expect(await store.forget(user, other) == 1, "Others stay when one is forgotten.")


async def forgets_all_of_a_person(store: SecretStore) -> None:
    """Check that all go without an id, counted."""
    user = someone()
    ids = [await _kept(store, user, _value()) for _ in range(3)]
    expect(await store.forget(user) == len(ids), "forget without an id deletes all of a person and returns how many.")
    expect(await store.forget(user) == 0, "Nothing is left of a person after forget.")
    expect(sum([await store.forget(user, each) for each in ids]) == 0, "None is left under its id.")


async def keeps_people_apart(store: SecretStore) -> None:
    """Check that an id is worth nothing to another person."""
    async with _somebody(store) as ann, _somebody(store) as bob:
        secret_id = await _kept(store, ann, _value())
        await _kept(store, bob, _value())
        if isinstance(store, Revealing):
            expect(await store.reveal(bob, secret_id) is None, "Nobody reads the secret of another person.")
        expect(await store.forget(bob, secret_id) == 0, "Nobody deletes the secret of another person.")
        expect(await store.forget(bob) == 1, "forget without an id deletes those of one person.")
        expect(await store.forget(ann, secret_id) == 1, "What another person does leaves a secret where it is.")


async def serves_many_at_once(store: SecretStore) -> None:
    """Check that none is lost where many are kept at the same time."""
    async with _somebody(store) as user:
        ids = await asyncio.gather(*(_kept(store, user, _value()) for _ in range(MANY)))
        expect(len(set(ids)) == MANY, "Each of many calls at once returns an id of its own.")
        expect(await store.forget(user) == MANY, "None of many that were kept at once is lost.")


async def tells_nobody_a_value(store: SecretStore) -> None:
    """Check that no value is in an id, in a log record of any level, or in the store's own representation."""
    user, value = someone(), _value()
    heard = _Hearing()
    root = logging.getLogger()
    level = root.level
    root.addHandler(heard)
    root.setLevel(logging.NOTSET)
    try:
        secret_id = await _kept(store, user, value)
        shown = f"{secret_id} {store!r} {store}"
        await store.forget(user, secret_id)
    finally:
        root.setLevel(level)
        root.removeHandler(heard)
        await store.forget(user)
    expect(value not in shown, "A value is not in its id, and not in what the store shows of itself.")
    expect(value not in "\n".join(heard.lines), "A value is not logged.")


SECRET_STORE_CHECKS: Final[tuple[SecretStoreCheck, ...]] = (
    hands_out_an_id_for_each_secret,
    keeps_a_text_as_it_is,
    forgets_one_secret_once,
    forgets_all_of_a_person,
    keeps_people_apart,
    serves_many_at_once,
    tells_nobody_a_value,
)
"""One for each rule. A store that takes nothing, as the default, breaks the first: it has no rule to keep."""


async def check_secret_store(store: SecretStore) -> None:
    """Run all checks.

    Example:
        >>> from discreet.testing import InMemorySecretStore
        >>> asyncio.run(check_secret_store(InMemorySecretStore()))

    Raises:
        ConformanceError: A rule is broken.
    """
    for check in SECRET_STORE_CHECKS:
        await check(store)


@asynccontextmanager
async def _somebody(store: SecretStore) -> AsyncIterator[str]:
    """Yield a user_id of whom nothing is kept, and forget what is in the end."""
    user = someone()
    try:
        yield user
    finally:
        await store.forget(user)


class _Hearing(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.getMessage()} {record.__dict__}")


def _value() -> str:
    return f"of a test {secrets.token_urlsafe(24)}"


async def _kept(store: SecretStore, user_id: str, value: str) -> str:
    secret_id = await store.keep(user_id, value)
    expect(secret_id is not None, "The store declined. Check it with what it takes.")
    return str(secret_id)
