"""`discreet redact --explain`: what was found where, never what it says."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from discreet.cli.piped import Source, quiet_pipe, sources, write
from discreet.cli.redact import configured
from discreet.cli.terminal import plain
from discreet.redaction import Finding, Redactor
from discreet.redaction.placeholders import UNKNOWN
from discreet.state.text import storable

PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")

PLACEHOLDER = re.compile(r"<([A-Z][A-Z0-9_]*)>")

Entry = dict[str, Any]
"""One finding: file, line and path where there are any, type, start and end in code points."""


def run_explain(files: Sequence[str], *, jsonl: bool, as_json: bool) -> None:
    """Print a line for each finding in the files or in standard input: a table on a terminal, else fields between tabs.

    Raises:
        InputError: A file can't be read, is not UTF-8, or has a line that is not JSON. Findings before it are printed,
            except in a table.
    """
    redactor = configured()
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
    """Return what is found in `text`, as places in it."""
    kept = [place for place, char in enumerate(text) if char != "\0"] if "\0" in text else None
    found = redactor.findings(text)
    return found if kept is None else [Finding(each.type, kept[each.start], kept[each.end - 1] + 1) for each in found]


def _in_text(source: Source, redactor: Redactor) -> Iterator[Entry]:
    for finding in findings("".join(source.text()), redactor):
        yield {"type": finding.type, "start": finding.start, "end": finding.end}


def _in_lines(source: Source, redactor: Redactor) -> Iterator[Entry]:
    from discreet.cli.json_lines import values  # it imports langchain-core, which plain text does not need
    from discreet.redaction.walker import redact_object

    for number, value in values(source):
        if value is not None:
            copy = redact_object(value[0], redactor)
            for path, finding in _changes(value[0], copy, redactor):
                yield {"line": number, "path": path, "type": finding.type, "start": finding.start, "end": finding.end}


def _changes(value: Any, copy: Any, redactor: Redactor) -> Iterator[tuple[str, Finding]]:
    """Yield where `copy` is not `value`: paths and what was found there.

    A key is at the path of what it names, with `~` behind. Keys are redacted in paths.
    """
    waiting: list[tuple[Any, Any, str, str]] = [(value, copy, "$", "")]
    while waiting:
        item, redacted, path, name = waiting.pop()
        if isinstance(item, dict) and isinstance(redacted, dict):
            inside = list(zip(item.items(), redacted.items(), strict=True))
            for (key, _), (new, _) in inside:
                yield from ((f"{_child(path, new)}~", found) for found in _changed(key, new, "", redactor))
            waiting += [(below, other, _child(path, new), key) for (key, below), (new, other) in reversed(inside)]
        elif isinstance(item, list) and isinstance(redacted, list):
            pairs = list(enumerate(zip(item, redacted, strict=True)))
            waiting += [(below, other, f"{path}[{index}]", name) for index, (below, other) in reversed(pairs)]
        elif item != redacted:
            yield from ((path, found) for found in _changed(item, redacted, name, redactor))


def _changed(item: Any, redacted: Any, name: str, redactor: Redactor) -> list[Finding]:
    """Return what was found in a string or number: in itself, else together with its name, else it is all of it.

    An object or list that was given up as a whole has no characters: its finding is from 0 to 0.
    """
    if redacted in (item, storable(item) if isinstance(item, str) else item):
        return []
    whole = PLACEHOLDER.match(str(redacted))
    kind = whole[1] if whole else UNKNOWN
    if isinstance(item, (dict, list)):
        return [Finding(kind, 0, 0)]
    text = str(int(item)) if isinstance(item, float) and item.is_integer() else str(item)
    if found := findings(text, redactor):
        return found
    prefix = f"{name}: "
    shifted = [
        Finding(each.type, max(0, each.start - len(prefix)), each.end - len(prefix))
        for each in findings(prefix + text, redactor)
        if each.end > len(prefix)
    ]
    return shifted or [Finding(kind, 0, len(text))]


def _child(path: str, key: str) -> str:
    return f"{path}.{key}" if PLAIN_KEY.match(key) else f"{path}[{json.dumps(key)}]"


def _print_table(entries: Sequence[Entry]) -> None:
    console = Console()
    if not entries:
        console.print("Nothing found.")
        return
    table = Table(*entries[0])
    for entry in entries:
        table.add_row(*(plain(str(value)) for value in entry.values()))
    console.print(table)
