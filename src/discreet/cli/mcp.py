"""`discreet mcp`: the server for one user in this process, or that for many in one of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from discreet.cli.arguments import user_id_of
from discreet.cli.folders import check_data_folder
from discreet.cli.serve import run_app
from discreet.errors import ConfigurationError, MissingDependencyError
from discreet.redaction.configured import default_redactor
from discreet.redaction.logged.formats import log_to_stderr
from discreet.redaction.logs import redact_logs
from discreet.settings import load_settings

APP: Final = "discreet.api.mcp.standalone:app"

NOBODY: Final = "Whose memories? Give `discreet mcp --user NAME`, or set DISCREET_DEFAULT_USER. For several users: `discreet mcp --http`."


def run_mcp_stdio(user: str | None, *, subject: bool) -> None:
    """Serve one user on standard input and output until the client ends it.

    Raises:
        ConfigurationError: Nobody is named, or a setting can't be used.
        InvalidUserError: `user` can't be used.
        MissingDependencyError: The SDK is not installed.
        StorageError: The database can't be used.
    """
    _check_installed("mcp")
    settings = load_settings()
    named = user or settings.default_user
    if not named:
        raise ConfigurationError(NOBODY)
    user_id = user_id_of(settings, named, subject=subject, stores=True)
    check_data_folder(settings)
    log_to_stderr(settings.log_format)
    redact_logs(default_redactor())
    if sys.stdin.isatty():
        print("An MCP client starts this command and speaks with it; see docs/mcp.md. Ctrl-C ends it.", file=sys.stderr)
    from discreet.mcp.stdio import serve_stdio  # there may be no SDK to import

    serve_stdio(user_id, settings)


def run_mcp_http(*, host: str, port: int, subjects: Sequence[str] = ()) -> int:
    """Serve all who have credentials on `host` until Ctrl-C or SIGTERM; return the exit code.

    Raises:
        ConfigurationError: The port is taken, a folder can't be written to, or a setting can't be used.
        MissingDependencyError: The SDK or uvicorn is not installed.
        StorageError: The database can't be used.
    """
    _check_installed("mcp", "uvicorn")
    return run_app(
        APP,
        command="discreet mcp --http",
        host=host,
        port=port,
        subjects=subjects,
        told="MCP on {url}/mcp. Ctrl-C stops it.",
        example="claude mcp add --transport http memory {url}/mcp --header 'Authorization: Bearer …'",
    )


def _check_installed(*names: str) -> None:
    if not all(map(find_spec, names)):
        raise MissingDependencyError("`discreet mcp` needs the SDK: pip install 'mcp>=2,<3' uvicorn")
