"""An export as a folder: one file a kind and a manifest. One that was broken off goes on where its files end."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO, Final
from uuid import UUID

from pydantic import BaseModel, ValidationError

from discreet.errors import ExportError
from discreet.private_files import replace_private
from discreet.rights.exporting.exporter import Export, Mark, Page
from discreet.rights.exporting.format import KINDS, Manifest, Part, Sum, file_of

MANIFEST: Final = "manifest.json"
PROGRESS: Final = "progress.json"
"""How far an export is: there until it is finished."""

PIECE = 1_000_000
"""Bytes of a file that are read at a time."""

Told = Callable[[Mapping[str, int]], None]
"""Hears how many rows of each kind there are so far."""


class Progress(BaseModel):
    """How far the files of an export are, written after each page."""

    user: UUID
    vectors: bool
    namespaces: list[list[str]]
    made_at: datetime
    epoch: int | None
    mark: str
    """After which the next page begins."""
    sizes: dict[str, int]
    """Bytes of each file; what is beyond them came in the last moment, and comes again."""
    rows: dict[str, int]
    unreadable: dict[str, int]


async def export_to_folder(
    folder: str | os.PathLike[str], export: Export, *, resume: bool = False, told: Told = lambda _: None
) -> Manifest:
    """Write an export into `folder`, which is made if need be, for this user of the machine alone; return its manifest.

    With `resume` one that was broken off goes on, if there is one.

    Raises:
        ExportError: The folder holds something else, another user's export, or one that is finished.
        StorageError: The database failed; the export may be resumed.
    """
    folder = Path(folder)
    progress = _begun(folder, export, await export.epoch(), resume=resume)
    files = _Files(folder, progress)
    rest = replace(
        export,
        begins=Mark.of(progress.mark),
        made_at=progress.made_at,
        rows=Counter(progress.rows),
        unreadable=Counter(progress.unreadable),
    )
    async with aclosing(rest.pages()) as pages:
        async for page in pages:
            files.write(page, rest)
            told(rest.rows)
    return files.finish(export, erased_meanwhile=await export.epoch() != progress.epoch)


def _begun(folder: Path, export: Export, epoch: int | None, *, resume: bool) -> Progress:
    """Return how far the export in a folder is, after it was made ready to go on.

    Raises:
        ExportError: It can't.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    reading = export.reading
    asked = {"user": export.user, "vectors": reading.vectors, "namespaces": [*map(list, reading.namespaces)]}
    there = {path.name for path in folder.iterdir()}
    if MANIFEST in there:
        raise ExportError(f"{folder} holds a finished export. Name another folder.")
    if PROGRESS in there and resume:
        try:
            found = Progress.model_validate_json((folder / PROGRESS).read_bytes())
        except ValidationError:
            raise ExportError(f"{folder / PROGRESS} can't be read. Name another folder.") from None
        if found.model_dump(include=set(asked)) != asked:
            raise ExportError(f"The export in {folder} is another user's, or was begun with other options.")
        return found
    if PROGRESS in there:
        raise ExportError(
            f"{folder} holds an export that is not finished. Go on with --resume, or name another folder."
        )
    if there - {file_of(kind) for kind in KINDS}:
        raise ExportError(f"{folder} holds other files. Name another folder.")
    return Progress(
        **asked,
        made_at=export.made_at,
        epoch=epoch,
        mark=export.begins.token,
        sizes=dict.fromkeys(KINDS, 0),
        rows={},
        unreadable={},
    )


class _Files:
    """The files, which this process alone writes."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        """Cut off what a process that was killed has written since its last mark.

        Raises:
            ExportError: A file has less than it had then.
        """
        self._folder = folder
        self._progress = progress
        for kind, size in progress.sizes.items():
            with self._open(kind, os.O_WRONLY | os.O_CREAT) as file:
                if os.fstat(file.fileno()).st_size < size:
                    raise ExportError(f"{folder / file_of(kind)} was cut off. Name another folder.")
                file.truncate(size)
        self._replace(PROGRESS, progress)

    def write(self, page: Page, export: Export) -> None:
        """Add a page, and then the mark after it."""
        for kind, records in groupby(page.encoded(), itemgetter(0)):
            lines = b"".join(data + b"\n" for _, data in records)
            with self._open(kind, os.O_WRONLY | os.O_APPEND) as file:
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
            self._progress.sizes[kind] += len(lines)
        self._progress.rows, self._progress.unreadable = dict(export.rows), dict(export.unreadable)
        if page.after is not None:
            self._progress.mark = page.after.token
            if page.records:
                self._replace(PROGRESS, self._progress)

    def finish(self, export: Export, *, erased_meanwhile: bool) -> Manifest:
        """Write the manifest, and return it."""
        progress = self._progress
        manifest = Manifest(
            user=export.user,
            made_at=progress.made_at,
            finished_at=datetime.now(UTC),
            vectors=progress.vectors,
            parts=[part_of(self._folder, kind) for kind in KINDS],
            unreadable=progress.unreadable,
            erased_meanwhile=erased_meanwhile,
        )
        self._replace(MANIFEST, manifest)
        (self._folder / PROGRESS).unlink()
        return manifest

    def _open(self, kind: str, flags: int) -> BinaryIO:
        """Open a file for this user of the machine alone. As it has a number, nothing is cut off by that."""
        return os.fdopen(os.open(self._folder / file_of(kind), flags, 0o600), "wb")

    def _replace(self, name: str, said: BaseModel) -> None:
        """Put a file in the place of the one before, as a whole."""
        replace_private(self._folder / name, said.model_dump_json(indent=2).encode() + b"\n")


def part_of(folder: Path, kind: str) -> Part:
    """Return what the file of a kind has.

    Raises:
        OSError: It can't be read.
    """
    passed = Sum()
    with (folder / file_of(kind)).open("rb") as file:
        while piece := file.read(PIECE):
            passed.add(piece)
    return passed.part(kind)
