import os
import stat
import subprocess
import sys

import pytest

from discreet.errors import ConfigurationError
from discreet.private_files import make_private, remove_private, replace_private


@pytest.fixture(autouse=True)
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_folder_and_its_missing_parents_are_made_for_their_owner(tmp_path):
    tmp_path.chmod(0o755)
    make_private(tmp_path / "a" / "b")
    assert (mode(tmp_path), mode(tmp_path / "a"), mode(tmp_path / "a" / "b")) == (0o755, 0o700, 0o700)


def test_what_was_open_is_closed_with_all_below_it(tmp_path):
    below = tmp_path / "data" / "postgres-18" / "data"
    below.mkdir(parents=True)
    for file in (below / "base", tmp_path / "data" / "identity.key"):
        file.touch(0o666)
    os.mkfifo(below / "pipe")
    make_private(tmp_path / "data")
    assert {mode(path) for path in (tmp_path / "data").rglob("*") if path.is_dir()} == {0o700}
    assert {mode(path) for path in (tmp_path / "data").rglob("*") if not path.is_dir()} == {0o600}


def test_what_lies_elsewhere_is_left_alone(tmp_path):
    (tmp_path / "data").mkdir()
    for name in ("linked", "named"):
        (tmp_path / name).touch(0o666)
    (tmp_path / "data" / "a.key").symlink_to(tmp_path / "linked")
    os.link(tmp_path / "named", tmp_path / "data" / "b.key")
    make_private(tmp_path / "data")
    assert [mode(tmp_path / name) for name in ("data", "linked", "named")] == [0o700, 0o666, 0o666]


def test_a_closed_folder_is_not_looked_into(tmp_path):
    tmp_path.chmod(0o700)
    (tmp_path / "notes.txt").touch(0o666)
    make_private(tmp_path)
    assert mode(tmp_path / "notes.txt") == 0o666


def test_a_folder_that_holds_other_files_is_refused(tmp_path):
    """Somebody's home, or the root of a container."""
    tmp_path.chmod(0o755)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ConfigurationError, match=r"holds other files too.*DISCREET_DATA_DIR"):
        make_private(tmp_path)
    assert mode(tmp_path) == 0o755
    make_private(tmp_path, only=())
    assert mode(tmp_path) == 0o700


def test_a_folder_of_somebody_else_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir(0o755)
    owner = folder.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(ConfigurationError, match="belongs to somebody else"):
        make_private(folder)
    make_private(folder, owners=[owner])
    assert mode(folder) == 0o700


def test_what_a_killed_process_left_of_a_file_goes_with_it(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])  # its process id is nobody's once it has been waited for
    gone.wait()
    path = tmp_path / "how [far].json"
    left, kept = (tmp_path / f".{path.name}.{process}.new" for process in (gone.pid, os.getpid()))
    other = tmp_path / f".other.json.{gone.pid}.new"
    replace_private(path, b"{}")
    for each in (left, kept, other):
        each.write_bytes(b"{")
    remove_private(path)
    assert sorted(tmp_path.iterdir()) == sorted((kept, other))
    remove_private(path)
