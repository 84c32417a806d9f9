"""Read an export back: its records, typed, once all checksums are found right."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError

from discreet.errors import ExportError
from discreet.rights.exporting.folder import MANIFEST as MANIFEST_FILE
from discreet.rights.exporting.folder import part_of
from discreet.rights.exporting.format import KINDS, VERSION, ExportRecord, Header, Manifest, MarkLine, Sum, file_of
from discreet.rights.exporting.stream import ERROR, HEADER, MANIFEST, MARK

R = TypeVar("R", bound=BaseModel)

_LINE: Final = re.compile(rb'\{"kind":"([a-z_]+)","data":(.*)\}\n')
_HEADER: Final = b'{"kind":"%s","data":' % HEADER.encode()

Range = tuple[int, int]
"""Where in a file lines of records are: from the first to after the last."""


def read_manifest(path: str | os.PathLike[str]) -> Manifest:
    """Return the manifest of an export: of a folder, or of a stream in a file, which is checked.

    Raises:
        ExportError: As `read_export`.
    """
    path = Path(path)
    with _reading(path):
        return _manifest_of_folder(path) if path.is_dir() else _checked(path)[0]


def read_export(path: str | os.PathLike[str]) -> Iterator[ExportRecord]:
    """Yield the records of an export: of a folder, or of a stream in a file.

    All of it is checked first, and nothing is yielded of what is not whole. A stream may be in several parts, one written after the
    other, each of which goes on after the last mark of the one before.

    Raises:
        ExportError: It is not there, can't be read, is not finished, was changed, is no export, or of a newer version.

    Example:
        >>> from discreet.rights.exporting.format import MemoryRow
        >>> def texts(path: Path) -> list[str]:
        ...     return [record.text for record in read_export(path) if isinstance(record, MemoryRow)]
    """
    path = Path(path)
    with _reading(path):
        yield from _of_folder(path) if path.is_dir() else _of_stream(path)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Have what can't be read told as an `ExportError`."""
    try:
        yield
    except OSError as error:
        raise ExportError(f"{path} can't be read ({type(error).__name__}).") from None


def _of_stream(path: Path) -> Iterator[ExportRecord]:
    _, ranges = _checked(path)
    with path.open("rb") as file:
        for begin, end in ranges:
            for kind, data in _lines(file, begin, end):
                if kind in KINDS:
                    yield _parsed(KINDS[kind], data, path.name)


def _manifest_of_folder(folder: Path) -> Manifest:
    try:
        content = (folder / MANIFEST_FILE).read_bytes()
    except OSError:
        raise ExportError(
            f"{folder} has no {MANIFEST_FILE}: the export is not finished. Go on with --resume."
        ) from None
    manifest = _parsed(Manifest, content, MANIFEST_FILE)
    if sorted(part.kind for part in manifest.parts) != sorted(KINDS):
        raise ExportError(
            f"{folder / MANIFEST_FILE} does not name every kind of version {VERSION} once: it was changed."
        )
    return manifest


def _of_folder(folder: Path) -> Iterator[ExportRecord]:
    parts = _manifest_of_folder(folder).parts
    for part in parts:
        where = folder / file_of(part.kind)
        try:
            there = part_of(folder, part.kind)
        except OSError:
            raise ExportError(f"{where} is missing.") from None
        if there != part:
            raise ExportError(f"{where} is not what was exported: it was changed, or cut off.")
    for part in parts:
        with (folder / file_of(part.kind)).open("rb") as file:
            for line in file:
                yield _parsed(KINDS[part.kind], line, file_of(part.kind))


class _Stretch:
    """What a stream has from one header on."""

    def __init__(self, begin: int, header: Header, line: bytes) -> None:
        self.begin = begin
        self.user: UUID = header.user
        self._sums = {kind: Sum() for kind in KINDS}
        self._passed = sha256(line)
        self.mark: str | None = None
        self.mark_end = begin
        self.is_broken = False
        """Whether a line was met that was not whole: then only another header may follow."""

    def add(self, line: bytes, kind: str, data: bytes) -> None:
        self._passed.update(line)
        self._sums[kind].add(data + b"\n")

    def has(self, manifest: Manifest) -> bool:
        """Return whether its records are those that a manifest says."""
        return not self.is_broken and manifest.parts == [each.part(kind) for kind, each in self._sums.items()]

    def take_mark(self, mark: MarkLine, line: bytes, end: int) -> bool:
        """Return whether all up to here is what was sent."""
        right = not self.is_broken and mark.sha256 == self._passed.hexdigest()
        self._passed.update(line)
        self.mark, self.mark_end = mark.after, end
        return right


def _checked(path: Path) -> tuple[Manifest, list[Range]]:
    """Return the manifest of a stream, and where its records are.

    Raises:
        ExportError: As `read_export`.
    """
    ranges: list[Range] = []
    stretch: _Stretch | None = None
    end = 0
    with path.open("rb") as file:
        for whole in file:
            line = _after_a_break(whole)
            begin, end = end + len(whole) - len(line), end + len(whole)
            kind, data = _split(line)
            if kind == HEADER:
                stretch = _next(stretch, _parsed(Header, data, path.name), begin, line, ranges)
            elif stretch is None:
                raise ExportError(f"{path} is no export: it does not begin with a header.")
            elif kind == MARK:
                if not stretch.take_mark(_parsed(MarkLine, data, path.name), line, end):
                    raise ExportError(f"{path} is not what was exported: it was changed before byte {begin:,}.")
            elif kind == MANIFEST:
                manifest = _parsed(Manifest, data, path.name)
                if not stretch.has(manifest) or file.read(1):
                    raise ExportError(f"{path} is not what was exported: its records are not those of its manifest.")
                return manifest, [*ranges, (stretch.begin, begin)]
            elif kind in KINDS:
                stretch.add(line, kind, data)
            else:  # an error that the stream ended with, or half a line
                stretch.is_broken = True
    raise ExportError(f"{path} has no manifest: the export is not finished. Go on after its last mark.")


def _next(before: _Stretch | None, header: Header, begin: int, line: bytes, ranges: list[Range]) -> _Stretch:
    """Return the stretch that a header begins, and note how much of the one before counts."""
    if header.after != (None if before is None else before.mark) or (before and header.user != before.user):
        raise ExportError("A part of the stream does not go on where the one before has its last mark.")
    if before is not None:
        ranges.append((before.begin, before.mark_end))
    return _Stretch(begin, header, line)


def _after_a_break(line: bytes) -> bytes:
    """Return the header that a stream begins with on the line where the one before broke off; else the line."""
    at = line.rfind(_HEADER)
    if at > 0:
        try:
            json.loads(line)
        except ValueError:
            return line[at:]
    return line


def _split(line: bytes) -> tuple[str, bytes]:
    """Return the kind of a line, and its data as JSON; none of what is no line of ours."""
    found = _LINE.fullmatch(line)
    return (found[1].decode(), found[2]) if found else (ERROR, b"")


def _lines(file: BinaryIO, begin: int, end: int) -> Iterator[tuple[str, bytes]]:
    file.seek(begin)
    while begin < end:
        line = file.readline()
        begin += len(line)
        yield _split(line)


def _parsed(model: type[R], content: bytes, where: str) -> R:
    """Return what `content` says, checked.

    Raises:
        ExportError: It is of a newer version, or is none of ours.
    """
    try:
        return model.model_validate_json(content)
    except ValidationError:
        pass
    if _version_of(content) > VERSION:
        raise ExportError(f"{where} is of a newer version of the format than {VERSION}. Update Discreet.")
    raise ExportError(f"{where} has something that is no {model.__name__} of version {VERSION} of the format.")


def _version_of(content: bytes) -> int:
    try:
        said: Any = json.loads(content)
    except ValueError:
        return 0
    version = said.get("version") if isinstance(said, dict) else None
    return version if isinstance(version, int) else 0
