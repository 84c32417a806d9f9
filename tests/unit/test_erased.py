"""Who is told of an erasure."""

import logging
from uuid import UUID

from discreet.erased import Erased, on_erasure, tell

DIGESTS = {"1": UUID(int=1), "2": UUID(int=2)}


def digest_of(thread_id):
    """Return a digest of any thread: savers of other tests may still listen."""
    return DIGESTS.get(thread_id, UUID(int=9))


ERASED = Erased.of(UUID(int=7), threads=[UUID(int=1)], turns=[], key_of=digest_of)


class Listener:
    """Notes what it hears."""

    def __init__(self):
        self.heard = []
        on_erasure(self.hear)

    def hear(self, erased):
        """Hear at once."""
        self.heard.append(erased)


class Slow(Listener):
    """Hears as a coroutine."""

    async def hear(self, erased):
        self.heard.append(erased)


class Broken(Listener):
    """Cannot hear."""

    def hear(self, erased):
        raise RuntimeError(f"{erased} is a secret")


async def test_all_that_listen_are_told_though_one_fails(caplog):
    caplog.set_level(logging.WARNING)
    listeners = [Listener(), Broken(), Slow()]
    await tell(ERASED)
    assert [len(each.heard) for each in listeners] == [1, 0, 1]
    said = [record.getMessage() for record in caplog.records]  # storages of other tests in this process may listen, too
    assert said.count("erasure.not_heard cause=RuntimeError") == 1


async def test_what_is_gone_is_not_told():
    heard = Listener().heard
    await tell(ERASED)
    assert heard == []


def test_a_thread_is_known_by_its_digest():
    assert ERASED.has_thread("1")
    assert not ERASED.has_thread("2")


def test_a_user_and_a_turn_are_known_by_who_has_them_and_told_to_nobody_else():
    erased = Erased.of(UUID(int=7), threads=[], turns=["a turn"], key_of=digest_of)
    assert (erased.is_of(UUID(int=7)), erased.is_of(UUID(int=8))) == (True, False)
    assert (erased.has_turn("a turn"), erased.has_turn("another")) == (True, False)
    assert not [word for word in (str(UUID(int=7)), "a turn") if word in repr(erased)]
