"""`discreet migrate-history …`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import AS_JSON, DATABASE

history_app = typer.Typer(
    name="migrate-history",
    help="Move from a conversation history in Redis (V1) to ours while the application runs: docs/coming_from/redis_history.md.",
    no_args_is_help=True,
)

_URL = typer.Argument(
    metavar="REDIS_URL", help="Where V1's history is. Default: DISCREET_REDIS_URL.", show_default=False
)
_USERS = typer.Option(help="Users to compare, drawn by chance.", min=1)
_SEED = typer.Option(help="Draw the same users as with this number before.")
_HOURS = typer.Option(help="Compare what was said in the last hours.", min=0.01)
_PATIENCE = typer.Option(help="Seconds for which what differs is compared again: it may be under way.", min=0)


@history_app.command()
def plan(
    redis_url: Annotated[str | None, _URL] = None,
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Show what there is to move, and the steps. Nothing is changed."""
    from discreet.cli.history import run_plan

    run_plan(dsn, redis_url, as_json=as_json)


@history_app.command("dual-write")
def dual_write(
    redis_url: Annotated[str | None, _URL] = None,
    *,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Go on copying new rounds until Ctrl-C or SIGTERM, if the application can't."),
    ] = False,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Put V1's rounds in the place of those that came from it and differ now."),
    ] = False,
    bad_rows: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A new file for what can't be read, as it is: with its text and its user's key. Default: bad-rows/history.jsonl in the data folder, or history-follow.jsonl, begun anew.",
            show_default=False,
        ),
    ] = None,
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Have DualWriter write ours too, and copy what is in Redis. Run it again as often as you like. Exit code 1 if some can't be read."""
    from discreet.cli.history import run_dual_write

    raise typer.Exit(run_dual_write(dsn, redis_url, follow=follow, repair=repair, bad_rows=bad_rows, as_json=as_json))


@history_app.command()
def validate(
    redis_url: Annotated[str | None, _URL] = None,
    *,
    users: Annotated[int, _USERS] = 100,
    seed: Annotated[int | None, _SEED] = None,
    hours: Annotated[float, _HOURS] = 24,
    patience: Annotated[float, _PATIENCE] = 10,
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Compare Redis and ours for a sample of users. Exit code 1 if something differs."""
    from discreet.cli.history import Sample, run_validate

    sample = Sample(users=users, seed=seed, hours=hours, patience=patience)
    raise typer.Exit(run_validate(dsn, redis_url, sample, as_json=as_json))


@history_app.command()
def switch(
    redis_url: Annotated[str | None, _URL] = None,
    *,
    users: Annotated[int, _USERS] = 100,
    seed: Annotated[int | None, _SEED] = None,
    hours: Annotated[float, _HOURS] = 24,
    patience: Annotated[float, _PATIENCE] = 10,
    force: Annotated[bool, typer.Option("--force", help="Compare nothing before.")] = False,
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Have HistoryReader read ours, if a comparison as `validate` makes it finds no difference. Exit code 1 if it does."""
    from discreet.cli.history import Sample, run_switch

    sample = None if force else Sample(users=users, seed=seed, hours=hours, patience=patience)
    raise typer.Exit(run_switch(dsn, redis_url, sample, as_json=as_json))


@history_app.command()
def rollback(
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Have HistoryReader read V1's history again. Both are written as before."""
    from discreet.cli.history import run_rollback

    run_rollback(dsn, as_json=as_json)


@history_app.command()
def finish(
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Have nothing read from V1's history any more, so that the application may end writing it. There is no way back."""
    from discreet.cli.history import run_finish

    run_finish(dsn, as_json=as_json)
