"""Whether a process says that it can work, while the Redis by which it hands runs on hangs, is gone, and is back."""

import shutil
import signal
from pathlib import Path

import httpx
from testkit.aegra import aegra
from testkit.redis_servers import redis_server, until

DEPLOY = Path(__file__).resolve().parents[2] / "deploy" / "aegra"
LIVENESS = ("/live", "/ok", "/memory/health/live")


def test_a_process_whose_redis_can_not_be_asked_is_alive_and_not_ready(tmp_path, make_database):
    for name in ("aegra.json", "graphs.py"):
        shutil.copy(DEPLOY / name, tmp_path)
    with (
        redis_server(tmp_path / "redis") as first,
        aegra(
            tmp_path,
            make_database,
            f"redis://127.0.0.1:{first.port}/0",
            config="aegra.json",
            apis=1,
            workers=0,
        ) as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):

        def is_ready():
            return client.get("/ready").is_success

        def is_not_ready():
            return not is_ready()

        def look():
            """Return what it says is missing, having seen that it lives."""
            assert [client.get(path).status_code for path in LIVENESS] == [200] * len(LIVENESS)
            answers = [client.get(path) for path in ("/ready", "/health")]
            assert [answer.status_code for answer in answers] == [503, 503]
            assert all("redis" in answer.json()["message"] for answer in answers)
            return [answer.json()["details"]["down"] for answer in answers]

        ann = {"headers": server.headers("ann@example.com")}
        at = f"/threads/{client.post('/threads', json={}, **ann).json()['thread_id']}"
        said = {"messages": [{"role": "user", "content": "Hello."}]}
        first.process.send_signal(signal.SIGSTOP)
        until(is_not_ready, "a Redis that hangs")
        assert look() == [["redis"], ["redis"]]
        first.process.send_signal(signal.SIGCONT)
        until(is_ready, "a Redis that goes on")
        first.kill()
        until(is_not_ready, "a Redis that is gone")
        assert look() == [["redis"], ["redis"]]
        failed = client.post(f"{at}/runs", json={"assistant_id": "agent", "input": said}, **ann)
        assert failed.status_code == 500
        with redis_server(tmp_path / "again", options={"port": first.port}):
            until(is_ready, "a Redis that is back")
            assert client.get("/health").is_success

            def is_done():
                runs = client.get(f"{at}/runs", **ann)
                return runs.is_success and [run["status"] for run in runs.json()] == ["success"]

            until(is_done, "the run that could not be handed on")
