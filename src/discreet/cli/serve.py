"""`discreet serve`: the REST API and the admin page by themselves, in one process or several."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.util import find_spec

from rich.console import Console

from discreet.access.authenticator import default_authenticator
from discreet.cli.child_server import check_free, run_server
from discreet.cli.folders import check_data_folder
from discreet.cli.tokens_shown import access_environment, show_access
from discreet.errors import MissingDependencyError
from discreet.metrics_server import check_metrics_port, shared_folder
from discreet.redaction.configured import default_redactor
from discreet.settings import Settings, child_environment, load_settings

APP = "discreet.api.standalone:app"

GRACE_SECONDS = 30
"""What requests under way have when it is to end: an export may take some."""
STOP_SECONDS = GRACE_SECONDS + 15
"""Then connections to the database are closed, and an embedded one is stopped by the last process."""
HEALTH_SECONDS = 15
"""How long a worker may not answer uvicorn before it is taken for dead: on a busy machine one that starts does not for
seconds. One that ends by itself while it is asked is replaced after that long too."""


def run_serve(*, host: str, port: int, workers: int, subjects: Sequence[str] = ()) -> int:
    """Serve on `host` until Ctrl-C or SIGTERM, with `workers` processes that share the port; return the exit code.

    Unless the settings say how callers are known, tokens for `subjects` are shown on the terminal that it takes.

    Raises:
        ConfigurationError: A port is taken, a folder can't be written to, or a setting can't be used.
        MissingDependencyError: uvicorn is not installed.
        StorageError: The database can't be used.
    """
    if find_spec("uvicorn") is None:
        raise MissingDependencyError("`discreet serve` needs uvicorn: pip install uvicorn fastapi-offline")
    return run_app(
        APP,
        command="discreet serve",
        host=host,
        port=port,
        workers=workers,
        subjects=subjects,
        defaults=_defaults(load_settings()),
        told="REST API on {url}/memory, its documentation on /docs.\nAdmin page on /memory/admin. Ctrl-C stops it.",
        example="curl -H 'Authorization: Bearer …' {url}/memory/query",
    )


def run_app(
    app: str,
    *,
    command: str,
    host: str,
    port: int,
    told: str,
    example: str,
    workers: int = 1,
    subjects: Sequence[str] = (),
    defaults: Mapping[str, str] | None = None,
) -> int:
    """Run the application `app` as `command` is to, see `run_serve`; return the exit code.

    It has `defaults` in its environment where nobody set them. `told` is said while it starts, and `example` of who has a
    token; `{url}` in them is where it is.

    Raises:
        ConfigurationError: As `run_serve`.
        StorageError: The database can't be used.
    """
    settings = load_settings()
    check_data_folder(settings)
    check_free(host, port, command=command)
    check_metrics_port(settings)
    default_authenticator()  # as in each worker, of which uvicorn starts another one whenever one can't be loaded
    default_redactor()
    environment = child_environment(**access_environment(settings, subjects), **(defaults or {}))
    console = Console(stderr=True)
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def tell() -> None:
        console.print(told.replace("{url}", url), markup=False, soft_wrap=True)
        if show_access(settings, subjects, console):
            console.print(f"Use one: {example.replace('{url}', url)}", markup=False, soft_wrap=True)

    with shared_folder(workers) as together:
        code = run_server(
            [*_command(app, host, port, workers), *_log_options(settings)],
            environment | together,
            stop_seconds=STOP_SECONDS,
            meanwhile=tell,
        )
    if code is None:
        return 0
    # Nobody told it to end: of several processes that can't start uvicorn makes no failure.
    _tell_what_is_wrong(console)
    return code or 1


def _command(app: str, host: str, port: int, workers: int) -> list[str]:
    command = [sys.executable, "-m", "uvicorn", app, "--host", host, "--port", str(port), "--workers", str(workers)]
    # Its access log has paths as they were sent; who is behind a proxy is told by our own setting alone.
    command += ["--no-access-log", "--no-proxy-headers", "--no-server-header", "--lifespan", "on"]
    command += ["--timeout-graceful-shutdown", str(GRACE_SECONDS)]
    return [*command, "--timeout-worker-healthcheck", str(HEALTH_SECONDS)]


def _log_options(settings: Settings) -> list[str]:
    """Return what has uvicorn log in JSON too, if the settings want that: its own lines come before the application is loaded."""
    return ["--log-config", str(files("discreet.api") / "json_logging.json")] if settings.log_format == "json" else []


def _defaults(settings: Settings) -> dict[str, str]:
    """Return what is another value here than elsewhere, where nobody set it. Any number of workers of memory may run."""
    return {} if "worker" in settings.model_fields_set else {"DISCREET_WORKER": "true"}


def _tell_what_is_wrong(console: Console) -> None:
    """Say in one line what is wrong with the database, if it is that.

    Raises:
        StorageError: The database can't be used.
    """
    from discreet.cli.session import opened_storage  # seconds of imports, for which no server need wait

    with opened_storage(console):
        pass
