"""Which of the product's SQL statements a test has the server do: `pytest -p testkit.statements --statements FILE`.

`python -m testkit.statements FILE.*` then prints what to mark with `dialect`, so that a marked test executes each statement: what a
server's version or a pooler can change is tried there with these tests alone. Needed after statements were added.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.sql import Composable

_TESTS = str(Path(__file__).resolve().parents[2])
_DRIVER = str(Path(psycopg.__file__).parent)

_seen: set[str] = set()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the file to write to."""
    parser.addoption("--statements", type=Path, help="where to write which SQL statements each test has the server do")


def pytest_configure(config: pytest.Config) -> None:
    """Record what the driver's cursors execute."""
    for cursor in (psycopg.AsyncCursor, psycopg.Cursor):
        for name in ("execute", "executemany", "copy", "stream"):
            _watch(cursor, name)


def _watch(cursor: Any, name: str) -> None:
    before = getattr(cursor, name)

    def watched(self: Any, query: Any, *given: Any, **options: Any) -> Any:
        if _is_the_products():
            _seen.add(_form_of(query, self))
        return before(self, query, *given, **options)

    setattr(cursor, name, watched)


def _is_the_products() -> bool:
    """Whether the nearest caller outside the driver and this module is no file of the tests."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith((_DRIVER, __file__)):
        frame = frame.f_back  # type: ignore[assignment]  # ends with None, which the loop asks for
    return frame is not None and not frame.f_code.co_filename.startswith(_TESTS)


def _form_of(query: Any, cursor: Any) -> str:
    if isinstance(query, Composable):
        query = query.as_bytes(cursor)
    text = query.decode() if isinstance(query, bytes) else str(query)
    return re.sub(r'"[^"]*"|(?<=[A-Za-z_])\d+|[0-9a-f]{16,}', "N", re.sub(r"\s+", " ", text)).strip()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Note what was executed from the test's first fixture to its last."""
    _seen.clear()
    began = time.monotonic()
    done = yield
    path = item.config.getoption("--statements")
    if path is not None and _seen:
        record = {
            "test": item.nodeid.partition("[")[0],
            "seconds": time.monotonic() - began,
            "is_marked": item.get_closest_marker("dialect") is not None,
            "statements": sorted(_seen),
        }
        worker = getattr(item.config, "workerinput", {}).get("workerid", "main")
        with path.with_name(f"{path.name}.{worker}").open("a") as file:
            file.write(json.dumps(record) + "\n")
    return done


def main(paths: list[str]) -> int:
    """Print which tests to mark with `dialect` so that each statement is executed by one; return 1 if there are any."""
    seconds: Counter[str] = Counter()
    statements: dict[str, set[str]] = defaultdict(set)
    left, marked = set[str](), set[str]()
    for path in paths:
        for line in Path(path).read_text().splitlines():
            record = json.loads(line)
            seconds[record["test"]] += record["seconds"] + 0.05
            statements[record["test"]].update(record["statements"])
            (marked if record["is_marked"] else left).update(record["statements"])
    left -= marked
    chosen = list[str]()
    while left:
        best = max(statements, key=lambda test: len(statements[test] & left) / seconds[test])
        chosen.append(best)
        left -= statements[best]
    print("\n".join(sorted(chosen)))
    return bool(chosen)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
