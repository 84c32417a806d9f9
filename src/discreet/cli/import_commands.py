"""`discreet import`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import AS_JSON, DATABASE

OF_SOURCE = "Options of some kinds"


class Kind(StrEnum):
    """What can be imported."""

    export = "export"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"
    store = "store"
    langmem = "langmem"
    mem0 = "mem0"
    agents_sdk = "agents-sdk"
    redis = "redis"


def import_(
    *,
    kind: Annotated[Kind, typer.Argument(help="What it is.", show_default=False)],
    location: Annotated[
        str,
        typer.Argument(metavar="FROM", help="A file, a folder of `discreet export`, or a DSN.", show_default=False),
    ],
    user: Annotated[
        str | None,
        typer.Option(help="Whose the rows are that name nobody: the user_id that your application gives."),
    ] = None,
    subject: Annotated[
        bool, typer.Option("--subject", help="Users are callers of a server, as tokens name them.")
    ] = False,
    app_name: Annotated[
        str | None, typer.Option("--app", help="The application of all rows. Default: as they say, else default.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read everything, count, and store nothing.")] = False,
    sample: Annotated[
        int, typer.Option(min=0, max=1000, help="With --dry-run: show so many rows as they would be stored, redacted.")
    ] = 0,
    bad_rows: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="For rows that can't be taken, if there are any. Default: bad-rows/<…>.jsonl in the data folder.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where this import was broken off, if it was.")
    ] = False,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FIELD=COLUMN,…",
            help="csv, jsonl: fields whose columns have other names, such as text=memory,user_id=uid,created_at=when.",
            rich_help_panel=OF_SOURCE,
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(help="csv: what stands between cells. Default: found out.", rich_help_panel=OF_SOURCE),
    ] = None,
    user_from: Annotated[
        str | None,
        typer.Option(
            metavar="TEMPLATE",
            help="store, langmem, agents-sdk: where the user is in a namespace or a session's id, such as memories.{user_id}.*",
            rich_help_panel=OF_SOURCE,
        ),
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="store, langmem, mem0, agents-sdk: name of the table.", rich_help_panel=OF_SOURCE)
    ] = None,
    schema: Annotated[
        str | None, typer.Option(help="Of a PostgreSQL source: schema of its tables.", rich_help_panel=OF_SOURCE)
    ] = None,
    thread: Annotated[
        str | None,
        typer.Option(help="redis: the conversation that a user's turns are put in.", rich_help_panel=OF_SOURCE),
    ] = None,
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Import memories and conversations from elsewhere, redacted. Exit code 1 if some rows could not be taken."""
    if sample and not dry_run:
        raise typer.BadParameter("--sample goes with --dry-run.")
    if resume and dry_run:
        raise typer.BadParameter("--resume and --dry-run don't go together: a dry run reads everything.")
    from discreet.cli.importing import Asked, run_import

    asked = Asked(
        kind=kind.value,
        location=location,
        user=user,
        subject=subject,
        app_name=app_name,
        dry_run=dry_run,
        sample=sample,
        bad_rows=bad_rows,
        resume=resume,
        columns=columns or (),
        options={
            name: value
            for name, value in (
                ("delimiter", delimiter),
                ("user_from", user_from),
                ("table", table),
                ("schema", schema),
                ("thread_id", thread),
            )
            if value is not None
        },
        dsn=dsn,
        as_json=as_json,
    )
    raise typer.Exit(run_import(asked))
