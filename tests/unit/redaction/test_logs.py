import copy
import io
import json
import logging
import pickle
import warnings
from contextlib import ExitStack, contextmanager

import pytest
import structlog
from uvicorn.logging import AccessFormatter

from discreet.redaction import Redactor
from discreet.redaction.logs import RedactingFilter, redact_logs

EMAIL = "ann@example.com"
PHONE = "+1 202 456 1111"
KEY = "sk-" + "a1" * 20


class Captured(logging.StreamHandler):
    """Writes all that a record has, so that a value in any attribute is seen."""

    def __init__(self):
        super().__init__(io.StringIO())
        self.records = []
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))

    def emit(self, record):
        self.records.append(record)
        super().emit(record)

    @property
    def text(self):
        return self.stream.getvalue()

    @property
    def everything(self):
        return self.text + "".join(repr(vars(record)) for record in self.records)


class FailingRedactor:
    def redact(self, text):
        raise OSError(text)


class TalkativeRedactor:
    """Logs what it is given, as a library behind it might."""

    def redact(self, text):
        logging.getLogger("talkative").warning("looking at %s", text)
        return Redactor().redact(text)


class Told:
    """An object that says a value when it is written out."""

    def __str__(self):
        return f"told {EMAIL}"

    __repr__ = __str__


class Unspeakable:
    def __str__(self):
        raise ZeroDivisionError(EMAIL)


@pytest.fixture
def logger():
    """A logger nobody has seen, and what it leaves behind taken away."""
    logger = logging.getLogger("test_logs.fresh")
    logger.setLevel(logging.DEBUG)
    yield logger
    for each in (logger, logging.getLogger("test_logs"), logging.root):
        each.handlers = [handler for handler in each.handlers if not isinstance(handler, Captured)]
        each.propagate = True
    del logging.root.manager.loggerDict["test_logs.fresh"]


@pytest.fixture
def captured():
    return Captured()


@pytest.fixture
def redacted():
    redaction = redact_logs()
    yield redaction
    redaction.undo()


def fail(error):
    raise error


def filtered(msg, *args, redactor=None, **attributes):
    record = logging.LogRecord("name", logging.INFO, "/path", 1, msg, args, None)
    vars(record).update(attributes)
    assert RedactingFilter(redactor).filter(record) is True
    return record


@pytest.mark.parametrize(
    ("msg", "args", "message"),
    [
        ("nothing to hide", (), "nothing to hide"),
        ("100 % sure", (), "100 % sure"),
        (f"mail {EMAIL}", (), "mail <EMAIL>"),
        ("mail %s, call %s", (EMAIL, PHONE), "mail <EMAIL>, call <PHONE>"),
        ("mail ann@%s", ("example.com",), "mail <EMAIL>"),
        ("password=%s", ("hunter" + "2!",), "password=<SECRET>"),
        ("waited=%sms", (PHONE,), "waited=<PHONE>ms"),
        ("waited=%sms", ("4111 1111 1111 1111",), "waited=<CARD>ms"),
        ("waited=%sms for %d%%", ("DE" + "89370400440532013000", 3), "waited=<IBAN>ms for 3%"),
        ("waited=%sms", (KEY,), "waited=<SECRET>ms"),
        ("%(who)s has %(count)d", ({"who": EMAIL, "count": 2},), "<EMAIL> has 2"),
        ("card %d", (4111111111111111,), "card <CARD>"),
        ("%s", (["to", EMAIL],), "['to', '<EMAIL>']"),
        ("%s", (Told(),), "told <EMAIL>"),
        ("%r and %5.1f", (Told(), 2.0), "told <EMAIL> and   2.0"),
        ("%.3s", (EMAIL,), "ann"),
        (Told(), (), "told <EMAIL>"),
        ({"to": EMAIL}, (), "{'to': '<EMAIL>'}"),
        (ValueError(EMAIL), (), "<EMAIL>"),
        (None, (), "None"),
        ("too few %s %s", (EMAIL,), "too few %s %s ('<EMAIL>',)"),
        ("too many", (EMAIL,), "too many ('<EMAIL>',)"),
        ("%d", (EMAIL,), "%d ('<EMAIL>',)"),
        ("%(gone)s", ({"who": EMAIL},), "%(gone)s {'who': '<EMAIL>'}"),
        ("", (), ""),
        ("почта %s", (EMAIL,), "почта <EMAIL>"),
        ("密碼是 %s", (KEY,), "密碼是 <SECRET>"),
    ],
)
def test_the_message_is_redacted_with_its_arguments(msg, args, message):
    record = filtered(msg, *args)
    assert record.getMessage() == message
    assert not any(value in repr(vars(record)) for value in (EMAIL, PHONE, KEY, "hunter"))


def test_arguments_that_still_fit_stay_for_formatters_that_read_them():
    record = filtered('%s - "%s %s HTTP/%s" %d', EMAIL, "GET", f"/?to={EMAIL}", "1.1", 200)
    assert record.args == ("<EMAIL>", "GET", "/?to=<EMAIL>", "1.1", 200)
    assert record.msg == '%s - "%s %s HTTP/%s" %d'


def test_arguments_that_the_text_does_not_show_are_redacted_too():
    record = filtered("%(shown)s", {"shown": "this", "hidden": EMAIL})
    assert record.getMessage() == "this"
    assert EMAIL not in repr(vars(record))
    assert EMAIL not in repr(vars(filtered(f"%({EMAIL})s", {EMAIL: 1})))


def test_extra_attributes_are_redacted_and_standard_ones_stay():
    record = filtered("x", to=EMAIL, deep={"list": [EMAIL, 7, None]}, thing=Told(), pathname=f"/home/{EMAIL}")
    assert record.to == "<EMAIL>"
    assert record.deep == {"list": ["<EMAIL>", 7, None]}
    assert record.thing == "<UNKNOWN>"
    assert (record.name, record.levelname, record.pathname) == ("name", "INFO", f"/home/{EMAIL}")


def test_an_extra_attribute_is_read_together_with_its_name():
    record = filtered("x", password="hunter" + "2!", tokens=512, token_count="512", key="value")
    assert record.password == "<SECRET>"
    assert (record.tokens, record.token_count, record.key) == (512, "512", "value")


@pytest.mark.parametrize("name", ["AK" + "IA" + "QZ7XWPLM3RT5VB2N", "DE" + "89370400440532013000"])
def test_a_value_that_names_an_extra_attribute_is_redacted(name):
    assert name not in repr(vars(filtered("x", **{name: 1})))


def test_the_names_of_extra_attributes_are_redacted_too():
    record = logging.makeLogRecord({"msg": "x", EMAIL: 1, "to": 2, 3: EMAIL})
    RedactingFilter().filter(record)
    assert EMAIL not in repr(vars(record))
    assert (vars(record)["<EMAIL>"], record.to, vars(record)["3"]) == (1, 2, "<EMAIL>")


def test_exceptions_become_redacted_text_with_causes_contexts_notes_and_groups(logger, captured, redacted):
    logger.addHandler(captured)
    try:
        try:
            try:
                fail(KeyError(f"context {EMAIL}"))
            except KeyError as error:
                raise OSError(f"cause {PHONE}") from error
        except OSError as error:
            group = ExceptionGroup("several", [ValueError(f"inner {KEY}")])
            group.add_note(f"noted {EMAIL}")
            raise group from error
    except ExceptionGroup:
        logger.exception("failed for %s", EMAIL)
    for expected in ("context <EMAIL>", "cause <PHONE>", "inner <SECRET>", "noted <EMAIL>", "failed for <EMAIL>"):
        assert expected in captured.text
    assert "Traceback (most recent call last)" in captured.text
    assert not any(value in captured.everything for value in (EMAIL, PHONE, KEY))
    assert str(captured.records[0].exc_info[1]) == "several (1 sub-exception)"


def test_stack_and_text_of_an_exception_made_before_are_redacted():
    record = filtered("x", exc_text=f"ValueError: {EMAIL}", stack_info=f"  call({EMAIL!r})")
    assert record.exc_text == "ValueError: <EMAIL>"
    assert record.stack_info == "  call('<EMAIL>')"


@pytest.mark.parametrize(("msg", "args"), [(Unspeakable(), ()), ("%s", (Unspeakable(),))])
def test_what_cant_be_written_out_becomes_unknown(msg, args):
    record = filtered(msg, *args)
    assert record.getMessage() == "<UNKNOWN>"
    assert EMAIL not in repr(vars(record))


def test_a_failing_redactor_fails_closed():
    error = ValueError(EMAIL)
    record = filtered(
        "mail %s", EMAIL, redactor=FailingRedactor(), to=EMAIL, stack_info=EMAIL, exc_info=(ValueError, error, None)
    )
    assert (record.getMessage(), record.to, record.stack_info) == ("<UNKNOWN>",) * 3
    assert record.exc_text == "ValueError: <UNKNOWN>"
    assert EMAIL not in repr(vars(record))


def test_what_the_redactor_itself_logs_is_masked_and_does_not_recur(captured):
    talkative = logging.getLogger("talkative")
    talkative.addHandler(captured)
    try:
        with redact_logs(TalkativeRedactor()):
            logging.getLogger("test_logs").warning("mail %s", EMAIL)
    finally:
        talkative.removeHandler(captured)
    assert captured.text
    assert set(captured.text.splitlines()) == {"WARNING talkative <UNKNOWN>"}


def test_a_record_that_passes_again_is_not_redacted_again():
    class Counting:
        calls = 0

        def redact(self, text):
            self.calls += 1
            return Redactor().redact(text)

    counting = Counting()
    record = filtered(
        "mail %s", EMAIL, redactor=counting, to=EMAIL, stack_info=EMAIL, exc_info=(None, ValueError(), None)
    )
    seen, calls = dict(vars(record)), counting.calls
    RedactingFilter(counting).filter(record)
    assert counting.calls == calls
    assert vars(record) == seen


@pytest.mark.parametrize(
    ("name", "value"), [("msg", f"now {EMAIL}"), ("args", (EMAIL,)), ("to", EMAIL), ("stack_info", EMAIL)]
)
def test_what_changes_after_it_was_redacted_is_redacted_again(name, value):
    record = filtered("mail %s", "nobody", to="nobody", stack_info="nobody")
    setattr(record, name, value)
    RedactingFilter().filter(record)
    assert EMAIL not in repr(vars(record)) + record.getMessage()


def test_a_redacted_record_can_be_copied_and_sent_to_another_process():
    record = filtered("mail %s", EMAIL, to=[EMAIL])
    for other in (copy.copy(record), pickle.loads(pickle.dumps(record))):
        assert RedactingFilter().filter(other)
        assert (other.getMessage(), other.to) == ("mail <EMAIL>", ["<EMAIL>"])


@pytest.mark.parametrize("propagate", [True, False])
@pytest.mark.parametrize("first", ["handler", "redaction"])
def test_the_whole_process_is_covered_whatever_came_first(logger, captured, propagate, first):
    owner = logging.getLogger("test_logs") if propagate else logger
    logger.propagate = propagate
    if first == "handler":
        owner.addHandler(captured)
    with redact_logs():
        if first == "redaction":
            owner.addHandler(captured)
        logger.warning("mail %s", EMAIL, extra={"to": PHONE})
        logger.info("key %s", KEY, stack_info=True)
    assert "mail <EMAIL>" in captured.text
    assert captured.records[0].to == "<PHONE>"
    assert not any(value in captured.everything for value in (EMAIL, PHONE, KEY))


def test_loggers_that_are_made_later_are_covered_with_their_extra_attributes(captured):
    with redact_logs():
        later = logging.getLogger("test_logs.later")
        later.addHandler(captured)
        later.warning("mail %s", EMAIL, extra={"to": EMAIL})
        logging.LoggerAdapter(later, {"adapted": EMAIL}).error("again %s", EMAIL)
    del logging.root.manager.loggerDict["test_logs.later"]
    assert [record.getMessage() for record in captured.records] == ["mail <EMAIL>", "again <EMAIL>"]
    assert EMAIL not in captured.everything


def test_what_a_filter_of_an_existing_handler_adds_is_redacted(logger, captured):
    class Adds(logging.Filter):
        def filter(self, record):
            record.user = EMAIL
            return True

    captured.addFilter(Adds())
    captured.setFormatter(logging.Formatter("%(message)s %(user)s"))
    logger.addHandler(captured)
    with redact_logs():
        logger.warning("x")
    assert captured.text == "x <EMAIL>\n"


def test_records_that_come_from_elsewhere_are_redacted(logger, captured, redacted):
    logger.info("now the logger is known")
    logger.addHandler(captured)
    logger.handle(logging.makeLogRecord({"levelno": logging.INFO, "msg": "mail %s", "args": (EMAIL,), "to": EMAIL}))
    assert captured.records[0].getMessage() == "mail <EMAIL>"
    assert EMAIL not in captured.everything


class Adding(logging.LogRecord):
    def getMessage(self):
        return f"{super().getMessage()} of {EMAIL}"


class Braces(logging.LogRecord):
    def getMessage(self):
        return str(self.msg).format(*self.args)


class Refusing(logging.LogRecord):
    def getMessage(self):
        raise OSError(EMAIL)


@contextmanager
def made_by(factory):
    """Have records made by `factory`."""
    before = logging.getLogRecordFactory()
    logging.setLogRecordFactory(factory)
    try:
        yield
    finally:
        logging.setLogRecordFactory(before)


@pytest.mark.parametrize("first", ["factory", "redaction"])
@pytest.mark.parametrize(
    ("kind", "said", "message"),
    [
        (Adding, ("mail %s", PHONE), "mail <PHONE> of <EMAIL>"),
        (Adding, ("mail",), "mail of <EMAIL>"),
        (Adding, ({"to": PHONE},), "{'to': '<PHONE>'}"),
        (Braces, ("mail {} to {}", 3, EMAIL), "mail 3 to <EMAIL>"),
        (Refusing, ("mail",), "<UNKNOWN>"),
    ],
)
def test_the_message_that_a_class_of_records_makes_is_redacted(logger, first, kind, said, message):
    logger.addHandler(captured := Captured())
    with ExitStack() as stack:
        for step in (made_by, redact_logs) if first == "factory" else (redact_logs, made_by):
            stack.enter_context(made_by(kind) if step is made_by else redact_logs())
        logger.warning(*said)
    (record,) = captured.records
    assert captured.text == f"WARNING test_logs.fresh {message}\n"
    assert isinstance(record, kind)
    for other in (copy.copy(record), pickle.loads(pickle.dumps(record))):
        assert other.getMessage() == message


async def test_the_message_of_such_a_record_that_takes_long_is_redacted_whole(logger, captured, redacted):
    logger.addHandler(captured)
    record = Adding(logger.name, logging.WARNING, "/path", 1, "word " * 1_000 + "%s", (PHONE,), None)
    logger.handle(record)
    redacted.flush()
    assert captured.text.endswith("word <PHONE> of <EMAIL>\n")


def test_what_the_redactor_logs_in_such_records_is_masked(captured):
    logger = logging.getLogger("talkative")
    logger.addHandler(captured)
    with made_by(Adding), redact_logs(TalkativeRedactor()):
        logger.warning("mail %s", PHONE)
    logger.removeHandler(captured)
    assert "<UNKNOWN>" in captured.text
    assert EMAIL not in captured.text


def test_captured_warnings_are_redacted(captured, redacted):
    logging.captureWarnings(capture=True)
    log = logging.getLogger("py.warnings")
    log.addHandler(captured)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            logging.captureWarnings(capture=True)
            warnings.showwarning(UserWarning(f"about {EMAIL}"), UserWarning, "file.py", 1)
    finally:
        logging.captureWarnings(capture=False)
        log.removeHandler(captured)
    assert "about <EMAIL>" in captured.text
    assert EMAIL not in captured.everything


def test_undo_restores_the_factory_and_all_filters(logger, captured):
    logger.addHandler(captured)
    factory = logging.getLogRecordFactory()
    before = {each: list(each.filters) for each in (logging.root, logger, captured)}
    redaction = redact_logs()
    logger.warning("mail %s", EMAIL)
    redaction.undo()
    redaction.undo()
    logger.warning("mail %s", EMAIL)
    assert logging.getLogRecordFactory() is factory
    assert {each: list(each.filters) for each in before} == before
    assert captured.text.splitlines() == [
        "WARNING test_logs.fresh mail <EMAIL>",
        f"WARNING test_logs.fresh mail {EMAIL}",
    ]


def test_undo_leaves_a_factory_that_was_put_over_it_and_does_nothing_below(logger, captured):
    logger.addHandler(captured)
    original = logging.getLogRecordFactory()
    redaction = redact_logs()
    inner = logging.getLogRecordFactory()

    def outer(*args, **kwargs):
        return inner(*args, **kwargs)

    logging.setLogRecordFactory(outer)
    try:
        redaction.undo()
        assert logging.getLogRecordFactory() is outer
        logger.warning("mail %s", EMAIL)
        assert captured.records[0].getMessage() == f"mail {EMAIL}"
    finally:
        logging.setLogRecordFactory(original)


def test_two_redactions_at_once_can_be_undone_in_any_order(logger, captured):
    logger.addHandler(captured)
    first = redact_logs()
    second = redact_logs()
    first.undo()
    logger.warning("mail %s", EMAIL)
    second.undo()
    logging.setLogRecordFactory(logging.LogRecord)
    assert captured.records[0].getMessage() == "mail <EMAIL>"


def test_the_access_log_of_a_server_keeps_its_form(logger, captured, redacted):
    captured.setFormatter(AccessFormatter("%(client_addr)s %(request_line)s %(status_code)s", use_colors=False))
    logger.addHandler(captured)
    logger.info('%s - "%s %s HTTP/%s" %d', "local:1", "GET", f"/?to={EMAIL}", "1.1", 200)
    assert captured.text == "local:1 GET /?to=<EMAIL> HTTP/1.1 200 OK\n"


def test_structured_events_keep_their_form(logger, captured, redacted):
    captured.setFormatter(structlog.stdlib.ProcessorFormatter(processor=structlog.processors.JSONRenderer()))
    logger.addHandler(captured)
    wrapped = structlog.wrap_logger(logger, processors=[structlog.stdlib.ProcessorFormatter.wrap_for_formatter])
    wrapped.info("sent", to=EMAIL, count=2)
    assert json.loads(captured.text) == {"event": "sent", "to": "<EMAIL>", "count": 2}


def test_json_formatters_that_write_all_attributes_write_no_value(logger, captured, redacted):
    class Json(logging.Formatter):
        def format(self, record):
            return json.dumps({**vars(record), "text": record.getMessage()}, default=str)

    captured.setFormatter(Json())
    logger.addHandler(captured)
    logger.warning("mail %s", EMAIL, extra={"to": {"deep": EMAIL}})
    assert json.loads(captured.text)["text"] == "mail <EMAIL>"
    assert EMAIL not in captured.text


def test_a_record_gets_no_attribute_that_formatters_write_out():
    record = logging.makeLogRecord({"msg": "mail to %s", "args": ("ann@example.com",)})
    before = set(vars(record))
    RedactingFilter().filter(record)
    assert set(vars(record)) == before
