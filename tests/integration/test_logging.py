"""What our processes and a LangGraph server write of what goes on: docs/logging.md."""

import json
import signal
import subprocess
import sys
import time

import httpx
import pytest
from testkit.clients import NO_CERTIFICATES
from testkit.ports import free_port
from testkit.serving import DISCREET, clean_environment, serving

pytestmark = pytest.mark.slow

EMAIL = "ann@example.com"

LANGGRAPH = f"""
import asyncio, logging, logging.config, sys
import langgraph_api.logging
logging.config.dictConfig({{
    "version": 1, "disable_existing_loggers": False,
    "formatters": {{"simple": {{"class": "langgraph_api.logging.Formatter"}}}},
    "handlers": {{"console": {{"class": "logging.StreamHandler", "formatter": "simple", "stream": "ext://sys.stdout"}}}},
    "root": {{"handlers": ["console"], "level": "INFO"}},
}})
import structlog
from discreet.redaction.logged.formats import log_in
from discreet.redaction.logs import redact_logs
log_in(sys.argv[1] if len(sys.argv) > 1 else None)
redact_logs()

def fail(mail):
    raise LookupError(f"nobody is {{mail}}")

async def main():
    ids = {{"run_id": "0d2c5b1e-7a44-4f0b-9b7a-3f2f6f0c9e11", "run_created_at": "2024-07-14T22:18:00.637148Z"}}
    await structlog.stdlib.get_logger("server").ainfo("Background run succeeded", **ids, run_exec_ms=1523, to="{EMAIL}")
    try:
        fail("{EMAIL}")
    except LookupError:
        structlog.stdlib.get_logger("server").exception("by structlog", **ids)
        logging.getLogger("library").exception("by logging of %s", "{EMAIL}")

asyncio.run(main())
"""


def written_by_langgraph(*arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-c", LANGGRAPH, *arguments],
        env=clean_environment(LOG_COLOR="false", **environment),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert EMAIL not in done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("arguments", "environment"), [((), {"LOG_JSON": "true"}), (("json",), {})])
def test_a_langgraph_servers_lines_of_json_keep_ids_times_and_tracebacks(arguments, environment):
    succeeded, *failed = map(json.loads, written_by_langgraph(*arguments, **environment).splitlines())
    assert succeeded["event"] == "Background run succeeded"
    assert succeeded["run_id"] == "0d2c5b1e-7a44-4f0b-9b7a-3f2f6f0c9e11"
    assert succeeded["run_created_at"] == "2024-07-14T22:18:00.637148Z"
    assert (succeeded["run_exec_ms"], succeeded["to"]) == (1523, "<EMAIL>")
    assert [each["event"] for each in failed] == ["by structlog", "by logging of <EMAIL>"]
    for each in failed:
        assert each["level"] == "error"
        assert 'File "<string>", line' in each["exception"]
        assert "in fail\n" in each["exception"]
        assert each["exception"].endswith("LookupError: nobody is <EMAIL>")


def test_a_langgraph_servers_lines_of_text_keep_them_too():
    text = written_by_langgraph()
    assert text.count("Traceback (most recent call last)") == text.count("LookupError: nobody is <EMAIL>") == 2
    assert "run_created_at=2024-07-14T22:18:00.637148Z" in text


def lines_of(log):
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def test_a_worker_writes_json_if_the_settings_say_so(database, tmp_path):
    environment = clean_environment(DISCREET_POSTGRES_DSN=database, DISCREET_LOG_FORMAT="json")
    log = tmp_path / "worker.log"
    with (
        log.open("wb") as output,
        subprocess.Popen([DISCREET, "worker"], cwd=tmp_path, env=environment, stderr=output) as worker,
    ):
        deadline = time.monotonic() + 60
        while "worker.started" not in log.read_text() and worker.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(60) == 0
    events = [line["event"] for line in lines_of(log)]
    assert events[0] == "worker.started"
    assert events[-1] == "worker.stopped"
    assert all({"timestamp", "level", "logger"} <= line.keys() for line in lines_of(log))


def test_each_process_of_a_server_writes_one_line_of_json_a_request(database, tmp_path):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    environment = clean_environment(
        DISCREET_POSTGRES_DSN=database,
        DISCREET_LOG_FORMAT="json",
        DISCREET_JWT_SECRET="s" * 32,
        DISCREET_WORKER="false",
    )
    command = [DISCREET, "serve", "--port", str(port), "--workers", "2"]
    with serving(command, tmp_path, url, environment=environment), httpx.Client(verify=NO_CERTIFICATES) as client:
        answers = [
            client.get(f"{url}/memory/entries/{EMAIL}", params={"q": EMAIL}, headers={"X-Request-Id": f"r-{number}"})
            for number in range(3)
        ]
        assert [each.headers["X-Request-Id"] for each in answers] == ["r-0", "r-1", "r-2"]
    text = (tmp_path / "server.log").read_text(encoding="utf-8")
    assert EMAIL not in text
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    told = {line["request_id"]: line for line in lines if line["event"] == "request"}
    assert {"r-0", "r-1", "r-2"} <= told.keys()
    line = told["r-1"]
    assert (line["method"], line["status"], line["logger"]) == (
        "GET",
        answers[1].status_code,
        "discreet.api.request_log",
    )
    assert line["route"].startswith("/memory/") or line["route"] == "-"
    assert line["milliseconds"] > 0
    assert any(line["logger"].startswith("uvicorn") for line in lines)
