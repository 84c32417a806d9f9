"""Tracebacks say where something failed, and nothing that anybody said."""

import io
import json
import logging
import sys
import traceback

import pytest
import structlog

from discreet.redaction import Redactor
from discreet.redaction.logged.lines import LineRedactor
from discreet.redaction.logged.tracebacks import MOST_CHAINED, without_values
from discreet.redaction.logs import redact_logs

EMAIL = "ann@example.com"
LINES = LineRedactor(Redactor())


def failing(mail):
    raise LookupError(f"nobody is {mail}")


def failed():
    try:
        failing(EMAIL)
    except LookupError as error:
        return error


def chain():
    """Return the processors of a LangGraph server."""
    return [
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]


@pytest.fixture
def out():
    """Return what a logger writes by structlog's formatter."""
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
            foreign_pre_chain=chain(),
        )
    )
    logger = logging.getLogger("test_tracebacks")
    logger.addHandler(handler)
    with redact_logs():
        yield handler.stream
    logger.removeHandler(handler)


def assert_told(exception):
    assert "Traceback (most recent call last)" in exception
    assert f'File "{__file__}"' in exception
    assert "in failing\n" in exception
    assert 'raise LookupError(f"nobody is {mail}")' in exception
    assert "LookupError: nobody is <EMAIL>" in exception
    assert EMAIL not in exception


def test_a_copy_is_written_out_like_the_exception_without_what_it_says():
    assert_told("".join(traceback.format_exception(without_values(failed(), LINES.redact))))


def test_no_frame_of_a_copy_has_a_variable_or_leads_to_one_that_has():
    trace = without_values(failed(), LINES.redact).__traceback__
    assert trace is not None
    while trace is not None:
        assert not trace.tb_frame.f_locals
        assert set(trace.tb_frame.f_globals) <= {"__name__", "__builtins__"}
        assert trace.tb_frame.f_back is None
        trace = trace.tb_next


def test_a_text_of_a_traceback_keeps_its_frames():
    text = "".join(traceback.format_exception(failed()))
    assert_told(LINES.redact(text))
    assert LINES.redact(text) == text.replace(EMAIL, "<EMAIL>")


def test_the_file_of_a_frame_is_redacted_unless_a_module_was_loaded_from_it(out):
    try:
        exec(compile("failing(EMAIL)", f"<of {EMAIL}>", "exec"))
    except LookupError:
        logging.getLogger("test_tracebacks").exception("failed")
    assert_told(exception := json.loads(out.getvalue())["exception"])
    assert 'File "<of <EMAIL>>", line 1, in <module>' in exception


@pytest.mark.parametrize(
    "told",
    [
        f'  File "{__file__}", line 3, in x\n    my password is hunter2!x\n',
        f'  File "/home/{EMAIL}/x.py", line 3, in x\n    pass\n',
        f'  File "{__file__}", line 3, in {EMAIL}\n',
    ],
)
def test_what_only_looks_like_a_frame_is_redacted(told):
    redacted = LINES.redact(told)
    assert EMAIL not in redacted
    assert "hunter2" not in redacted


def test_chains_and_loops_of_exceptions_end():
    error = ValueError("0")
    for number in range(3 * MOST_CHAINED):
        above = ValueError(str(number))
        above.__cause__, error = error, above
    error.__context__ = error
    assert "".join(traceback.format_exception(without_values(error, LINES.redact))).count("ValueError") <= MOST_CHAINED


def test_structlogs_formatter_writes_the_traceback_of_a_record(out):
    try:
        failing(EMAIL)
    except LookupError:
        logging.getLogger("test_tracebacks").exception("failed for %s", EMAIL)
    line = json.loads(out.getvalue())
    assert line["event"] == "failed for <EMAIL>"
    assert_told(line["exception"])


@pytest.mark.parametrize("formatted", [True, False])
@pytest.mark.parametrize("given", ["true", "error", "tuple"])
def test_structlogs_formatter_writes_the_traceback_of_an_event(out, formatted, given):
    processors = [*(chain() if formatted else []), structlog.stdlib.ProcessorFormatter.wrap_for_formatter]
    logger = structlog.wrap_logger(
        logging.getLogger("test_tracebacks"), processors=processors, wrapper_class=structlog.stdlib.BoundLogger
    )
    if not formatted:
        (handler,) = logging.getLogger("test_tracebacks").handlers
        handler.formatter.processors = [structlog.processors.format_exc_info, *handler.formatter.processors]
    try:
        failing(EMAIL)
    except LookupError as error:
        given = {"true": True, "error": error, "tuple": sys.exc_info()}[given]
        logger.warning("failed", exc_info=given, to=EMAIL)
    line = json.loads(out.getvalue())
    assert (line["event"], line["to"]) == ("failed", "<EMAIL>")
    assert_told(line["exception"])
