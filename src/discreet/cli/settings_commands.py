"""`discreet settings …`."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.options import AS_JSON, DATABASE

settings_app = typer.Typer(
    name="settings", help="See and change settings of memory in the database, which servers follow while they run."
)


@settings_app.callback(invoke_without_command=True)
def settings(context: typer.Context) -> None:
    """See and change settings of memory in the database, which servers follow while they run."""
    if context.invoked_subcommand is None:
        list_settings()


@settings_app.command("list")
def list_settings(
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Show what holds, and whether the database, the environment or a default says so."""
    from discreet.cli.settings import run_list

    run_list(dsn, as_json=as_json)


@settings_app.command("set")
def set_setting(
    name: Annotated[str, typer.Argument(help="As `discreet settings list` shows it.")],
    value: Annotated[str, typer.Argument(help="As JSON, or a text as it is.")],
    dsn: Annotated[str | None, DATABASE] = None,
) -> None:
    """Set one. Servers follow within five seconds; an embedding model is taken when they start again."""
    from discreet.cli.settings import run_set

    run_set(dsn, name, value)


@settings_app.command("unset")
def unset_setting(
    name: Annotated[str, typer.Argument(help="As `discreet settings list` shows it.")],
    dsn: Annotated[str | None, DATABASE] = None,
) -> None:
    """Give one back to the environment."""
    from discreet.cli.settings import run_unset

    run_unset(dsn, name)


@settings_app.command("history")
def settings_history(
    name: Annotated[str | None, typer.Option(help="Of this setting alone.")] = None,
    limit: Annotated[int, typer.Option(help="Changes at most.", min=1)] = 50,
    before: Annotated[int | None, typer.Option(help="Those before the change of this number.", min=1)] = None,
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON Lines.")] = False,
) -> None:
    """Show who changed what when, newest first."""
    from discreet.cli.settings import run_history

    run_history(dsn, name=name, limit=limit, before=before, as_json=as_json)
