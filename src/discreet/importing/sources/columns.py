"""Rows of a table: of CSV, or JSON lines, whose columns are named as fields or mapped onto them."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, TextIO

from discreet.errors import ImportSourceError
from discreet.importing.source import BadRow, SourceRow
from discreet.importing.sources.reading.records import FIELDS, memory_of
from discreet.importing.sources.reading.rows import UnreadableRowError, made_row
from discreet.importing.sources.reading.texts import MAX_ROW, bytes_of, is_text, open_text, paged, unreadable
from discreet.importing.sources.reading.values import parsed
from discreet.state.records import RECORD_FIELDS, MemoryRecord

DELIMITERS: Final = ",;\t|"
"""Of which the one that is meant is found out."""

_SAMPLE = 65_536
_FIRST: Final = 100
"""Lines of which one has a text, or the wrong columns are meant."""

_TEXTS: Final = frozenset({"text", *(name for name, field in RECORD_FIELDS.items() if field == "text")})
"""Columns of which a row needs one."""


def read_map(said: Iterable[str]) -> dict[str, str]:
    """Return which column has which field, of texts such as `text=memory,user_id=uid`.

    Raises:
        ImportSourceError: A part is none, or names no field.
    """
    columns: dict[str, str] = {}
    for part in (part for each in said for part in each.split(",")):
        field, equals, column = (piece.strip() for piece in part.partition("="))
        if not equals or not column or field not in FIELDS:
            raise ImportSourceError(f"--map takes field=column, with a field of {', '.join(sorted(FIELDS))}.")
        if field in columns:
            raise ImportSourceError(f"--map has {field} twice.")
        columns[field] = column
    return columns


class CsvSource:
    """A file of CSV, whose first row names the columns."""

    name = "csv"

    def __init__(self, path: Path, *, columns: Mapping[str, str], delimiter: str | None) -> None:
        self._path = path
        self._columns = columns
        self._delimiter = delimiter

    async def count(self) -> None:
        """Say that nobody knows before all of it is read."""

    async def rows(self, *, after: str | None = None) -> AsyncIterator[SourceRow | BadRow]:
        """Yield its rows.

        Raises:
            ImportSourceError: It can't be read, has no header, or lacks a column that is mapped.
        """
        csv.field_size_limit(min(MAX_ROW, sys.maxsize))
        with open_text(self._path) as file:
            try:
                reader = csv.reader(file, delimiter=self._delimiter or _delimiter_of(file))
                header = next(_cells(reader), None)
            except (OSError, UnicodeError) as error:
                raise unreadable(error) from None
            if not isinstance(header, list) or not any(header):
                raise ImportSourceError("The file has no header: its first row names the columns.")
            places = _places(header, self._columns)
            number = 0
            async for cells in paged(_cells(reader)):
                number += 1
                mark = f"{number:012}"
                if cells == [] or (after is not None and mark <= after):
                    continue
                yield made_row(mark, _raw(cells), partial(_row, cells, places, len(header)))


class JsonLinesSource:
    """A file with a JSON object a line."""

    name = "jsonl"

    def __init__(self, path: Path, *, columns: Mapping[str, str]) -> None:
        self._path = path
        self._columns = columns

    async def count(self) -> None:
        """Say that nobody knows before all of it is read."""

    async def rows(self, *, after: str | None = None) -> AsyncIterator[SourceRow | BadRow]:
        """Yield its rows.

        Raises:
            ImportSourceError: It can't be read, or no column has a text.
        """
        number = 0
        with open_text(self._path) as file:
            lines = _lines(file)
            async for line in paged(self._with_texts(lines) if after is None else lines):
                number += 1
                mark = f"{number:012}"
                if line.strip() and (after is None or mark > after):
                    yield made_row(mark, bytes_of(line), partial(self._row, line))

    def _with_texts(self, lines: Iterator[str]) -> Iterator[str]:
        """Yield all lines, unless the first of them have no text: of each row that would be said otherwise."""
        first = list(islice(lines, _FIRST))
        rows = [row for line in first if (row := self._object(line)) is not None]
        if len(first) == _FIRST and rows and all(_TEXTS.isdisjoint(row) for row in rows):
            raise ImportSourceError(
                f"None of the first {_FIRST} rows has a text. Say which column has it: --map text=COLUMN."
            )
        yield from first
        yield from lines

    def _object(self, line: str) -> dict[str, Any] | None:
        """Return a row as far as it has values, if it can be read."""
        try:
            value = parsed(line, "line")
        except UnreadableRowError:
            return None
        if not isinstance(value, dict):
            return None
        return {name: said for name, said in {**value, **_mapped(value, self._columns)}.items() if said is not None}

    def _row(self, line: str) -> tuple[str | None, MemoryRecord]:
        if len(line) > MAX_ROW:
            raise UnreadableRowError(f"The line has more than {MAX_ROW:,} characters.")
        if not is_text(line):
            raise UnreadableRowError("The line is not UTF-8: convert the file (iconv -t UTF-8).")
        value = parsed(line, "line")
        if not isinstance(value, dict):
            raise UnreadableRowError("The line is no JSON object.")
        return memory_of({**value, **_mapped(value, self._columns)}, source=self.name)


def open_csv(path: str, *, columns: Mapping[str, str], delimiter: str | None = None) -> CsvSource:
    """Return the source that reads the file `path`; `columns` are those of fields that are named otherwise.

    Raises:
        ImportSourceError: The delimiter is not one character.
    """
    delimiter = "\t" if delimiter in ("\\t", "tab") else delimiter
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise ImportSourceError("--delimiter takes one character, or tab.")
    return CsvSource(Path(path), columns=columns, delimiter=delimiter)


def open_jsonl(path: str, *, columns: Mapping[str, str]) -> JsonLinesSource:
    """Return the source that reads the file `path`; a column may be `metadata.user`, of an object in the row."""
    return JsonLinesSource(Path(path), columns=columns)


def _lines(file: TextIO) -> Iterator[str]:
    """Yield each line; of one that is too long its beginning, which says so."""
    while line := file.readline(MAX_ROW + 1):
        rest = line
        while len(rest) > MAX_ROW and not rest.endswith("\n"):
            rest = file.readline(MAX_ROW + 1)
        yield line


def _delimiter_of(file: TextIO) -> str:
    """Return what stands between cells, by how the file begins, which is read again then."""
    try:
        sample = file.read(_SAMPLE)
        file.seek(0)
        return csv.Sniffer().sniff(sample.partition("\n")[0] or sample, DELIMITERS).delimiter
    except csv.Error:
        return ","


def _cells(reader: Any) -> Iterator[list[str] | UnreadableRowError]:
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error:  # not chained: nobody knows what it quotes
            yield UnreadableRowError("The row is no CSV.")


def _places(header: Sequence[str], columns: Mapping[str, str]) -> dict[str, int]:
    """Return where each field is: as mapped, else in the column of its name."""
    named = {name.strip(): place for place, name in reversed(list(enumerate(header)))}
    if missing := [field for field, column in columns.items() if column not in named]:
        raise ImportSourceError(
            f"The file has no column of the name that --map gives for {', '.join(sorted(missing))}."
        )
    same = {name: place for name, place in named.items() if name in FIELDS or name in RECORD_FIELDS}
    places = {**same, **{field: named[column] for field, column in columns.items()}}
    if _TEXTS.isdisjoint(places):
        raise ImportSourceError(
            f"None of the {len(header):,} columns is called text. Say which one has it: --map text=COLUMN."
        )
    return places


def _row(
    cells: list[str] | UnreadableRowError, places: Mapping[str, int], width: int
) -> tuple[str | None, MemoryRecord]:
    if isinstance(cells, UnreadableRowError):
        raise cells
    if len(cells) != width:
        raise UnreadableRowError(f"The row has {len(cells):,} cells, and the header {width:,}.")
    if not all(map(is_text, cells)):
        raise UnreadableRowError("The row is not UTF-8: convert the file (iconv -t UTF-8).")
    return memory_of({field: cells[place] for field, place in places.items()}, source=CsvSource.name)


def _raw(cells: list[str] | UnreadableRowError) -> bytes | None:
    return None if isinstance(cells, UnreadableRowError) else json.dumps(cells).encode()


def _mapped(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    return {field: _at(row, column) for field, column in columns.items()}


def _at(row: Mapping[str, Any], column: str) -> Any:
    """Return what a row has in a column, or in an object of that name, and so on."""
    if column in row:
        return row[column]
    first, _, rest = column.partition(".")
    inner = row.get(first)
    return _at(inner, rest) if rest and isinstance(inner, dict) else None
