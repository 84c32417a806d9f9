import os
import pwd

import pytest

from discreet.errors import EmbeddedServerError
from discreet.storage.embedded.account import Account, account_for, user_name


@pytest.fixture
def as_root(monkeypatch):
    """Make this process look like root's, with folders owned by whom the test says."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    def owned(*, uid, gid=7):
        class Status:
            st_uid, st_gid = uid, gid

        monkeypatch.setattr("pathlib.Path.stat", lambda *_, **__: Status())

    monkeypatch.setattr("pathlib.Path.exists", lambda path: str(path) == "/")
    return owned


def known_users(monkeypatch, **uids):
    class Entry:
        def __init__(self, uid):
            self.pw_uid = self.pw_gid = uid

    monkeypatch.setattr(pwd, "getpwnam", lambda name: Entry(uids[name]))


def test_everybody_but_root_uses_their_own_account(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    account = account_for(tmp_path)
    assert account.uid == 1234
    assert account.identity() == {}


def test_root_turns_to_the_owner_of_the_nearest_folder_that_exists(tmp_path, as_root):
    as_root(uid=1234, gid=5678)
    account = account_for(tmp_path / "not" / "there")
    assert account == Account(1234, 5678)
    assert account.identity() == {"user": 1234, "group": 5678, "extra_groups": []}


@pytest.mark.parametrize(("known", "chosen"), [({"postgres": 101, "nobody": 9}, 101), ({"nobody": 9}, 9)])
def test_root_in_its_own_folder_turns_to_postgres_or_nobody(tmp_path, as_root, monkeypatch, known, chosen):
    as_root(uid=0)
    known_users(monkeypatch, **known)
    assert account_for(tmp_path).uid == chosen


def test_root_without_anybody_to_turn_to_is_told_so(tmp_path, as_root, monkeypatch):
    as_root(uid=0)
    known_users(monkeypatch)
    with pytest.raises(EmbeddedServerError, match="DISCREET_POSTGRES_DSN"):
        account_for(tmp_path)


def test_a_user_without_a_name_is_called_by_its_number():
    assert user_name(4_000_000) == "4000000"
