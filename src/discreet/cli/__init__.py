"""The `discreet` command: one subcommand a module, each imported when it runs."""

from __future__ import annotations

import sys
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import (
    audit_commands,
    history_commands,
    import_commands,
    mcp_commands,
    retention_commands,
    rights_commands,
    scan_commands,
    settings_commands,
)
from discreet.cli.options import AS_JSON, DATABASE, SINCE
from discreet.errors import DiscreetError

app = typer.Typer(
    name="discreet",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"discreet {version('discreet')}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    *,
    shown: Annotated[  # noqa: ARG001  # its callback has done what it asks for
        bool, typer.Option("--version", help="Show the version, and end.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Long-term memory for LangGraph that keeps what matters and nothing it shouldn't."""
    if context.invoked_subcommand != "doctor":  # which has them among its checks
        from discreet.cli.misspelt import tell_unknown_names

        tell_unknown_names()


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
def demo(
    *,
    rows: Annotated[bool, typer.Option("--rows", help="Print all rows of the database too.")] = False,
    web: Annotated[bool, typer.Option("--web", help="Talk to the assistant in a browser instead.")] = False,
    port: Annotated[
        int | None,
        typer.Option(help="With --web: port on 127.0.0.1. Default: the first free one from 8100 on.", min=1, max=65535),
    ] = None,
) -> None:
    """Run two conversations of one user, then show what is on the disk. Exit code 1 if a planted value leaked."""
    if web:
        from discreet.cli.demo_web import run_demo_web

        raise typer.Exit(run_demo_web(port=port))
    from discreet.cli.demo import run_demo

    raise typer.Exit(run_demo(rows=rows))


@app.command()
def dev(
    port: Annotated[
        int | None, typer.Option(help="Port on 127.0.0.1. Default: the first free one from 2024 on.", min=1, max=65535)
    ] = None,
    token_for: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SUBJECT",
            help="Show a token for SUBJECT on the terminal; may be given for several. Default: developer.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Turns that run at the same time.", min=1, max=1000)] = 10,
) -> None:
    """Start the embedded database and `langgraph dev`, without any outbound call."""
    from discreet.cli.dev import run_dev

    raise typer.Exit(run_dev(port=port, jobs=jobs, subjects=token_for or ()))


@app.command()
def database() -> None:
    """Run the embedded PostgreSQL until Ctrl-C, and print its DSN: for programs and tools that need one."""
    from discreet.cli.database import run_database

    run_database()


@app.command()
def doctor(
    dsn: Annotated[str | None, DATABASE] = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Ask the chat model and the embedding model one thing each, too.")
    ] = False,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Check the settings and what they name. Nothing is changed. Exit code 1 if something is wrong."""
    from discreet.cli.doctor import run_doctor

    raise typer.Exit(run_doctor(dsn, probe=probe, as_json=as_json))


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
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Extract facts from a user's conversations now. Exit code 1 if a prompt got no answer."""
    from discreet.cli.extract import run_extract

    code = run_extract(dsn, user, since=since, again=again, dry_run=dry_run, model=model, as_json=as_json)
    raise typer.Exit(code)


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to make, or an empty one; . is this one.")],
) -> None:
    """Start a project of your own: a graph to edit, tools, a prompt, tests, and what a server needs."""
    from discreet.cli.init import run_init

    run_init(folder)


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
    *,
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
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, AS_JSON] = False,
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
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, AS_JSON] = False,
    reindex: Annotated[bool, typer.Option("--reindex", help="Rebuild the search index afterwards.")] = False,
) -> None:
    """Embed all memories by the embedding model of the settings. Exit code 1 if some are left."""
    from discreet.cli.reembed import run_reembed

    raise typer.Exit(run_reembed(dsn, as_json=as_json, reindex=reindex))


@app.command()
def rekey(
    dsn: Annotated[str | None, DATABASE] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what is under which key, and move nothing.")
    ] = False,
    seal_plain: Annotated[
        bool,
        typer.Option(
            "--seal-plain",
            help="Seal rows that are plain, too. You vouch for them: give it once, when keys are turned on.",
        ),
    ] = False,
    reindex: Annotated[bool, typer.Option("--reindex", help="Rebuild the search index afterwards.")] = False,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Move what is sealed to the newest key. Exit code 1 if something is lost, left or plain."""
    from discreet.cli.rekey import run_rekey

    raise typer.Exit(run_rekey(dsn, seal_plain=seal_plain, dry_run=dry_run, as_json=as_json, reindex=reindex))


@app.command()
def roles(
    apply: Annotated[bool, typer.Option("--apply/--print", help="Run the SQL, or show it and change nothing.")] = False,
    prefix: Annotated[
        str, typer.Option(help="What the roles' names begin with: they belong to the whole server.")
    ] = "discreet",
    dsn: Annotated[
        str | None, typer.Option(help="Default: DISCREET_POSTGRES_OWNER_DSN, else DISCREET_POSTGRES_DSN.")
    ] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Have the database keep users apart: roles with no more rights than they need, and row-level security."""
    from discreet.cli.roles import run_roles

    run_roles(dsn, prefix=prefix, apply=apply, as_json=as_json)


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 is all of this machine's.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8080,
    workers: Annotated[int, typer.Option(help="Processes that share the port.", min=1, max=256)] = 1,
    token_for: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SUBJECT", help="Print a token for SUBJECT; may be given for several. Default: developer."
        ),
    ] = None,
) -> None:
    """Serve the REST API and the admin page, without a LangGraph server. SIGTERM or Ctrl-C ends it in order."""
    from discreet.cli.serve import run_serve

    raise typer.Exit(run_serve(host=host, port=port, workers=workers, subjects=token_for or ()))


@app.command()
def status(
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, AS_JSON] = False,
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
    dsn: Annotated[str | None, DATABASE] = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --once: print JSON.")] = False,
) -> None:
    """Extract facts and summarise sessions in the background. Any number may run; Ctrl-C or SIGTERM stops one.

    With --once: exit code 1 if a provider failed.
    """
    if as_json and not once:
        raise typer.BadParameter("--json goes with --once.")
    from discreet.cli.worker import run_worker

    raise typer.Exit(run_worker(dsn, once=once, as_json=as_json))


for group in (audit_commands.audit_app, retention_commands.retention_app, settings_commands.settings_app):
    app.add_typer(group)
app.add_typer(history_commands.history_app)
app.command()(rights_commands.erase)
app.command("verify-erasure")(rights_commands.verify_erasure)
app.command()(rights_commands.moments)
app.command()(rights_commands.export)
app.command("import")(import_commands.import_)
app.command()(mcp_commands.mcp)
app.command()(scan_commands.scan)
app.command()(scan_commands.scrub)


def main() -> None:
    """Run the command; a typed error becomes one line and exit code 2."""
    try:
        app()
    except DiscreetError as error:
        print(f"discreet: {error}", file=sys.stderr)
        sys.exit(2)
