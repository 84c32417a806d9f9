"""The data of PostgreSQL 16 goes on under 18, whole; whatever happens on the way, one of both is whole and in use."""

import shutil
import subprocess

import psycopg
import pytest
from testkit.scripts import ScriptProcess
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import EmbeddedServerError, ServerInUseError, UpgradeNeededError
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.embedded import lease_server, upgrade
from discreet.testing import StubEmbeddings

QUERY = "SELECT answer FROM kept"

SCRIPT = """
import sys
from pathlib import Path
from discreet.storage.embedded.upgrade import upgrade

def tell(line):
    print(line, flush=True)
    sys.stdin.readline()

upgrade(Path(sys.argv[1]), 18, tell=tell)
"""


@pytest.fixture
def version():
    return 16


def run(data_dir, to=18):
    said = []
    return upgrade.upgrade(data_dir, to, tell=said.append), said


def opened(data_dir, version):
    settings = Settings(_env_file=None, data_dir=data_dir, postgres_version=version, reembed=False)
    return open_storage(settings=settings, embeddings=StubEmbeddings(dims=64))


@pytest.mark.slow
async def test_everything_is_taken_along(data_dir, ask):
    async with opened(data_dir, 16) as storage:
        stored = [MemoryRecord(text=f"Keeps {count} parrots") for count in range(300)]
        stored = await storage.memories.save("ann", stored, dedup=False)
        with psycopg.connect(storage.access.owner.dsn, autocommit=True) as connection:
            connection.execute("CREATE ROLE reader NOLOGIN")
            connection.execute("ALTER ROLE reader SET work_mem = '5MB'")
            connection.execute("GRANT SELECT ON kept TO reader")
            connection.execute("CREATE DATABASE another")
            with psycopg.connect(storage.access.owner.dsn, dbname="another") as other:
                other.execute("CREATE TABLE words AS SELECT 'trăng' AS word")
    with pytest.raises(UpgradeNeededError, match="`discreet upgrade` takes it along"):
        async with opened(data_dir, 18):
            pass

    backup, said = run(data_dir)

    assert sorted(path.name for path in data_dir.iterdir()) == ["postgres-16-" + backup.name[12:], "postgres-18"]
    assert "database discreet: public.kept has its 1 rows" in said
    assert not [line for line in said if "parrots" in line]
    async with opened(data_dir, 18) as storage:
        assert ask(storage.access.owner.dsn, QUERY) == 42
        assert ask(storage.access.owner.dsn, "SHOW server_version_num")[:2] == "18"
        for each in stored:
            assert (await storage.memories.get("ann", each.entry_id)).text == each.text
        [first, *_] = await storage.memories.search("ann", "Keeps 17 parrots")
        assert first.record.text == "Keeps 17 parrots"
        assert ask(storage.access.owner.dsn, "SELECT has_table_privilege('reader', 'kept', 'SELECT')")
        assert ask(storage.access.owner.dsn, "SELECT rolconfig FROM pg_roles WHERE rolname = 'reader'") == [
            "work_mem=5MB"
        ]
        with psycopg.connect(storage.access.owner.dsn, dbname="another") as other:
            assert other.execute("SELECT upper(word) FROM words").fetchone() == ("TRĂNG",)
    with pytest.raises(EmbeddedServerError, match="DISCREET_POSTGRES_VERSION=18"):
        async with opened(data_dir, 16):
            pass
    assert run(data_dir) == (None, [])


@pytest.mark.slow
def test_the_backup_can_be_used_again(data_dir, tmp_path, ask):
    backup, _ = run(data_dir)
    backup.rename(tmp_path / "postgres-16")
    with lease_server(tmp_path, version=16) as dsn:
        assert ask(dsn, QUERY) == 42


@pytest.mark.slow
def test_a_server_in_use_is_left_alone(data_dir, start_client, ask):
    client = start_client(data_dir, 16)
    dsn = client.dsn()
    with pytest.raises(ServerInUseError, match="End them"):
        run(data_dir)
    assert ask(dsn, QUERY) == 42
    client.end()
    assert run(data_dir)[0]


@pytest.mark.slow
def test_wherever_it_is_killed_the_old_data_is_used_and_the_next_attempt_works(data_dir, ask):
    for lines in range(1, 6):
        with ScriptProcess(SCRIPT, data_dir) as process:
            for _ in range(lines - 1):
                assert process.stdout.readline(), process.stderr.read()
                process.stdin.write("go on\n")
                process.stdin.flush()
            assert process.stdout.readline(), process.stderr.read()
            process.kill()
        with lease_server(data_dir, version=16) as dsn:
            assert ask(dsn, QUERY) == 42
        with pytest.raises(UpgradeNeededError), lease_server(data_dir):
            pass
    assert run(data_dir)[0]
    with lease_server(data_dir) as dsn:
        assert ask(dsn, QUERY) == 42
    assert not (data_dir / "upgrade").exists()


@pytest.fixture
def interrupted(data_dir, monkeypatch):
    """Leave an upgrade between its last two steps."""

    def fail(_self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(upgrade._Upgrade, "put_old_away", fail)
        with pytest.raises(KeyboardInterrupt):
            run(data_dir)
    return data_dir


@pytest.mark.slow
def test_a_copy_in_place_is_used_and_its_original_put_away_later(interrupted, ask):
    with lease_server(interrupted) as dsn, psycopg.connect(dsn) as connection:
        connection.execute("UPDATE kept SET answer = 43")
    backup, said = run(interrupted)
    assert (backup.is_dir(), said) == (True, [])
    with lease_server(interrupted) as dsn:
        assert ask(dsn, QUERY) == 43
    assert not (interrupted / "postgres-16").exists()


@pytest.mark.slow
def test_an_original_that_was_used_again_is_not_put_away(interrupted, ask):
    with lease_server(interrupted, version=16) as dsn, psycopg.connect(dsn) as connection:
        connection.execute("UPDATE kept SET answer = 43")
    with pytest.raises(EmbeddedServerError, match="Move away the one"):
        run(interrupted)
    shutil.rmtree(interrupted / "postgres-18")
    assert run(interrupted)[0]
    with lease_server(interrupted) as dsn:
        assert ask(dsn, QUERY) == 43


@pytest.mark.slow
def test_a_copy_that_lacks_rows_is_not_used(data_dir, monkeypatch, ask):
    def lossy(*arguments):
        copy_server(*arguments)
        with psycopg.connect(arguments[2]) as connection:
            connection.execute("DELETE FROM kept")

    copy_server = upgrade.copy_server
    monkeypatch.setattr(upgrade, "copy_server", lossy)
    with pytest.raises(EmbeddedServerError, match=r"public\.kept in database discreet has 0 rows instead of 1"):
        run(data_dir)
    with lease_server(data_dir, version=16) as dsn:
        assert ask(dsn, QUERY) == 42


@pytest.mark.slow
def test_a_program_that_fails_is_named_and_no_row_is_shown(data_dir, ask):
    with lease_server(data_dir, version=16) as dsn, psycopg.connect(dsn) as connection:
        # The copy of such a row is refused: in an empty database the function finds no other.
        connection.execute(
            "CREATE FUNCTION known(text) RETURNS bool AS 'SELECT EXISTS (SELECT FROM kept)' LANGUAGE sql"
        )
        connection.execute("CREATE TABLE checked AS SELECT 'parrots' AS word")
        connection.execute("ALTER TABLE checked ADD CHECK (known(word))")
    with pytest.raises(EmbeddedServerError, match=r"pg_restore failed .*public\.checked") as failure:
        run(data_dir)
    assert "parrots" not in str(failure.value)
    with lease_server(data_dir, version=16) as dsn:
        assert ask(dsn, QUERY) == 42


def test_versions_that_are_not_there(data_dir):
    with pytest.raises(EmbeddedServerError, match="no embedded PostgreSQL 17"):
        run(data_dir, 17)
    assert run(data_dir, 16) == (None, [])
    assert run(data_dir / "nothing") == (None, [])


@pytest.mark.slow
def test_the_command_says_where_the_old_data_is(data_dir, monkeypatch):
    monkeypatch.setenv("DISCREET_DATA_DIR", str(data_dir))
    monkeypatch.setenv("DISCREET_POSTGRES_VERSION", "16")
    result = CliRunner().invoke(app, ["upgrade", "--to", "18"], catch_exceptions=False)
    [backup] = data_dir.glob("postgres-16-backup-*")
    assert str(backup) in result.stdout
    assert "Set DISCREET_POSTGRES_VERSION=18 now" in result.stdout
    assert "public.kept has its 1 rows" in result.stderr
    again = CliRunner().invoke(app, ["upgrade", "--to", "18"], catch_exceptions=False)
    assert "nothing to upgrade" in again.stdout


@pytest.mark.slow
def test_files_of_both_are_of_their_owner_alone(data_dir):
    run(data_dir)
    found = subprocess.run(["find", data_dir, "-perm", "/077", "!", "-type", "l"], capture_output=True, check=True)
    assert not found.stdout
