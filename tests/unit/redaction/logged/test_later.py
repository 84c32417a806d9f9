"""Where an event loop runs, no line keeps it; order stays, and nothing is lost."""

import asyncio
import contextvars
import io
import logging
import os
import threading

import pytest

from discreet.redaction import Redactor
from discreet.redaction.logged import later
from discreet.redaction.logs import redact_logs

EMAIL = "ann@example.com"
LONG = f"{EMAIL} " + "and so on, " * 1_000


class Slow(Redactor):
    """Waits until it is told to go on, and knows which threads asked for what is long."""

    def __init__(self):
        super().__init__()
        self.go_on = threading.Event()
        self.threads = []

    def findings(self, text):
        if len(text) > 1_000:
            self.threads.append(threading.current_thread())
            assert self.go_on.wait(10)
        return super().findings(text)


@pytest.fixture
def logger():
    logger = logging.getLogger("test_later")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    handler = logging.StreamHandler(io.StringIO())
    logger.addHandler(handler)
    yield logger
    logger.removeHandler(handler)


def lines(logger):
    return [line[:20] for line in logger.handlers[0].stream.getvalue().splitlines()]


async def test_a_long_line_does_not_keep_the_loop_and_keeps_its_place(logger):
    redactor = Slow()
    with redact_logs(redactor) as redaction:
        logger.info("first")
        logger.info(LONG)
        logger.info("third %s", EMAIL)
        before = lines(logger)
        redactor.go_on.set()
        redaction.flush()
        logger.info("fourth")
    assert before == ["first"]
    assert lines(logger) == ["first", "<EMAIL> and so on, a", "third <EMAIL>", "fourth"]
    assert threading.main_thread() not in redactor.threads


def test_where_no_loop_runs_a_line_is_written_before_the_call_returns(logger):
    redactor = Slow()
    redactor.go_on.set()
    with redact_logs(redactor):
        logger.info(LONG)
        assert lines(logger) == ["<EMAIL> and so on, a"]


async def test_a_traceback_is_read_elsewhere(logger):
    with redact_logs():
        try:
            int(EMAIL)
        except ValueError:
            logger.exception("failed")
    assert "ValueError: invalid literal for int() with base 10: '<EMAIL>'" in logger.handlers[0].stream.getvalue()
    assert "    int(EMAIL)\n" in logger.handlers[0].stream.getvalue()


async def test_what_changes_after_the_call_is_not_in_the_line(logger):
    redactor = Slow()
    event = {"event": "x", "text": LONG, "list": ["before"]}
    with redact_logs(redactor):
        logger.info(event)
        event["list"].append("after")
        redactor.go_on.set()
    assert "'before'" in logger.handlers[0].stream.getvalue()
    assert "after" not in logger.handlers[0].stream.getvalue()


async def test_long_attributes_go_later_too(logger):
    seen = []
    logger.handlers[0].emit = lambda record: seen.append((record.text[:7], threading.current_thread().name))
    with redact_logs():
        logger.info("x", extra={"text": LONG})
    assert seen == [("<EMAIL>", "discreet-logs")]


async def test_a_line_has_the_context_of_who_logged_it(logger):
    request = contextvars.ContextVar("request", default="none")
    seen = []
    logger.handlers[0].emit = lambda record: seen.append(request.get())
    with redact_logs():
        token = request.set("one")
        logger.info(LONG)
        request.reset(token)
    assert seen == ["one"]


async def test_a_record_that_reaches_a_handler_past_its_logger_tells_nothing(logger):
    with redact_logs():
        record = logger.makeRecord(logger.name, logging.INFO, "", 1, LONG, (), None)
        logger.handlers[0].handle(record)
    assert lines(logger) == ["<UNKNOWN>"]


async def test_of_too_many_lines_the_words_are_left_out(logger, monkeypatch):
    monkeypatch.setattr(later, "MOST_WAITING", 2)
    redactor = Slow()
    with redact_logs(redactor):
        for _ in range(4):
            logger.info(LONG)
        redactor.go_on.set()
    assert lines(logger) == ["<EMAIL> and so on, a"] * 2 + ["<OVERSIZE>"] * 2


async def test_a_filter_that_raises_keeps_no_line_back(logger, capsys):
    class Raises(logging.Filter):
        def filter(self, record):
            if "<EMAIL>" in record.getMessage():
                raise ValueError
            return True

    logger.addFilter(Raises())
    with redact_logs():
        logger.info(LONG)
        logger.info("next")
    logger.filters.clear()
    assert lines(logger) == ["next"]


@pytest.mark.slow
async def test_lines_of_many_threads_and_a_loop_all_come(logger):
    with redact_logs():
        await asyncio.gather(*(asyncio.to_thread(logger.info, "thread %d", number) for number in range(50)))
        for number in range(5):
            logger.info("%d %s", number, LONG)
        await asyncio.gather(*(asyncio.to_thread(logger.info, "thread %d", number) for number in range(50)))
    assert len(lines(logger)) == 105


def test_a_child_process_writes_its_own_lines(logger):
    async def log():
        logger.info(LONG)

    with redact_logs() as redaction:
        asyncio.run(log())
        redaction.flush()
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            logger.handlers[0].stream = io.StringIO()
            asyncio.run(log())
            redaction.flush()
            os.write(writing, lines(logger)[0].encode())
            os._exit(0)
        os.waitpid(child, 0)
    assert os.read(reading, 100) == b"<EMAIL> and so on, a"
    os.close(reading)
    os.close(writing)
