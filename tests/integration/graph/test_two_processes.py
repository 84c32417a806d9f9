"""A message that two processes get at once is answered by one of them."""

import os
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from testkit.scripts import ScriptProcess

from discreet.redaction.placeholder_key import make_placeholder_key

WORKER = Path(__file__).with_name("deliver_once.py")


@pytest.mark.slow
def test_two_processes_answer_a_message_once(database, tmp_path):
    environment = {
        **os.environ,
        "DISCREET_POSTGRES_DSN": database,
        "DISCREET_PLACEHOLDER_KEY": make_placeholder_key(),
        "DISCREET_DATA_DIR": str(tmp_path / "data"),
    }
    with ExitStack() as stack:
        workers = [
            stack.enter_context(ScriptProcess(WORKER, tmp_path, number, environment=environment)) for number in range(2)
        ]
        deadline = time.monotonic() + 60
        while len(list(tmp_path.glob("ready-*"))) < len(workers):
            assert time.monotonic() < deadline
            assert all(worker.poll() is None for worker in workers)
            time.sleep(0.01)
        (tmp_path / "go").touch()
        got = [worker.stdout.read().strip() for worker in workers]
    assert len(list(tmp_path.glob("ran-*"))) == 1
    assert got.count("answered") == 1
    assert set(got) <= {"answered", "still_working", "repeated"}
