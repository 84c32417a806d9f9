"""`discreet redact --explain`: what was found where, never what it says."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.cli.piped import Source, quiet_pipe, sources, write
from discreet.cli.redact import WHOLE_CHARS
from discreet.redaction import Finding, Redactor
from discreet.redaction.findings import merge

OVERLAP_CHARS = 8_192
"""Of a long text, windows are searched that share this much, so that a private key is seen whole by one of them."""

PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")

Entry = dict[str, Any]
"""One finding: file, line and path where there are any, type, start and end in code points."""


def run_explain(files: Sequence[str], *, jsonl: bool, as_json: bool) -> None:
    """Print a line for each finding in the files or in standard input: a table on a terminal, else fields between tabs.

    Raises:
        InputError: A file can't be read, is not UTF-8, or has a line that is not JSON. Findings before it are printed,
            except in a table.
    """
    redactor = Redactor()
    found = (
        {**({"file": source.file} if files else {}), **entry}
        for source in sources(files)
        for entry in (_in_lines(source, redactor) if jsonl else _in_text(source, redactor))
    )
    with quiet_pipe():
        if as_json:
            for entry in found:
                write(json.dumps(entry, ensure_ascii=False) + "\n")
        elif sys.stdout.isatty():
            _print_table(list(found))
        else:
            for entry in found:
                write("\t".join(str(value) for value in entry.values()) + "\n")


def findings(text: str, redactor: Redactor) -> list[Finding]:
    """Return what is found in `text`, however long it is, as places in it."""
    kept = [place for place, char in enumerate(text) if char != "\0"] if "\0" in text else None
    text = text.replace("\0", "")
    found: list[Finding] = []
    start = 0
    while True:
        window = text[start : start + WHOLE_CHARS]
        found += [Finding(each.type, start + each.start, start + each.end) for each in redactor.findings(window)]
        if start + WHOLE_CHARS >= len(text):
            break
        start = _window_start(text, start + WHOLE_CHARS - OVERLAP_CHARS)
    found = merge(found)
    return found if kept is None else [Finding(each.type, kept[each.start], kept[each.end - 1] + 1) for each in found]


def _window_start(text: str, start: int) -> int:
    """Return where a word begins near `start`, so that no window begins inside a value without spaces."""
    place = re.compile(r"\s").search(text, start, start + OVERLAP_CHARS // 2)
    return place.end() if place else start


def _in_text(source: Source, redactor: Redactor) -> Iterator[Entry]:
    for finding in findings("".join(source.text()), redactor):
        yield {"type": finding.type, "start": finding.start, "end": finding.end}


def _in_lines(source: Source, redactor: Redactor) -> Iterator[Entry]:
    from discreet.cli.json_lines import values  # noqa: PLC0415 - it imports langchain-core, which plain text needs not

    for number, value in values(source):
        for path, text in _strings(value[0], "$", redactor) if value else ():
            for finding in findings(text, redactor):
                yield {"line": number, "path": path, "type": finding.type, "start": finding.start, "end": finding.end}


def _strings(value: Any, path: str, redactor: Redactor) -> Iterator[tuple[str, str]]:
    """Yield each string of `value`, its keys and numbers too, as far as they are text that `redact` looks at.

    A key is at the path of what it names, with `~` behind. Keys are redacted in paths.
    """
    waiting: list[tuple[Any, str]] = [(value, path)]
    while waiting:
        item, where = waiting.pop()
        if isinstance(item, str):
            yield where, item
        elif isinstance(item, dict):
            inside = [(key, _child(where, redactor.redact(key)), child) for key, child in item.items()]
            for key, below, _ in inside:
                yield f"{below}~", key
            waiting += [(child, below) for _, below, child in reversed(inside)]
        elif isinstance(item, list):
            waiting += [(child, f"{where}[{index}]") for index, child in reversed(list(enumerate(item)))]
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            yield where, str(int(item)) if isinstance(item, float) and item.is_integer() else str(item)


def _child(path: str, key: str) -> str:
    return f"{path}.{key}" if PLAIN_KEY.match(key) else f"{path}[{json.dumps(key)}]"


def _print_table(entries: Sequence[Entry]) -> None:
    console = Console()
    if not entries:
        console.print("Nothing found.")
        return
    table = Table(*entries[0])
    for entry in entries:
        table.add_row(*(escape(str(value)) for value in entry.values()))
    console.print(table)
