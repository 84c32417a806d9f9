"""The end of a turn waits for a database that is away, and for no other."""

import pytest

from discreet.checkpoint import turn_ends
from discreet.checkpoint.turn_ends import astore_end, store_end
from discreet.errors import (
    LockTimeoutError,
    LoginRefusedError,
    ReadOnlyServerError,
    ServerFullError,
    ServerRestartingError,
    StorageBusyError,
    StorageClosedError,
    StorageError,
    StorageUnavailableError,
    TooManyConnectionsError,
    UnverifiedServerError,
)


class Put:
    """Raises errors, one after the other, and stores then."""

    def __init__(self, *errors):
        self.errors, self.calls = list(errors), 0

    def __call__(self):
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "stored"


async def outcome(put, face):
    async def aput():
        return put()

    return await astore_end(aput) if face == "async" else store_end(put)


@pytest.fixture(params=["async", "sync"])
def face(request):
    return request.param


async def test_a_database_that_comes_back_has_the_end(face):
    put = Put(StorageUnavailableError(), StorageUnavailableError())
    assert await outcome(put, face) == "stored"
    assert put.calls == 3


@pytest.mark.parametrize("error", [StorageBusyError(3), StorageError("no")], ids=["busy", "refused"])
async def test_what_waiting_does_not_help_is_raised_as_it_is(face, error):
    put = Put(error)
    with pytest.raises(StorageError) as raised:
        await outcome(put, face)
    assert (raised.value, put.calls) == (error, 1)


LASTING = [LoginRefusedError, UnverifiedServerError, ReadOnlyServerError, ServerFullError, StorageClosedError]


@pytest.mark.parametrize("kind", LASTING)
async def test_a_reason_that_lasts_is_told_at_once(face, kind):
    put = Put(kind())
    with pytest.raises(kind, match="To repeat the call is another turn") as raised:
        await outcome(put, face)
    assert (str(raised.value).startswith(str(kind())), put.calls) == (True, 1)


@pytest.mark.parametrize("kind", [ServerRestartingError, TooManyConnectionsError, LockTimeoutError])
async def test_a_reason_that_passes_is_waited_for(face, kind):
    put = Put(kind(), kind())
    assert (await outcome(put, face), put.calls) == ("stored", 3)


async def test_a_database_that_stays_away_is_an_error_that_invites_no_repetition(face, monkeypatch):
    monkeypatch.setattr(turn_ends, "PATIENCE_SECONDS", 0)
    with pytest.raises(StorageUnavailableError, match="To repeat the call is another turn"):
        await outcome(Put(*[StorageUnavailableError("away") for _ in range(9)]), face)
