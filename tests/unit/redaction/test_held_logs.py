"""Lines wait until they can be redacted, and lose nothing by it."""

import logging
import subprocess
import sys
import threading
from functools import partial

import pytest

from discreet.redaction import Redactor
from discreet.redaction.held_logs import HeldLogs
from discreet.redaction.logs import redact_logs

EMAIL = "ann@example.com"


class Lines(logging.Handler):
    """Keeps what it is given."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


@pytest.fixture
def lines():
    handler = Lines()
    logging.root.addHandler(handler)
    yield handler.texts
    logging.root.removeHandler(handler)


@pytest.fixture
def held():
    """Logs that are redacted once they are released."""
    redactions = []
    logs = HeldLogs(lambda: redactions.append(redact_logs(Redactor())))
    yield logs
    logs.release()
    redactions[0].undo()


def test_lines_wait_and_come_redacted_in_their_order(held, lines):
    logging.getLogger("one").warning("first %s", EMAIL)
    logging.getLogger("made.since").warning("second")
    assert lines == []
    held.release()
    assert lines == ["first <EMAIL>", "second"]
    logging.getLogger("one").warning("third %s", EMAIL)
    assert lines[2:] == ["third <EMAIL>"]


def test_a_logger_that_does_not_propagate_waits_too(held, lines):
    logger = logging.getLogger("alone")
    logger.propagate, own = False, Lines()
    logger.addHandler(own)
    logger.warning("by %s", EMAIL)
    assert own.texts == []
    held.release()
    assert own.texts == ["by <EMAIL>"]
    logger.removeHandler(own)
    logger.propagate = True


def test_an_error_brings_what_was_before_it_along_at_once(held, lines):
    logging.getLogger("one").warning("before")
    logging.getLogger("one").error("failed for %s", EMAIL)
    assert lines == ["before", "failed for <EMAIL>"]


@pytest.mark.slow
def test_lines_of_many_threads_come_once_each(held, lines):
    def log(number):
        for each in range(50):
            logging.getLogger(f"thread.{number}").warning("%d.%d", number, each)

    threads = [threading.Thread(target=partial(log, number)) for number in range(4)]
    for thread in threads:
        thread.start()
    held.release()
    for thread in threads:
        thread.join()
    held.release()
    assert sorted(lines) == sorted(f"{number}.{each}" for number in range(4) for each in range(50))
    for number in range(4):
        of_one = [line for line in lines if line.startswith(f"{number}.")]
        assert of_one == [f"{number}.{each}" for each in range(50)]


@pytest.mark.slow
def test_a_process_that_ends_before_writes_its_lines():
    program = """
import logging
from discreet.redaction.held_logs import HeldLogs
from discreet.redaction.logs import redact_logs
logging.basicConfig()
HeldLogs(redact_logs)
logging.getLogger("one").warning("by %s", "ann" + "@example.com")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stderr == "WARNING:one:by <EMAIL>\n"


def test_release_leaves_no_filter(lines):
    before = list(logging.root.filters)
    logs = HeldLogs(lambda: None)
    logs.release()
    assert logging.root.filters == before
    logging.getLogger("one").warning("on")
    assert lines == ["on"]
