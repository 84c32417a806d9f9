"""Who may see the metrics, and what several processes make of theirs."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from testkit.monitoring import SECRET, counted, environment, running, wait_for
from testkit.ports import free_port

from discreet.access.development import make_token
from discreet.errors import ConfigurationError
from discreet.metrics_server import metrics_port
from discreet.settings import Settings

TOKEN = "t" * 32
TURNS = "discreet_conversation_rounds_count"


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.slow
def test_the_token_for_metrics_opens_nothing_else_and_nobody_elses_opens_them(shared_database, tmp_path):
    with running(shared_database, tmp_path, DISCREET_METRICS_TOKEN=TOKEN) as app:

        def status(path, headers):
            return httpx.get(f"{app.url}{path}", headers=headers).status_code

        admin, ann = (bearer(make_token(SECRET, name, admin=name == "root")) for name in ("root", "ann"))
        assert [status("/memory/metrics", who) for who in (bearer(TOKEN), admin)] == [200, 200]
        assert [status("/memory/metrics", who) for who in ({}, bearer("u" * 32), {"X-API-Key": TOKEN})] == [401] * 3
        assert status("/memory/metrics", ann) == 403
        assert {status(path, bearer(TOKEN)) for path in ("/memory/query", "/memory/settings", "/memory/export")} == {
            401
        }
        exposed = httpx.get(f"{app.url}/memory/metrics", headers=bearer(TOKEN)).text
        labels = {"method": "GET", "route": "/memory/metrics", "status": "403"}
        assert counted(exposed, "discreet_request_seconds_count", **labels) == 1
        assert "ann@example.com" not in exposed
        assert TOKEN not in exposed


@pytest.mark.slow
def test_processes_that_share_a_folder_are_counted_together_at_one_port(shared_database, tmp_path):
    """Each of them tells of both, by the port and by the API. Who is killed leaves their counts, and no gauges."""
    together = tmp_path / "metrics"
    together.mkdir()
    settings = {"PROMETHEUS_MULTIPROC_DIR": str(together), "DISCREET_METRICS_TOKEN": TOKEN}
    port = free_port()
    with ExitStack() as both:
        apps = [both.enter_context(running(shared_database, tmp_path, port=port, **settings)) for _ in range(2)]

        def seen():
            return [httpx.get(f"{app.url}/memory/metrics", headers=bearer(TOKEN)).text for app in apps]

        for app in apps:
            with app.client("ann") as ann:
                assert ann.get("/memory/query").status_code == httpx.codes.OK
        labels = {"route": "/memory/query", "status": "200"}
        assert [counted(text, "discreet_request_seconds_count", **labels) for text in seen()] == [2, 2]
        shown = httpx.get(f"http://127.0.0.1:{port}/metrics").text
        assert counted(shown, TURNS) >= 20
        limit = counted(shown, "discreet_pool_limit")
        wait_for(
            lambda: counted(httpx.get(f"http://127.0.0.1:{port}/").text, "discreet_database_up", role="primary") == 1,
            lambda: "one of two says that the database works, not their sum",
        )

        apps[0].process.kill()
        apps[0].process.wait(10)
        left = httpx.get(f"http://127.0.0.1:{port}/metrics").text
        assert counted(left, TURNS) >= counted(shown, TURNS)
        assert counted(left, "discreet_pool_limit") == limit / 2
        assert not list(together.glob(f"gauge_live*_{apps[0].process.pid}.db"))


@pytest.mark.slow
def test_a_worker_shows_its_metrics_at_a_port_of_its_own(shared_database, tmp_path):
    port = free_port()
    own = environment(shared_database, DISCREET_METRICS_PORT=str(port))
    command = [Path(sys.executable).with_name("discreet"), "worker"]
    with (
        (tmp_path / "worker.log").open("w") as log,
        subprocess.Popen(command, cwd=tmp_path, env=own, stdout=log, stderr=log) as worker,
    ):
        try:

            def passes():
                try:
                    return counted(
                        httpx.get(f"http://127.0.0.1:{port}/metrics").text, "discreet_extraction_seconds_count"
                    )
                except httpx.TransportError:
                    return 0

            wait_for(lambda: passes() > 0, (tmp_path / "worker.log").read_text)
        finally:
            worker.terminate()
            assert worker.wait(30) == 0


@pytest.mark.slow
def test_a_port_that_is_taken_ends_the_start_with_what_to_do():
    port = free_port()
    settings = Settings(_env_file=None, metrics_port=port)
    with (
        metrics_port(settings),
        pytest.raises(ConfigurationError, match="PROMETHEUS_MULTIPROC_DIR"),
        metrics_port(settings),
    ):
        pass
    with metrics_port(settings):
        assert TURNS in httpx.get(f"http://127.0.0.1:{port}/metrics").text


def test_without_a_port_nothing_listens():
    with metrics_port(Settings(_env_file=None)):
        pass


def test_a_short_token_is_refused():
    with pytest.raises(ValueError, match="16"):
        Settings(_env_file=None, metrics_token="short")


@pytest.mark.slow
def test_the_workers_of_discreet_serve_are_counted_together(shared_database, tmp_path):
    port = free_port()
    own = environment(shared_database, DISCREET_METRICS_TOKEN=TOKEN, DISCREET_WORKER="false")
    command = [Path(sys.executable).with_name("discreet"), "serve", "--port", str(port), "--workers", "2"]
    url, admin = f"http://127.0.0.1:{port}", bearer(make_token(SECRET, "root", admin=True))

    def answers():
        try:
            return httpx.get(f"{url}/ok").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def processes():
        """Ask anew each time, so that either may answer."""
        return counted(httpx.get(f"{url}/memory/metrics", headers=bearer(TOKEN)).text, "discreet_pool_limit") / 6

    with (
        (tmp_path / "serve.log").open("w") as log,
        subprocess.Popen(command, cwd=tmp_path, env=own, stdout=log, stderr=log) as server,
    ):
        try:
            wait_for(answers, (tmp_path / "serve.log").read_text)
            wait_for(lambda: processes() == 2, (tmp_path / "serve.log").read_text)
            for _ in range(20):
                assert httpx.get(f"{url}/memory/query", headers=admin).status_code == httpx.codes.OK
            exposed = httpx.get(f"{url}/memory/metrics", headers=bearer(TOKEN)).text
            assert counted(exposed, "discreet_request_seconds_count", route="/memory/query") == 20
        finally:
            server.terminate()
            assert server.wait(60) == 0
