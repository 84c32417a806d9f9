"""A project that `discreet init` wrote: its own tests, and a turn on its server."""

import asyncio
import subprocess
import sys

import pytest
from testkit.clients import local_sdk
from testkit.ports import free_port

from discreet.access.development import token_for
from discreet.settings import Settings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def started_project(tmp_path_factory, discreet_command, clean_environment):
    """The folder of a project that was just started."""
    folder = tmp_path_factory.mktemp("projects") / "Trợ lý"
    subprocess.run([discreet_command, "init", folder], env=clean_environment, check=True, capture_output=True)
    return folder


def test_its_graph_is_what_its_readme_says(started_project, clean_environment):
    code = "from tro_ly.server import graph; print(*graph.nodes)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=started_project,
        env=clean_environment,
        capture_output=True,
        text=True,
        check=True,
    )
    nodes = "__start__ save_input memory_gate retrieve_memories assistant tools persist_filtered"
    assert done.stdout.split() == nodes.split()


def test_its_own_tests_pass(started_project, clean_environment):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error"],
        cwd=started_project,
        env=clean_environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "4 passed" in done.stdout


def test_its_server_remembers(started_project, discreet_command, clean_environment, wait_until_ready, tmp_path):
    port, log = free_port(), tmp_path / "server.log"
    url = f"http://127.0.0.1:{port}"
    command = [discreet_command, "dev", "--port", str(port)]
    with log.open("wb") as output:
        server = subprocess.Popen(
            command, cwd=started_project, env=clean_environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        wait_until_ready(server, url, log)
        answers = asyncio.run(_answers(url, started_project / ".discreet"))
    finally:
        server.terminate()
        assert server.wait(60) == 0
    assert "African Grey parrots" in answers[1]
    assert "opening_hours" in answers[2]


async def _answers(url, data_dir):
    headers = {"authorization": f"Bearer {token_for(Settings(_env_file=None, data_dir=data_dir), 'ann')}"}
    answers = []
    async with local_sdk(url, headers) as client:
        for text in ("I keep two African Grey parrots.", "Which birds do I have?", "/opening_hours place=library"):
            thread = (await client.threads.create())["thread_id"]
            asked = {"messages": [{"role": "user", "content": text}]}
            answers.append((await client.runs.wait(thread, "agent", input=asked))["messages"][-1]["content"])
    return answers
