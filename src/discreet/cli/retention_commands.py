"""`discreet retention …`."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.options import AS_JSON, DATABASE

retention_app = typer.Typer(name="retention", help="See how long what is kept, and let go of what was kept so long.")


@retention_app.callback(invoke_without_command=True)
def retention(context: typer.Context) -> None:
    """See how long what is kept, and let go of what was kept so long."""
    if context.invoked_subcommand is None:
        show_retention()


@retention_app.command("show")
def show_retention(
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Show for how long each kind is kept, and whether the database, the environment or a default says so."""
    from discreet.cli.retention import run_show

    run_show(dsn, as_json=as_json)


@retention_app.command("sweep")
def sweep_retention(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would go, and delete nothing.")] = False,
    checkpoint_schema: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="schema= of the checkpointer. Default: where it finds its tables itself."),
    ] = None,
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Delete now what servers and workers delete in the course of the next hours. It may be stopped and run again."""
    from discreet.cli.retention import run_sweep

    run_sweep(dsn, dry_run=dry_run, checkpoint_schema=checkpoint_schema, as_json=as_json)
