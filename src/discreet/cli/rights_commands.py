"""Commands about what is kept of one user."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from discreet.cli.options import AS_JSON, DATABASE, IS_SUBJECT


def erase(
    *,
    user: Annotated[str | None, typer.Option(help="Whose: the user_id that your application gives.")] = None,
    subject: Annotated[bool, IS_SUBJECT] = False,
    recent: Annotated[bool, typer.Option("--recent", help="Only what is of the last days.")] = False,
    days: Annotated[float | None, typer.Option(help="With --recent: how many. Default: 7.")] = None,
    thread: Annotated[
        str | None, typer.Option(help="Only this thread and what came of it; without --user one that names no user.")
    ] = None,
    memory: Annotated[UUID | None, typer.Option(help="Only this memory and what tells it.")] = None,
    said: Annotated[
        str | None,
        typer.Option(help="Only what tells this, with the turns that it was said in; - reads standard input."),
    ] = None,
    in_depth: Annotated[
        bool, typer.Option("--in-depth", help="With --memory: the turns that it was said in, too.")
    ] = False,
    namespace: Annotated[
        list[str] | None,
        typer.Option(metavar="LABELS", help="Of the store, theirs with all below: labels with periods; several times."),
    ] = None,
    checkpoint_schema: Annotated[str | None, typer.Option(metavar="NAME", help="schema= of the checkpointer.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count, by place and kind.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    receipt: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the receipt goes.")] = None,
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Erase all that is kept of a user, or a part of it, and print a signed receipt. Exit code 1 if nobody said yes."""
    if days is not None and not recent:
        raise typer.BadParameter("--days goes with --recent.")
    if in_depth and (memory is None or said is not None):
        raise typer.BadParameter("--in-depth goes with --memory.")
    if receipt is not None and not os.access(receipt.parent, os.W_OK):
        raise typer.BadParameter(f"{receipt.parent} is no folder that can be written to. Nothing was erased.")
    from discreet.cli.erase import run_erase

    code = run_erase(
        dsn,
        user,
        subject=subject,
        recent=recent,
        days=days,
        thread=thread,
        memory=memory,
        said="" if in_depth else said,
        namespaces=namespace or (),
        checkpoint_schema=checkpoint_schema,
        dry_run=dry_run,
        yes=yes,
        receipt_file=receipt,
        as_json=as_json,
    )
    raise typer.Exit(code)


def verify_erasure(
    receipt: Annotated[Path, typer.Argument(help="As `discreet erase` or the API returned it.")],
    *,
    user: Annotated[str | None, typer.Option(help="Whose it was, to look for their keys in Redis too.")] = None,
    subject: Annotated[bool, IS_SUBJECT] = False,
    canary: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="A word that only they said; several times.")
    ] = None,
    log: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A log, or a folder to be looked through; several times.")
    ] = None,
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Check a receipt, and search all tables, Redis, files and logs for what should be gone. Exit code 1 if something is left."""
    if not all(word.strip() for word in canary or ()):
        raise typer.BadParameter("--canary is a word: an empty one is everywhere.")
    from discreet.cli.erase import run_verify_erasure

    code = run_verify_erasure(
        dsn, receipt, user=user, subject=subject, canaries=canary or (), files=log or (), as_json=as_json
    )
    raise typer.Exit(code)


def moments(
    delete: Annotated[UUID | None, typer.Option(metavar="ENTRY_ID", help="Delete this one.")] = None,
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """List important moments that stay of people who were erased, without anything that says whose they were."""
    from discreet.cli.erase import run_moments

    raise typer.Exit(run_moments(dsn, delete=delete, as_json=as_json))


def export(
    *,
    user: Annotated[str, typer.Option(help="Whose: the user_id that your application gives.")],
    subject: Annotated[bool, IS_SUBJECT] = False,
    out: Annotated[
        str | None,
        typer.Option(metavar="DIR|-", help="A new folder, or - for one stream. Default: discreet-export-<pseudonym>."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an export into DIR was broken off.")] = False,
    namespace: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A.B", help="Items of the store below this namespace are theirs too; may be given for several."
        ),
    ] = None,
    checkpoint_schema: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="schema= of the checkpointer. Default: where it finds its tables itself."),
    ] = None,
    vectors: Annotated[bool, typer.Option("--vectors", help="With the vectors of memories.")] = False,
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> None:
    """Export everything that is kept of a user, as JSON lines. Exit code 1 if something of it can't be read."""
    if out == "-" and (resume or as_json):
        raise typer.BadParameter("--resume and --json go with a folder. A stream ends with its manifest.")
    from discreet.cli.export import run_export

    code = run_export(
        dsn,
        user,
        subject=subject,
        out=out,
        resume=resume,
        namespaces=namespace or (),
        checkpoint_schema=checkpoint_schema,
        vectors=vectors,
        as_json=as_json,
    )
    raise typer.Exit(code)
