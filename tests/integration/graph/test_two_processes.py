"""A message that two processes get at once is answered by one of them."""

import os
import subprocess
import sys
import time
from pathlib import Path

from discreet.redaction.placeholder_key import make_placeholder_key

WORKER = Path(__file__).with_name("deliver_once.py")


def test_two_processes_answer_a_message_once(database, tmp_path):
    environment = {
        **os.environ,
        "DISCREET_POSTGRES_DSN": database,
        "DISCREET_PLACEHOLDER_KEY": make_placeholder_key(),
        "DISCREET_DATA_DIR": str(tmp_path / "data"),
    }
    workers = [
        subprocess.Popen(
            [sys.executable, WORKER, tmp_path, str(number)], env=environment, stdout=subprocess.PIPE, text=True
        )
        for number in range(2)
    ]
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("ready-*"))) < len(workers):
        assert time.monotonic() < deadline
        assert all(worker.poll() is None for worker in workers)
        time.sleep(0.01)
    (tmp_path / "go").touch()
    got = [worker.communicate(timeout=60)[0].strip() for worker in workers]
    assert len(list(tmp_path.glob("ran-*"))) == 1
    assert got.count("answered") == 1
    assert set(got) <= {"answered", "still_working", "repeated"}
