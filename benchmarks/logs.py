"""What redacting a line of a log costs, beside logging without it.

    .venv/bin/python -m benchmarks.logs

Lines are new ones each time: ids, hours, durations and amounts differ, as they do in a program. Both kinds of logging take
turns; figures are medians in microseconds of CPU and wall-clock time alike, of a process that has seen such lines before.
"First" is what the first line of its kind took, when all recognisers had to read it; "in a loop" is for how long the call
of a line keeps an event loop, whatever is left to another thread.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import platform
import random
import statistics
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from discreet.redaction.configured import default_redactor
from discreet.redaction.logs import redact_logs

WORDS = (
    "the",
    "store",
    "was",
    "asked",
    "for",
    "entries",
    "and",
    "has",
    "answered",
    "with",
    "all",
    "that",
    "it",
    "holds",
)


class Nowhere(logging.Handler):
    """Formats, and writes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Format `record`."""
        self.format(record)


def now() -> str:
    """Return a time stamp of its own."""
    return datetime.fromtimestamp(random.uniform(1.7e9, 1.8e9), UTC).isoformat()


def some_id() -> str:
    """Return an id nobody has seen."""
    return str(uuid.uuid4())


def access(logger: logging.Logger) -> None:
    """Log as uvicorn does."""
    port = random.randrange(32768, 61000)
    logger.info('%s - "%s %s HTTP/%s" %d', f"127.0.0.1:{port}", "GET", f"/threads/{some_id()}/state", "1.1", 200)


def event(logger: logging.Logger) -> None:
    """Log as the LangGraph server does, of a run that ended."""
    fields: dict[str, Any] = {
        "event": "Background run succeeded",
        "run_id": some_id(),
        "thread_id": some_id(),
        "assistant_id": some_id(),
        "graph_id": "agent",
        "request_id": some_id(),
        "run_attempt": 1,
        "run_created_at": now(),
        "run_started_at": now(),
        "run_ended_at": now(),
        "run_exec_ms": random.randrange(10_000),
        "logger": "langgraph_api.worker",
        "level": "info",
        "api_variant": "local_dev",
        "langgraph_api_version": "0.16.7",
        "thread_name": "MainThread",
        "timestamp": now(),
    }
    logger.info(fields, extra={"_logger": logger, "_name": "info"})


def request(logger: logging.Logger) -> None:
    """Log a request as `discreet.api.request_log` does."""
    took = random.uniform(1, 900)
    logger.info(
        "request request_id=%s method=%s route=%s status=%d took_ms=%.1f",
        uuid.uuid4().hex,
        "GET",
        "/memory/query",
        200,
        took,
    )


def ours(logger: logging.Logger) -> None:
    """Log as a node does."""
    logger.warning("persist.failed thread=%s cause=%s seconds=%.3f", some_id(), "PoolTimeout", random.random())


def sentence(chars: int, *, new: bool) -> Callable[[logging.Logger], None]:
    """Return what logs a line so long, of words and an id; a new one's words were never in that order."""

    def log(logger: logging.Logger) -> None:
        words = random.choices(WORDS, k=chars // 4) if new else WORDS * (chars // 80)
        logger.info("%s", (f"run_id={some_id()} " + " ".join(words))[:chars])

    return log


def with_value(logger: logging.Logger) -> None:
    """Log a line that holds somebody's address."""
    logger.info("mail to %s of run_id=%s was sent in %.1fms", "ann@example.com", some_id(), random.uniform(1, 900))


LINES: dict[str, Callable[[logging.Logger], None]] = {
    "access line of uvicorn": access,
    "event of langgraph_api": event,
    "line of a request": request,
    "line of a node": ours,
    "300 characters": sentence(300, new=False),
    "with an e-mail address": with_value,
    "300 new characters": sentence(300, new=True),
    "1,000 new characters": sentence(1_000, new=True),
    "20,000 characters": sentence(20_000, new=False),
    "20,000 new characters": sentence(20_000, new=True),
}


def timed(log: Callable[[logging.Logger], None], logger: logging.Logger) -> float:
    """Return the microseconds that one line takes, without making its words."""
    logger.disabled = True
    state = random.getstate()
    started = time.perf_counter()
    log(logger)
    making = time.perf_counter() - started
    logger.disabled = False
    random.setstate(state)
    started = time.perf_counter()
    log(logger)
    return (time.perf_counter() - started - making) * 1e6


def made(name: str) -> logging.Logger:
    """Return a logger that writes nowhere."""
    logger = logging.getLogger(name)
    logger.propagate = False
    logger.setLevel(logging.INFO)
    logger.addHandler(Nowhere())
    return logger


def side_by_side(log: Callable[[logging.Logger], None], lines: int) -> tuple[float, float, float, float]:
    """Return what a line takes without redaction and with it, how long nineteen of twenty take at most, and the first."""
    bare, redacted = made("benchmark.bare"), made("benchmark.redacted")
    times: dict[str, list[float]] = {"bare": [], "redacted": []}
    plain = logging.getLogRecordFactory()
    with redact_logs(default_redactor()):
        redacting = logging.getLogRecordFactory()
        for each in (bare, *bare.handlers):
            each.filters.clear()
        first = timed(log, redacted)
        for _ in range(lines):
            logging.setLogRecordFactory(plain)
            times["bare"].append(timed(log, bare))
            logging.setLogRecordFactory(redacting)
            times["redacted"].append(timed(log, redacted))
    for each in (bare, redacted):
        each.handlers.clear()
    late = sorted(times["redacted"])[int(lines * 0.95)]
    return statistics.median(times["bare"]), statistics.median(times["redacted"]), late, first


async def in_a_loop(log: Callable[[logging.Logger], None], lines: int) -> float:
    """Return the median of what the call of a line takes where an event loop runs."""
    logger = made("benchmark.loop")
    times: list[float] = []
    with redact_logs(default_redactor()) as redaction:
        for _ in range(lines):
            times.append(timed(log, logger))
            await asyncio.to_thread(redaction.flush)
    logger.handlers.clear()
    return statistics.median(times)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=300, help="lines of each kind (default 300)")
    lines = parser.parse_args().lines
    default_redactor().redact("mail to ann@example.com, call 0912 345 678 at 12 Main Street")  # loads what it needs
    print(f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}; microseconds a line")
    print(f"{'line':26}{'bare':>8}{'redacted':>10}{'more':>8}{'95 %':>8}{'first':>9}{'in a loop':>11}")
    for name, log in LINES.items():
        rounds = max(10, lines // 10) if "20,000" in name else lines
        bare, redacted, late, first = side_by_side(log, rounds)
        loop = asyncio.run(in_a_loop(log, rounds))
        print(f"{name:26}{bare:8.0f}{redacted:10.0f}{redacted - bare:8.0f}{late:8.0f}{first:9.0f}{loop:11.0f}")


if __name__ == "__main__":
    main()
