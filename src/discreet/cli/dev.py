"""`discreet dev`: the LangGraph development server over the embedded database."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import typer
from rich.console import Console

from discreet import quick_start
from discreet.cli.child_server import check_free, first_free
from discreet.cli.folders import check_data_folder, check_writable
from discreet.cli.tokens_shown import access_environment, show_access
from discreet.errors import ConfigurationError, DiscreetError, MissingDependencyError
from discreet.metrics_server import check_metrics_port
from discreet.private_files import make_private
from discreet.settings import Settings, child_environment, load_settings

CONFIG = Path("langgraph.json")
HOST = "127.0.0.1"
DEFAULT_PORT = 2024
"""LangGraph's own default, which its Studio and its documentation name."""

SERVER_FILES = Path(".langgraph_api")
"""Where the server keeps threads and runs, in the folder that it was started in."""

KEEP_CLOSED = 20
"""Turns of a thread that the Studio can fork, unless the settings say how many."""

QUIET = {
    # What the server would otherwise send out: usage figures, a version check, traces. A value set by the user wins.
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
    "LANGSMITH_TRACING": "false",
}

DEFAULT_JOBS = 10
"""Turns that run at the same time, as in LangGraph's own deployments. `langgraph dev` has one after the other unless told."""


def run_dev(*, port: int | None, jobs: int = DEFAULT_JOBS, subjects: Sequence[str] = ()) -> int:
    """Run `langgraph dev` on 127.0.0.1 until it ends; return its exit code.

    The server opens the database. If it ends by an error, the database is tried here. Without `port` it is the first free one from 2024 on. Unless the settings say
    how callers are known, or that they need not be, tokens for `subjects` are shown on the terminal that it takes. `jobs` turns run at a time.

    Raises:
        ConfigurationError: There is no langgraph.json here and no project is started, it is no JSON, a port is taken, a folder can't be
            written to, or others may enter .langgraph_api.
        MissingDependencyError: langgraph-cli[inmem] is not installed.
        StorageError: The database can't be used.
    """
    if not CONFIG.is_file():
        _offer_project()
    try:
        json.loads(CONFIG.read_bytes())
    except ValueError as error:
        raise ConfigurationError(f"langgraph.json is no JSON: {error}.") from None
    if find_spec("langgraph_cli") is None or find_spec("langgraph_api") is None:
        raise MissingDependencyError("`discreet dev` needs the LangGraph server: pip install 'langgraph-cli[inmem]'")
    settings = load_settings()
    check_data_folder(settings)
    check_metrics_port(settings)
    check_writable(SERVER_FILES, step="The server keeps its threads there: run this in a folder that can be.")
    if port is None:
        port = first_free(HOST, DEFAULT_PORT, command="discreet dev")
    check_free(HOST, port, command="discreet dev")
    os.environ.update(child_environment(**QUIET, **access_environment(settings, subjects), **_defaults(settings)))
    os.umask(0o077)
    make_private(SERVER_FILES, only=())
    console = Console(stderr=True)
    _tell(port, settings, subjects, console)
    quick_start.begin()
    with _database_ahead(settings):
        code = _serve(["--config", str(CONFIG), "--host", HOST, "--port", str(port), "--n-jobs-per-worker", str(jobs)])
    quick_start.started()
    if code:
        _tell_what_is_wrong(console)
    return code


def _offer_project() -> None:
    """Start a project here, if there is room and whoever sits at the terminal says yes.

    Raises:
        ConfigurationError: None was started.
    """
    from discreet.cli.init import start_project  # where there is a project, it starts sooner without
    from discreet.cli.project.writing import occupant

    asked = sys.stdin.isatty() and sys.stdout.isatty() and occupant(Path()) is None
    if not (asked and typer.confirm("There is no langgraph.json here. Start a project here?", default=True)):
        raise ConfigurationError(
            "There is no langgraph.json here. Run this in the folder that holds yours, or start a project: discreet init DIR"
        )
    start_project(Path())


@contextmanager
def _database_ahead(settings: Settings) -> Iterator[None]:
    """Have our own database start while the server is imported. If it can't, the server says so, which opens it once more."""
    if settings.postgres_dsn is not None:
        yield
        return
    # Imported before the thread starts: two threads that import modules which need each other find one half made.
    from discreet.storage.embedded import lease_server  # other commands do without

    with ExitStack() as held:

        def start() -> None:
            with suppress(DiscreetError):
                held.enter_context(lease)

        with suppress(DiscreetError):
            lease = lease_server(Path(settings.data_dir), version=settings.postgres_version)
            starting = Thread(target=start, name="discreet database")
            starting.start()
            held.callback(starting.join)
        yield


def _serve(options: Sequence[str]) -> int:
    """Run `langgraph dev` in this process: to start another one would take 0.3 s. SIGTERM ends it as Ctrl-C does."""
    import click  # comes with the server
    from langgraph_cli.cli import cli

    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.path.insert(0, "")  # as `python -m langgraph_cli` has it
    try:
        cli.main(["dev", "--no-browser", "--no-reload", *options], prog_name="langgraph", standalone_mode=False)
    except (KeyboardInterrupt, click.Abort):
        return 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        signal.signal(signal.SIGTERM, previous)
    return 0


def _defaults(settings: Settings) -> dict[str, str]:
    """Return settings that are others here than elsewhere, where nobody set them."""
    defaults = {"keep_closed": str(KEEP_CLOSED), "worker": "true", "playground": "true"}
    return {
        f"DISCREET_{name.upper()}": value for name, value in defaults.items() if name not in settings.model_fields_set
    }


def _tell(port: int, settings: Settings, subjects: Sequence[str], console: Console) -> None:
    """Say where the server is and who may call it."""
    console.print(f"API on http://{HOST}:{port}, its documentation on /docs. Ctrl-C stops it.")
    if settings.playground or "playground" not in settings.model_fields_set:
        console.print(
            f"Playground: http://{HOST}:{port}/memory/playground, for browsers on this machine.", soft_wrap=True
        )
    if show_access(settings, subjects, console):
        url = f"http://{HOST}:{port}"
        console.print(f"Use one: curl -H 'Authorization: Bearer …' {url}/threads/search -d '{{}}'", markup=False)
        console.print(
            f'   get_client(url="{url}", headers={{"Authorization": "Bearer …"}}, api_key=None)', markup=False
        )
        console.print("More users: discreet token SUBJECT. The Studio needs no token, and is a user of its own.")


def _tell_what_is_wrong(console: Console) -> None:
    """Say in one line what is wrong with the database, if it is that.

    Raises:
        StorageError: The database can't be used.
    """
    from discreet.cli.session import opened_storage  # seconds of imports, for which no server need wait

    with opened_storage(console):
        pass
