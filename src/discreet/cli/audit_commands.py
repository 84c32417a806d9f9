"""`discreet audit …`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from discreet.cli.options import AS_JSON, IS_SUBJECT, SINCE

audit_app = typer.Typer(
    name="audit", help="Verify the audit trail, read it, and keep its seals elsewhere.", no_args_is_help=True
)

WHOSE = typer.Option(help="Of this person alone: the user_id that your application gives.")
WHOSE_KEY = typer.Option(help="Of this person alone: their key, as the trail has it.", metavar="UUID")
TRAIL_DSN = typer.Option(
    help="Default: DISCREET_POSTGRES_WORKER_DSN, else DISCREET_POSTGRES_DSN, else the embedded server."
)


@audit_app.command("verify")
def verify_audit(
    *,
    user: Annotated[str | None, WHOSE] = None,
    user_key: Annotated[UUID | None, WHOSE_KEY] = None,
    subject: Annotated[bool, IS_SUBJECT] = False,
    anchor: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Seals that were kept elsewhere must be there; may be given for several files."
        ),
    ] = None,
    dsn: Annotated[str | None, TRAIL_DSN] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Find what was changed, removed, put there or moved. Exit code 1 if something was."""
    from discreet.cli.audit import run_verify

    code = run_verify(dsn, user=user, user_key=user_key, subject=subject, anchors=anchor or (), as_json=as_json)
    raise typer.Exit(code)


@audit_app.command("export")
def export_audit(
    *,
    user: Annotated[str | None, WHOSE] = None,
    user_key: Annotated[UUID | None, WHOSE_KEY] = None,
    subject: Annotated[bool, IS_SUBJECT] = False,
    since: Annotated[datetime | None, typer.Option(help="From this day or time on (UTC).", formats=SINCE)] = None,
    until: Annotated[datetime | None, typer.Option(help="Before this day or time (UTC).", formats=SINCE)] = None,
    dsn: Annotated[str | None, TRAIL_DSN] = None,
) -> None:
    """Print entries as JSON Lines: who did what to whose data, when, by which request."""
    from discreet.cli.audit import run_export

    run_export(dsn, user=user, user_key=user_key, subject=subject, since=since, until=until)


@audit_app.command("anchor")
def anchor_audit(
    file: Annotated[Path | None, typer.Option(help="Add a line to this file.")] = None,
    url: Annotated[str | None, typer.Option(help="Post it as JSON to this address.")] = None,
    dsn: Annotated[str | None, TRAIL_DSN] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Seal the trail as it is now and keep the seal elsewhere. Default: where the settings say."""
    from discreet.cli.audit import run_anchor

    run_anchor(dsn, file=file, url=url, as_json=as_json)
