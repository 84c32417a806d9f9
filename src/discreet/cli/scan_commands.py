"""Commands about a database that is there already: what it holds, and how to take that out of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import AS_JSON

WHERE = typer.Argument(
    metavar="DSN|FILE",
    help="postgresql://…, a SQLite file of a saver, or a folder .langgraph_api. Default: DISCREET_POSTGRES_DSN, else the embedded server.",
)
TABLES = typer.Option("--table", metavar="NAME", help="Only this table; several times.")
ALL = typer.Option("--all-tables", help="Also tables that seem to have nothing to do with agents.")
RESUME = typer.Option("--resume", help="Go on where the same command was broken off.")


def scan(
    where: Annotated[str | None, WHERE] = None,
    *,
    sample: Annotated[
        str, typer.Option(metavar="PART", help="Look at a part of the threads only: 5%, or 0.05.")
    ] = "100%",
    table: Annotated[list[str] | None, TABLES] = None,
    all_tables: Annotated[bool, ALL] = False,
    resume: Annotated[bool, RESUME] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as one HTML page, too.")] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            help='Exit code 1 if this is there: a type such as SECRET, a kind of thing such as "tool results", any, or unreadable; several times.',
        ),
    ] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Say what a LangGraph database holds: types, counts and sizes, and no value. Nothing is changed."""
    from discreet.cli.scan import part_of, run_scan

    code = run_scan(
        where,
        sample=part_of(sample),
        only=tuple(table or ()),
        every=all_tables,
        resume=resume,
        html=html,
        fail_on=[each for given in fail_on or () for each in given.split(",")],
        as_json=as_json,
    )
    raise typer.Exit(code)


def scrub(
    where: Annotated[str | None, WHERE] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask: there is a backup.")] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Keep the newest state of each thread only.")] = False,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:NAME",
            help="A CheckpointPolicy: channels that it doesn't name go. Default: all stay, redacted.",
        ),
    ] = None,
    table: Annotated[list[str] | None, TABLES] = None,
    all_tables: Annotated[bool, ALL] = False,
    resume: Annotated[bool, RESUME] = False,
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where each change is noted, by digests. Default: in the data folder."),
    ] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Rewrite a LangGraph database so that it holds no more than Discreet would have stored. Exit code 1 if something is left."""
    from discreet.cli.scrub import run_scrub

    code = run_scrub(
        where,
        dry_run=dry_run,
        yes=yes,
        prune=prune,
        policy=policy,
        only=tuple(table or ()),
        every=all_tables,
        resume=resume,
        log_file=log,
        as_json=as_json,
    )
    raise typer.Exit(code)
