"""Options that several commands have."""

from __future__ import annotations

import typer

DATABASE = typer.Option(help="Default: DISCREET_POSTGRES_DSN, else the embedded server.")
AS_JSON = typer.Option("--json", help="Print JSON.")
IS_SUBJECT = typer.Option("--subject", help="--user is a caller of a server, as their tokens or API keys name them.")
SINCE = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]
"""Formats of a day or a time."""
