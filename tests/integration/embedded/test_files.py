"""Files of the data folder are their owner's alone, whatever the umask of the process and the modes of before."""

import stat
import subprocess
from pathlib import Path

import pytest
from testkit.scripts import ScriptProcess

from discreet.errors import ConfigurationError
from discreet.redaction.placeholder_key import load_placeholder_key
from discreet.settings import Settings
from discreet.storage.embedded import lease_server

pytestmark = pytest.mark.slow

SCRIPT = """
import asyncio, os, sys
from pathlib import Path
os.umask(int(sys.argv[2], 8))
from discreet.redaction.placeholder_key import load_placeholder_key
from discreet.settings import Settings
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

async def main():
    settings = Settings(_env_file=None, data_dir=Path(sys.argv[1]))
    load_placeholder_key(settings)
    async with open_storage(settings=settings, embeddings=StubEmbeddings(dims=64)) as storage:
        print(storage.dsn, flush=True)
        sys.stdin.read()

asyncio.run(main())
"""


def open_to_others(*folders):
    paths = [path for folder in folders for path in (folder, *folder.rglob("*"))]
    assert paths
    return [path for path in paths if not path.is_symlink() and path.lstat().st_mode & 0o077]


@pytest.mark.parametrize("umask", ["000", "002"])
def test_nothing_is_open_to_others_under_an_open_umask(tmp_path, umask):
    data_dir = tmp_path / "new" / "data"
    with ScriptProcess(SCRIPT, data_dir, umask) as process:
        assert process.stdout.readline().strip(), process.stderr.read()
        socket_folder = Path((data_dir / "postgres-18" / "socket").read_text())
        [socket] = socket_folder.glob(".s.*2")
        assert stat.S_ISSOCK(socket.stat().st_mode)
        assert (data_dir / "placeholder.key").exists()
        assert not open_to_others(tmp_path / "new", socket_folder)
        process.stdin.close()
        assert process.wait(60) == 0
    assert not open_to_others(tmp_path / "new")


def test_a_folder_that_others_could_read_is_closed(data_dir):
    subprocess.run(["chmod", "-R", "a+rwX", data_dir], check=True)
    with lease_server(data_dir):
        assert not open_to_others(data_dir)


def test_a_key_file_that_is_looked_for_first_closes_the_servers_files_too(data_dir):
    """Of another user, where the program runs as root."""
    settings = Settings(_env_file=None, data_dir=data_dir / "new")
    load_placeholder_key(settings)
    with lease_server(settings.data_dir):
        pass
    subprocess.run(["chmod", "-R", "a+rwX", settings.data_dir], check=True)
    load_placeholder_key(settings)
    assert not open_to_others(settings.data_dir)
    with lease_server(settings.data_dir):
        pass


def test_a_folder_that_is_not_ours_alone_is_refused(data_dir):
    data_dir.chmod(0o755)
    (data_dir / "notes.txt").touch()
    with pytest.raises(ConfigurationError, match="holds other files too"), lease_server(data_dir):
        pass
    (data_dir / "notes.txt").unlink()
    with lease_server(data_dir):
        assert not open_to_others(data_dir)
