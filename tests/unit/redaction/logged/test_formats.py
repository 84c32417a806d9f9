"""Lines of JSON."""

import io
import json
import logging
import sys

import pytest
import structlog

from discreet.redaction.logged.formats import JsonFormatter, log_in
from discreet.redaction.logs import redact_logs

EMAIL = "ann@example.com"


@pytest.fixture
def logger():
    logger = logging.getLogger("discreet.test_formats")
    logger.propagate = False
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(JsonFormatter())
    logger.addHandler(handler)
    with redact_logs():
        yield logger
    logger.removeHandler(handler)


def line(logger):
    return json.loads(logger.handlers[0].stream.getvalue())


def test_a_line_says_when_how_urgent_who_and_what(logger):
    logger.warning("persist.failed thread=%s cause=%s rows=%d seconds=%.2f", "t-1", "PoolTimeout", 3, 0.12345)
    told = line(logger)
    assert told.pop("timestamp").endswith("+00:00")
    assert told == {
        "level": "warning",
        "logger": "discreet.test_formats",
        "event": "persist.failed",
        "thread": "t-1",
        "cause": "PoolTimeout",
        "rows": 3,
        "seconds": 0.12,
    }


@pytest.mark.parametrize(
    ("template", "args", "event"),
    [
        ("retention.swept %s", ("turn=3",), "retention.swept turn=3"),
        ("mail=%s failed", (EMAIL,), "failed"),
        ("100 %% of rows=%d", (3,), "100 %% of"),
        ("plain", (), "plain"),
    ],
)
def test_what_is_no_field_stays_in_the_event(logger, template, args, event):
    logger.warning(template, *args)
    assert line(logger)["event"] == event
    assert EMAIL not in logger.handlers[0].stream.getvalue()


def test_an_exception_and_extra_attributes_are_fields(logger):
    try:
        int(EMAIL)
    except ValueError:
        logger.exception("failed", extra={"run_id": "r1", "level": "mine"}, stack_info=True)
    told = line(logger)
    assert told["exception"].startswith("Traceback (most recent call last):\n  File ")
    assert told["exception"].endswith("ValueError: invalid literal for int() with base 10: '<EMAIL>'")
    assert told["stack"].startswith("Stack (most recent call last)")
    assert (told["run_id"], told["level"]) == ("r1", "error")


def test_an_event_of_structlog_is_one_with_its_fields(logger):
    wrapped = structlog.wrap_logger(
        logger,
        processors=[structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    try:
        int(EMAIL)
    except ValueError:
        wrapped.warning("sent", to=EMAIL, count=2, exc_info=sys.exc_info())
    told = line(logger)
    assert (told["event"], told["to"], told["count"]) == ("sent", "<EMAIL>", 2)
    assert "'<EMAIL>'" in told["exception"]
    assert not {"_logger", "_name"} & told.keys()


def test_all_handlers_that_write_lines_get_the_form_that_the_settings_want():
    handler, other = logging.StreamHandler(io.StringIO()), logging.NullHandler()
    logger = logging.getLogger("test_formats.elsewhere")
    logger.handlers = [handler, other]
    log_in(None)
    log_in("text")
    assert handler.formatter is None
    kept = [(each, each.formatter) for each in logging.root.handlers]
    log_in("json")
    for each, formatter in kept:
        each.setFormatter(formatter)
    assert isinstance(handler.formatter, JsonFormatter)
    assert other.formatter is None
