import fcntl
import os
import stat
import time

import pytest

from discreet.errors import EmbeddedServerError
from discreet.storage.embedded.folder import ACQUIRE, LEASE, ServerFolder, try_lock, wait_for_lock


@pytest.fixture
def folder(tmp_path):
    opened = ServerFolder.ensure(tmp_path / "a" / "data", 18)
    yield opened
    opened.close()


@pytest.fixture
def open_lease(folder):
    descriptors = []

    def open_one():
        descriptors.append(folder.open(LEASE))
        return descriptors[-1]

    yield open_one
    for descriptor in descriptors:
        os.close(descriptor)


def test_folder_and_locks_appear_together_and_private(folder, tmp_path):
    assert sorted(folder.names()) == ["acquire.lock", "lease.lock", "server.lock", "supervisor.lock"]
    for path in (tmp_path / "a").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
        assert path.stat().st_uid == folder.account.uid
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_folder_that_is_there_is_opened_as_it_is(folder, tmp_path):
    folder.write("socket", "kept")
    again = ServerFolder.ensure(tmp_path / "a" / "data", 18)
    assert again.read("socket") == "kept"
    again.close()


def test_a_written_text_replaces_a_longer_one(folder):
    folder.write("socket", "a longer text")
    folder.write("socket", "short")
    assert folder.read("socket") == "short"


def test_a_lock_is_free_shared_or_exclusive(folder, open_lease):
    first, second = open_lease(), open_lease()
    assert (folder.is_free(LEASE), folder.is_shared(LEASE)) == (True, False)
    assert try_lock(first, fcntl.LOCK_SH)
    assert try_lock(second, fcntl.LOCK_SH)
    assert (folder.is_free(LEASE), folder.is_shared(LEASE)) == (False, True)
    fcntl.flock(first, fcntl.LOCK_UN)
    assert try_lock(second, fcntl.LOCK_EX)
    assert (folder.is_free(LEASE), folder.is_shared(LEASE)) == (False, False)


def test_waiting_for_a_lock_is_bounded(open_lease):
    assert try_lock(open_lease(), fcntl.LOCK_EX)
    with pytest.raises(EmbeddedServerError, match="too long"):
        wait_for_lock(open_lease(), fcntl.LOCK_SH, time.monotonic() + 0.05)


def test_alone_keeps_others_out_even_of_the_same_process_and_ends_with_an_error(folder):
    def fail():
        with folder.alone(time.monotonic() + 1):
            assert not folder.is_free(ACQUIRE)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert folder.is_free(ACQUIRE)


def test_what_a_killed_client_left_unfinished_is_removed_and_nothing_else(folder):
    folder.make_folder("new-")
    kept = folder.make_folder("data-")
    folder.remove_folders("new-")
    assert kept in folder.names()
    assert not [name for name in folder.names() if name.startswith("new-")]
