"""`discreet mcp`: memory for clients of the Model Context Protocol."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.options import IS_SUBJECT


def mcp(
    *,
    user: Annotated[str | None, typer.Option(help="Whose memories. Default: DISCREET_DEFAULT_USER.")] = None,
    subject: Annotated[bool, IS_SUBJECT] = False,
    http: Annotated[
        bool, typer.Option("--http", help="Serve streamable HTTP, to callers with a token or an API key.")
    ] = False,
    host: Annotated[str | None, typer.Option(help="With --http: address to listen on. Default: 127.0.0.1.")] = None,
    port: Annotated[
        int | None, typer.Option(help="With --http: port to listen on. Default: 8090.", min=1, max=65535)
    ] = None,
    token_for: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SUBJECT", help="With --http: show a token for SUBJECT on the terminal; may be given for several."
        ),
    ] = None,
) -> None:
    """Give an MCP client save, recall, update, forget and export as tools: one user on standard input and output, or many by HTTP."""
    if http and (user is not None or subject):
        raise typer.BadParameter("--user goes without --http: there callers say by their credentials who they are.")
    if not http and (host is not None or port is not None or token_for):
        raise typer.BadParameter("--host, --port and --token-for go with --http.")
    from discreet.cli.mcp import run_mcp_http, run_mcp_stdio

    if http:
        raise typer.Exit(run_mcp_http(host=host or "127.0.0.1", port=port or 8090, subjects=token_for or ()))
    run_mcp_stdio(user, subject=subject)
