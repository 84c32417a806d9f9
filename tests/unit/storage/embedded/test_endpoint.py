import os
import socket
import stat
from pathlib import Path

import psycopg.conninfo
import pytest

from discreet.errors import EmbeddedServerError
from discreet.storage.embedded import endpoint
from discreet.storage.embedded.account import Account

OURSELVES = Account(os.geteuid(), os.getegid())


@pytest.fixture
def bases(tmp_path, monkeypatch):
    """Let socket folders be made in `tmp_path` alone; it belongs to whoever runs the tests, and counts as root's."""
    status = Path.stat

    def of_root(path, **options):
        found = list(status(path, **options))
        if path == tmp_path:
            found[stat.ST_UID] = 0
        return os.stat_result(found)

    monkeypatch.setattr(endpoint, "_BASES", (tmp_path,))
    monkeypatch.setattr(Path, "stat", of_root)
    return tmp_path


@pytest.mark.parametrize("mode", [0o1777, 0o755])
def test_a_socket_folder_is_private_and_recognised_again(bases, mode):
    bases.chmod(mode)
    folder = endpoint.make_temporary_folder(OURSELVES)
    assert stat.S_IMODE(folder.lstat().st_mode) == 0o700
    assert endpoint.is_socket_folder(folder, OURSELVES)


def test_no_socket_folder_is_made_where_others_could_replace_it(bases):
    bases.chmod(0o777)
    with pytest.raises(EmbeddedServerError, match="sticky"):
        endpoint.make_temporary_folder(OURSELVES)


def test_a_folder_that_was_tampered_with_is_not_recognised(bases):
    bases.chmod(0o1777)
    folder = endpoint.make_temporary_folder(OURSELVES)
    assert not endpoint.is_socket_folder(folder, Account(OURSELVES.uid + 1, 0))
    folder.chmod(0o755)
    assert not endpoint.is_socket_folder(folder, OURSELVES)
    folder.rmdir()
    assert not endpoint.is_socket_folder(folder, OURSELVES)
    folder.symlink_to(bases)
    assert not endpoint.is_socket_folder(folder, OURSELVES)


@pytest.mark.parametrize("recorded", ["", "/", "/etc", "discreet-x", "/home/discreet-x"])
def test_other_paths_are_no_socket_folders(recorded):
    assert not endpoint.is_socket_folder(Path(recorded), OURSELVES)


def test_the_listener_is_named_by_the_kernel(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = Path()  # tmp_path may be too long for a socket
    assert endpoint.listener_pid(here) is None
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(endpoint.SOCKET)
        server.listen()
        assert endpoint.listener_pid(here) == os.getpid()
    assert endpoint.listener_pid(here) is None


def test_nobody_answers_in_an_empty_folder(tmp_path):
    assert not endpoint.answers(tmp_path)


def test_a_dsn_reads_back_as_it_was_meant():
    dsn = endpoint.dsn(Path("/tmp/a b"), "abc")
    wanted = {"host": "/tmp/a b", "port": "5432", "user": "discreet", "password": "abc", "dbname": "discreet"}
    assert psycopg.conninfo.conninfo_to_dict(dsn) == wanted
