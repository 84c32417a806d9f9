"""`discreet export`: everything that is kept of a user, as a folder of JSON lines or as one stream."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

from rich.console import Console
from rich.table import Table

from discreet.access.actor import acting
from discreet.cli.arguments import labels_of, user_id_of
from discreet.cli.progress import spinner
from discreet.cli.session import operator
from discreet.errors import ExportError
from discreet.rights.exporting import Manifest, begin, export_to_folder, lines
from discreet.settings import load_settings
from discreet.storage import open_storage

STDOUT = "-"


def run_export(
    dsn: str | None,
    user: str,
    *,
    subject: bool,
    out: str | None,
    resume: bool,
    namespaces: Sequence[str],
    checkpoint_schema: str | None,
    vectors: bool,
    as_json: bool,
) -> int:
    """Export and print what there was; return 1 if something could not be read, else 0.

    Raises:
        ExportError: The folder can't be used, or standard output not be written.
        InvalidUserError: `user` can't be used.
        StorageError: The database failed. What was written stays, for --resume.
    """
    settings = load_settings()
    user_id, labels = user_id_of(settings, user, subject=subject), labels_of(namespaces)

    async def export() -> Manifest | None:
        async with open_storage(dsn, settings=settings, maintained=False) as storage:
            begun = begin(storage, user_id, namespaces=labels, checkpoint_schema=checkpoint_schema, vectors=vectors)
            if out == STDOUT:
                async with aclosing(lines(begun)) as stream:
                    async for piece in stream:
                        _write(piece)
                return None
            folder = Path(out or f"discreet-export-{begun.user}")
            try:
                with spinner("Exporting") as show:
                    manifest = await export_to_folder(folder, begun, resume=resume, told=lambda rows: show(_told(rows)))
            except OSError as error:
                raise ExportError(f"{folder} can't be written ({type(error).__name__}).") from None
        if not as_json:
            _print(folder, manifest)
        return manifest

    with acting(operator(settings)):
        manifest = asyncio.run(export())
    if manifest is None:
        return 0
    if as_json:
        print(manifest.model_dump_json())
    return 1 if manifest.unreadable else 0


def _write(piece: bytes) -> None:
    """Write to standard output, at once. Typer ends a command whose reader has gone.

    Raises:
        ExportError: It can't be written.
    """
    try:
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains when it flushes at exit
        raise ExportError(f"Standard output can't be written: {error.strerror}.") from None


def _told(rows: Mapping[str, int]) -> str:
    kind = next(reversed([*rows]), "")
    return f"Exporting {kind.replace('_', ' ')}: {sum(rows.values()):,} rows"


def _print(folder: Path, manifest: Manifest) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("file")
    for name in ("rows", "bytes"):
        table.add_column(name, justify="right")
    for part in manifest.parts:
        if part.rows:
            table.add_row(part.file, f"{part.rows:,}", f"{part.bytes:,}")
    Console(highlight=False).print(table)
    print(f"{sum(part.rows for part in manifest.parts):,} rows in {folder}.")
    if not any(part.rows for part in manifest.parts if part.kind != "audit"):
        print("Nothing is kept of this user but the audit trail. Callers of a server are found with --subject.")
    if manifest.unreadable:
        named = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in sorted(manifest.unreadable.items()))
        print(f"Not readable: {named}. unreadable.jsonl names each; see DISCREET_ENCRYPTION_KEYS.")
    if manifest.erased_meanwhile:
        print("All of this user's was erased while it was exported.")
