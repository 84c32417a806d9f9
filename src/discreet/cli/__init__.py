"""The `discreet` command: one subcommand a module, each imported when it runs."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from discreet.errors import DiscreetError

app = typer.Typer(
    name="discreet",
    help="Long-term memory for LangGraph that keeps what matters and nothing it shouldn't.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


SINCE = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]


audit_app = typer.Typer(
    name="audit", help="Verify the audit trail, read it, and keep its seals elsewhere.", no_args_is_help=True
)
app.add_typer(audit_app)

WHOSE = typer.Option(help="Of this person alone: the user_id that your application gives.", metavar="USER")
WHOSE_KEY = typer.Option(help="Of this person alone: their key, as the trail has it.", metavar="UUID")
IS_SUBJECT = typer.Option("--subject", help="USER is a caller of a server, as their tokens or API keys name them.")
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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Seal the trail as it is now and keep the seal elsewhere. Default: where the settings say."""
    from discreet.cli.audit import run_anchor

    run_anchor(dsn, file=file, url=url, as_json=as_json)


@app.command()
def chat(
    user: Annotated[str | None, typer.Option(help="Whose memories to use. Default: your login name.")] = None,
    thread: Annotated[str | None, typer.Option(help="Continue this conversation. Default: a new one.")] = None,
    model: Annotated[str | None, typer.Option(help="Chat model as provider:model, or offline.")] = None,
) -> None:
    """Talk to the assistant; see what it recalls and what it stores."""
    from discreet.cli.chat import run_chat

    run_chat(user=user, thread=thread, model=model)


@app.command()
def demo() -> None:
    """Run two conversations of one user, then show what the database holds. Exit code 1 if a planted value leaked."""
    from discreet.cli.demo import run_demo

    raise typer.Exit(run_demo())


@app.command()
def dev(
    port: Annotated[
        int | None, typer.Option(help="Port on 127.0.0.1. Default: the first free one from 2024 on.", min=1, max=65535)
    ] = None,
    token_for: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SUBJECT", help="Print a token for SUBJECT; may be given for several. Default: developer."
        ),
    ] = None,
) -> None:
    """Start the embedded database and `langgraph dev`, without any outbound call."""
    from discreet.cli.dev import run_dev

    raise typer.Exit(run_dev(port=port, subjects=token_for or ()))


@app.command()
def doctor(
    dsn: Annotated[str | None, typer.Option(help="Default: DISCREET_POSTGRES_DSN, else the embedded server.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check the settings and what they name. Nothing is changed. Exit code 1 if something is wrong."""
    from discreet.cli.doctor import run_doctor

    raise typer.Exit(run_doctor(dsn, as_json=as_json))


@app.command()
def erase(
    *,
    user: Annotated[str | None, typer.Option(help="Whose: the user_id that your application gives.")] = None,
    subject: Annotated[bool, IS_SUBJECT] = False,
    recent: Annotated[bool, typer.Option("--recent", help="Only what is of the last days.")] = False,
    days: Annotated[float, typer.Option(help="With --recent: how many.", min=0)] = 7,
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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Erase all that is kept of a user, or a part of it, and print a signed receipt. Exit code 1 if nobody said yes."""
    from discreet.cli.erase import run_erase

    code = run_erase(
        dsn,
        user,
        subject=subject,
        recent_days=days if recent else None,
        thread=thread,
        memory=memory,
        said="" if in_depth and said is None else said,
        namespaces=namespace or (),
        checkpoint_schema=checkpoint_schema,
        dry_run=dry_run,
        yes=yes,
        receipt_file=receipt,
        as_json=as_json,
    )
    raise typer.Exit(code)


@app.command("verify-erasure")
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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a receipt, and search all tables, Redis, files and logs for what should be gone. Exit code 1 if something is left."""
    from discreet.cli.erase import run_verify_erasure

    code = run_verify_erasure(
        dsn, receipt, user=user, subject=subject, canaries=canary or (), files=log or (), as_json=as_json
    )
    raise typer.Exit(code)


@app.command()
def moments(
    delete: Annotated[UUID | None, typer.Option(metavar="ENTRY_ID", help="Delete this one.")] = None,
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List important moments that stay of people who were erased, without anything that says whose they were."""
    from discreet.cli.erase import run_moments

    raise typer.Exit(run_moments(dsn, delete=delete, as_json=as_json))


@app.command()
def export(
    *,
    user: Annotated[str, typer.Argument(help="Whose: the user_id that your application gives.", metavar="USER")],
    subject: Annotated[
        bool, typer.Option("--subject", help="USER is a caller of a server, as their tokens or API keys name them.")
    ] = False,
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
    dsn: Annotated[str | None, typer.Option(help="Default: DISCREET_POSTGRES_DSN, else the embedded server.")] = None,
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


@app.command()
def extract(
    *,
    user: Annotated[str, typer.Option(help="Whose conversations: the user_id that your application gives.")],
    since: Annotated[
        datetime | None, typer.Option(help="Only turns from this day or time on (UTC).", formats=SINCE)
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Also what was extracted before.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be saved, and store nothing.")] = False,
    model: Annotated[
        str | None, typer.Option(help="Chat model as provider:model, or offline. Default: as the settings say.")
    ] = None,
    dsn: Annotated[str | None, typer.Option(help="Default: DISCREET_POSTGRES_DSN, else the embedded server.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Extract facts from a user's conversations now. Exit code 1 if a prompt got no answer."""
    from discreet.cli.extract import run_extract

    code = run_extract(dsn, user, since=since, again=again, dry_run=dry_run, model=model, as_json=as_json)
    raise typer.Exit(code)


@app.command()
def key(
    placeholder: Annotated[bool, typer.Option("--placeholder", help="For DISCREET_PLACEHOLDER_KEY instead.")] = False,
    identity: Annotated[bool, typer.Option("--identity", help="For DISCREET_IDENTITY_KEY instead.")] = False,
    api: Annotated[
        str | None,
        typer.Option(
            metavar="SUBJECT", help="An API key for SUBJECT instead, and below it its entry of DISCREET_API_KEYS."
        ),
    ] = None,
) -> None:
    """Make a key for DISCREET_ENCRYPTION_KEYS and print it."""
    if sum((placeholder, identity, api is not None)) > 1:
        raise typer.BadParameter("Make one key at a time: --placeholder, --identity or --api.")
    from discreet.cli.key import run_key

    run_key(placeholder=placeholder, identity=identity, api=api)


@app.command()
def migrate(
    dsn: Annotated[str | None, typer.Argument(help="Default: DISCREET_POSTGRES_DSN, else the embedded server.")] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Change nothing; say what is missing. Exit code 1 if something is, 2 if this version can't bring it.",
        ),
    ] = False,
    checkpoint_schema: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="schema= of the checkpointer. Default: where it finds its tables itself."),
    ] = None,
    spread: Annotated[
        bool,
        typer.Option("--distribute", help="Spread the tables over the nodes of a Citus cluster; DSN: its coordinator."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Bring all tables up to date: those of memory, LangGraph's, and the checkpointer's."""
    from discreet.cli.migrate import run_check, run_migrate

    if check:
        code = run_check(dsn, checkpoint_schema=checkpoint_schema, spread=spread, as_json=as_json)
        raise typer.Exit(code)
    run_migrate(dsn, checkpoint_schema=checkpoint_schema, spread=spread, as_json=as_json)


@app.command()
def redact(
    files: Annotated[list[str] | None, typer.Argument(help="Default, and -: standard input.", metavar="FILE")] = None,
    jsonl: Annotated[bool, typer.Option(help="Take JSON Lines and redact all strings of each line.")] = False,
    explain: Annotated[
        bool, typer.Option(help="Print where what was found, instead of the text. Values are never printed.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --explain: print JSON Lines.")] = False,
) -> None:
    """Put placeholders for personal data and secrets in text."""
    if as_json and not explain:
        raise typer.BadParameter("--json goes with --explain. For JSON as input say --jsonl.")
    if explain:
        from discreet.cli.explain import run_explain

        run_explain(files or [], jsonl=jsonl, as_json=as_json)
    elif jsonl:
        from discreet.cli.json_lines import run_redact_lines

        run_redact_lines(files or [])
    else:
        from discreet.cli.redact import run_redact

        run_redact(files or [])


@app.command()
def reembed(
    dsn: Annotated[str | None, typer.Option(help="Default: DISCREET_POSTGRES_DSN, else the embedded server.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    reindex: Annotated[bool, typer.Option("--reindex", help="Rebuild the search index afterwards.")] = False,
) -> None:
    """Embed all memories by the embedding model of the settings. Exit code 1 if some are left."""
    from discreet.cli.reembed import run_reembed

    raise typer.Exit(run_reembed(dsn, as_json=as_json, reindex=reindex))


@app.command()
def rekey(
    dsn: Annotated[str | None, typer.Option(help="Default: DISCREET_POSTGRES_DSN, else the embedded server.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what is under which key, and move nothing.")
    ] = False,
    reindex: Annotated[bool, typer.Option("--reindex", help="Rebuild the search index afterwards.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Seal what is plain and move what is sealed to the newest key. Exit code 1 if something is lost or left."""
    from discreet.cli.rekey import run_rekey

    raise typer.Exit(run_rekey(dsn, dry_run=dry_run, as_json=as_json, reindex=reindex))


@app.command()
def roles(
    apply: Annotated[bool, typer.Option("--apply/--print", help="Run the SQL, or show it and change nothing.")] = False,
    prefix: Annotated[
        str, typer.Option(help="What the roles' names begin with: they belong to the whole server.")
    ] = "discreet",
    dsn: Annotated[
        str | None, typer.Option(help="Default: DISCREET_POSTGRES_OWNER_DSN, else DISCREET_POSTGRES_DSN.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Have the database keep users apart: roles with no more rights than they need, and row-level security."""
    from discreet.cli.roles import run_roles

    run_roles(dsn, prefix=prefix, apply=apply, as_json=as_json)


retention_app = typer.Typer(name="retention", help="See how long what is kept, and let go of what was kept so long.")
app.add_typer(retention_app)


@retention_app.callback(invoke_without_command=True)
def retention(context: typer.Context) -> None:
    """See how long what is kept, and let go of what was kept so long."""
    if context.invoked_subcommand is None:
        show_retention()


@retention_app.command("show")
def show_retention(
    dsn: Annotated[str | None, typer.Option(help="Default: DISCREET_POSTGRES_DSN, else the embedded server.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
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
    dsn: Annotated[str | None, typer.Option(help="Default: DISCREET_POSTGRES_DSN, else the embedded server.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Delete now what servers and workers delete in the course of the next hours. It may be stopped and run again."""
    from discreet.cli.retention import run_sweep

    run_sweep(dsn, dry_run=dry_run, checkpoint_schema=checkpoint_schema, as_json=as_json)


settings_app = typer.Typer(
    name="settings", help="See and change settings of memory in the database, which servers follow while they run."
)
app.add_typer(settings_app)

DATABASE = typer.Option(help="Default: DISCREET_POSTGRES_DSN, else the embedded server.")


@settings_app.callback(invoke_without_command=True)
def settings(context: typer.Context) -> None:
    """See and change settings of memory in the database, which servers follow while they run."""
    if context.invoked_subcommand is None:
        list_settings()


@settings_app.command("list")
def list_settings(
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
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


@app.command()
def status(
    dsn: Annotated[str | None, typer.Option(help="Default: DISCREET_POSTGRES_DSN, else the embedded server.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what background memory has to do: sessions that are due, batches, workers, proposals."""
    from discreet.cli.status import run_status

    run_status(dsn, as_json=as_json)


@app.command()
def token(
    subject: Annotated[str, typer.Argument(help="Who the token names: a user id of your choice.")],
    admin: Annotated[bool, typer.Option("--admin", help="May change settings and see the admin page.")] = False,
    days: Annotated[float, typer.Option(help="How long it is good.", min=0)] = 30,
) -> None:
    """Print a token for `discreet dev` in this folder, or for servers with this DISCREET_JWT_SECRET."""
    from discreet.cli.token import run_token

    run_token(subject, admin=admin, days=days)


@app.command()
def upgrade(
    to: Annotated[
        int | None, typer.Option(metavar="VERSION", help="Major version. Default: DISCREET_POSTGRES_VERSION, else 18.")
    ] = None,
) -> None:
    """Take the embedded server's data along to its next major version; the old data stays as a backup."""
    from discreet.cli.upgrade import run_upgrade

    run_upgrade(to)


@app.command()
def worker(
    once: Annotated[bool, typer.Option("--once", help="Do what can be done now, then end.")] = False,
    dsn: Annotated[str | None, typer.Option(help="Default: DISCREET_POSTGRES_DSN, else the embedded server.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --once: print JSON.")] = False,
) -> None:
    """Extract facts and summarise sessions in the background. Any number may run; Ctrl-C or SIGTERM stops one.

    With --once: exit code 1 if a provider failed.
    """
    if as_json and not once:
        raise typer.BadParameter("--json goes with --once.")
    from discreet.cli.worker import run_worker

    raise typer.Exit(run_worker(dsn, once=once, as_json=as_json))


def main() -> None:
    """Run the command; a typed error becomes one line and exit code 2."""
    try:
        app()
    except DiscreetError as error:
        print(f"discreet: {error}", file=sys.stderr)
        sys.exit(2)
