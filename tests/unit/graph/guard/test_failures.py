"""What is told of exceptions, and what LangGraph logs of them."""

from __future__ import annotations

import asyncio
import logging
import sys
from types import ModuleType
from typing import Any, Self

import pytest
from langgraph.errors import EmptyInputError as NoInputError
from langgraph.errors import GraphInterrupt, ParentCommand
from langgraph.types import Command, Interrupt

from discreet.errors import DiscreetError, EmptyInputError, RunFailedError
from discreet.graph.guard.failures import LOGGERS, SERVER, quieten, told
from discreet.graph.guard.objects import RunObjects, RunTexts
from discreet.redaction import Redactor

OBJECTS = RunObjects(RunTexts(Redactor(placeholder_key=bytes(32)).for_thread("t"), {}))


class DemandingError(TimeoutError):
    """Wants arguments that nobody knows."""

    def __init__(self, one: str, *, two: str) -> None:
        self.two = two
        super().__init__(one)


class Refusing(BaseException):
    """Can't be made again."""

    def __new__(cls, *args: Any) -> Self:
        if args and str(args[0]).startswith("<"):
            raise OSError(args[0])
        return super().__new__(cls)


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError("ann@example.com"),
        asyncio.CancelledError("ann@example.com"),
        SystemExit("ann@example.com"),
        GraphInterrupt((Interrupt("ann@example.com", id="0f0293eb35a7e9bd7b64038cfb016898"),)),
        ParentCommand(Command(update={"a": "ann@example.com"})),
        DemandingError("ann@example.com", two="ann@example.com"),
    ],
)
def test_the_type_stays_and_nothing_raw_with_it(error: BaseException) -> None:
    safe = told(error, OBJECTS.redact)
    assert type(safe) is type(error)
    assert "ann@example.com" not in f"{safe!r} {safe} {vars(safe)}"
    assert safe is not error


def test_an_interrupt_keeps_its_questions() -> None:
    question = Interrupt("Really?", id="0f0293eb35a7e9bd7b64038cfb016898")
    assert told(GraphInterrupt((question,)), OBJECTS.redact).args == ((question,),)


@pytest.mark.parametrize(
    "error", [ValueError("x"), Refusing("ann@example.com"), ExceptionGroup("x", [ValueError("y")])]
)
def test_all_else_tells_its_class(error: BaseException) -> None:
    safe = told(error, OBJECTS.redact)
    assert isinstance(safe, RunFailedError)
    assert type(error).__name__ in str(safe)
    assert safe.code == "run_failed"


def test_ours_stay_as_they_are_without_notes() -> None:
    error = EmptyInputError()
    error.add_note("ann@example.com")
    safe = told(error, OBJECTS.redact)
    assert isinstance(safe, DiscreetError)
    assert str(safe) == str(error)
    assert vars(safe) == {}


def test_no_input_for_a_thread_that_never_ran_is_told_as_ours() -> None:
    safe = told(NoInputError("Received no input"), OBJECTS.redact)
    assert isinstance(safe, EmptyInputError)


def test_what_the_server_tries_again_keeps_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(Exception):  # as servers call theirs
        pass

    assert isinstance(told(Gone("ann@example.com"), OBJECTS.redact), RunFailedError)
    server = ModuleType(SERVER)
    monkeypatch.setattr(server, "ALL_RETRIABLE_EXCEPTIONS", (Gone,), raising=False)
    monkeypatch.setitem(sys.modules, SERVER, server)
    safe = told(Gone("ann@example.com"), OBJECTS.redact)
    assert type(safe) is Gone
    assert "ann" not in str(safe)


@pytest.mark.parametrize("name", LOGGERS)
def test_log_lines_of_langgraph_name_the_class_only(name: str, caplog: pytest.LogCaptureFixture) -> None:
    quieten()
    quieten()
    logger = logging.getLogger(name)
    with caplog.at_level(logging.INFO, logger=name):
        try:
            {}["ann@example.com"]
        except KeyError as error:
            logger.info(f"Retrying task x after KeyError {error}", exc_info=error)  # noqa: G004  # as LangGraph does
        logger.info("nothing happened")
    assert "Retrying task x after KeyError cause=KeyError" in caplog.text
    assert "nothing happened" in caplog.text
    assert "ann@example.com" not in caplog.text
