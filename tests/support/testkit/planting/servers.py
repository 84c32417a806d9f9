"""Plant rows in tables shaped like those of agent servers: LangGraph's own and Aegra."""

from __future__ import annotations

from typing import Any, Literal, LiteralString
from uuid import UUID

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from psycopg import Connection, sql
from psycopg.types.json import Jsonb

from testkit.planting.manifest import Book, Entry

Shape = Literal["platform", "aegra"]

PLATFORM: LiteralString = """
CREATE TABLE IF NOT EXISTS assistant (
    assistant_id uuid PRIMARY KEY, graph_id text NOT NULL, name text, description text, version int DEFAULT 1,
    config jsonb NOT NULL, context jsonb, metadata jsonb NOT NULL, created_at timestamptz DEFAULT now());
CREATE TABLE IF NOT EXISTS thread (
    thread_id uuid PRIMARY KEY, status text NOT NULL, metadata jsonb NOT NULL, config jsonb NOT NULL, "values" jsonb,
    interrupts jsonb NOT NULL, error bytea, created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now());
CREATE TABLE IF NOT EXISTS run (
    run_id uuid PRIMARY KEY, thread_id uuid REFERENCES thread ON DELETE CASCADE, assistant_id uuid REFERENCES assistant,
    status text NOT NULL, metadata jsonb NOT NULL, kwargs jsonb NOT NULL, multitask_strategy text DEFAULT 'reject',
    created_at timestamptz DEFAULT now());
CREATE TABLE IF NOT EXISTS cron (
    cron_id uuid PRIMARY KEY, assistant_id uuid REFERENCES assistant, thread_id uuid REFERENCES thread ON DELETE CASCADE,
    user_id text, schedule text NOT NULL, payload jsonb NOT NULL, metadata jsonb NOT NULL, next_run_date timestamptz);
"""

AEGRA: LiteralString = """
CREATE TABLE IF NOT EXISTS assistant (
    assistant_id text PRIMARY KEY, name text NOT NULL, description text, graph_id text NOT NULL, config jsonb, context jsonb,
    user_id text NOT NULL, version int DEFAULT 1, metadata jsonb, created_at timestamptz DEFAULT now());
CREATE TABLE IF NOT EXISTS thread (
    thread_id text PRIMARY KEY, status text DEFAULT 'idle', metadata_json jsonb, user_id text NOT NULL,
    is_ephemeral boolean NOT NULL DEFAULT false, created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now());
CREATE TABLE IF NOT EXISTS runs (
    run_id text PRIMARY KEY, thread_id text REFERENCES thread ON DELETE CASCADE, assistant_id text REFERENCES assistant,
    status text, input jsonb, config jsonb, context jsonb, output jsonb, error_message text, user_id text NOT NULL,
    execution_params jsonb, created_at timestamptz DEFAULT now());
CREATE TABLE IF NOT EXISTS crons (
    cron_id text PRIMARY KEY, assistant_id text REFERENCES assistant, thread_id text REFERENCES thread ON DELETE CASCADE,
    user_id text NOT NULL, schedule text NOT NULL, payload jsonb, metadata jsonb, enabled boolean DEFAULT true);
"""


def plant_server(connection: Connection[Any], book: Book, *, shape: Shape = "platform", threads: int) -> list[Entry]:
    """Make the tables of this shape and fill them; their names are the same, so a schema can have one of them."""
    connection.execute(PLATFORM if shape == "platform" else AEGRA)
    plant = _plant_platform if shape == "platform" else _plant_aegra
    assistant = _assistant(connection, book, shape)
    for _ in range(threads):
        plant(connection, book, assistant)
    return book.entries


def _ident(book: Book) -> str:
    return str(UUID(int=book.random.getrandbits(128), version=4))


def _messages(book: Book, *tables: str) -> list[dict[str, Any]]:
    """Return messages as servers keep them: dictionaries."""
    call = {"name": "find_customer", "args": {"who": book.plain("server_values", *tables)}, "id": "call_1"}
    made: list[BaseMessage] = [
        HumanMessage(book.said("server_values", *tables), id=_ident(book)),
        AIMessage("", tool_calls=[call], id=_ident(book)),
        ToolMessage(book.said("server_values", *tables), tool_call_id="call_1", id=_ident(book)),
        AIMessage([{"type": "text", "text": book.said("server_values", *tables)}], id=_ident(book)),
    ]
    return [message.model_dump(mode="json") for message in made]


def _assistant(connection: Connection[Any], book: Book, shape: Shape) -> str:
    row = {
        "assistant_id": _ident(book),
        "graph_id": "agent",
        "name": "Support",
        "description": book.said("assistant_description", "assistant"),
        "config": {"configurable": {"partner_key": book.plain("assistant_config", "assistant", types=("SECRET",))}},
        "context": {"prompt": book.said("assistant_context", "assistant")},
        "metadata": {"owner": book.plain("assistant_metadata", "assistant", types=("EMAIL",))},
    }
    if shape == "aegra":
        row["user_id"] = book.plain("user_id", "assistant", types=("EMAIL",))
    _insert(connection, "assistant", row)
    return str(row["assistant_id"])


def _config(book: Book, table: str, thread_id: str) -> dict[str, Any]:
    user = {"identity": book.plain("auth_user", table, types=("EMAIL",)), "permissions": []}
    return {
        "configurable": {"thread_id": thread_id, "langgraph_auth_user": user},
        "metadata": {"ip": book.said("run_metadata", table, types=("IP",))},
    }


def _plant_platform(connection: Connection[Any], book: Book, assistant: str) -> None:
    thread_id = _ident(book)
    error = f"ValueError({book.said('server_error', 'thread')!r})".encode() if book.random.random() < 0.3 else None
    pause = {"task-1": [{"id": "i-1", "value": {"question": book.said("server_interrupt", "thread")}}]}
    thread = {
        "thread_id": thread_id,
        "status": "error" if error else "interrupted",
        "metadata": {"graph_id": "agent", "owner": book.plain("thread_metadata", "thread", types=("EMAIL",))},
        "config": _config(book, "thread", thread_id),
        "values": {"messages": _messages(book, "thread"), "draft": {"to": [book.plain("server_values", "thread")]}},
        "interrupts": pause,
        "error": error,
    }
    _insert(connection, "thread", thread)
    kwargs = {
        "input": {"messages": [{"role": "user", "content": book.said("run_input", "run")}]},
        "command": {"resume": book.said("run_command", "run")},
        "config": _config(book, "run", thread_id),
        "webhook": book.plain("webhook", "run", types=("URL",)),
        "stream_mode": ["values"],
    }
    run = {
        "run_id": _ident(book),
        "thread_id": thread_id,
        "assistant_id": assistant,
        "status": "success",
        "kwargs": kwargs,
    }
    _insert(connection, "run", run | {"metadata": {"for": book.plain("run_metadata", "run")}})
    if book.random.random() < 0.3:
        cron = {"cron_id": _ident(book), "assistant_id": assistant, "thread_id": thread_id, "schedule": "0 7 * * *"}
        cron["user_id"] = book.plain("user_id", "cron", types=("EMAIL",))
        _insert(connection, "cron", cron | {"payload": {"input": book.said("cron_payload", "cron")}, "metadata": {}})


def _plant_aegra(connection: Connection[Any], book: Book, assistant: str) -> None:
    thread_id = _ident(book)
    user = book.plain("user_id", "thread", "runs", types=("EMAIL",))
    thread: dict[str, Any] = {"thread_id": thread_id, "user_id": user, "status": "idle"}
    _insert(connection, "thread", thread | {"metadata_json": {"title": book.said("thread_metadata", "thread")}})
    run = {
        "run_id": _ident(book),
        "thread_id": thread_id,
        "assistant_id": assistant,
        "status": "error",
        "user_id": user,
        "input": {"messages": [{"type": "human", "content": book.said("run_input", "runs")}]},
        "config": _config(book, "runs", thread_id),
        "output": {"messages": _messages(book, "runs")},
        "error_message": f"Refused: {book.said('server_error', 'runs')}",
        "execution_params": {"command": {"resume": book.said("run_command", "runs")}},
    }
    _insert(connection, "runs", run)
    if book.random.random() < 0.3:
        cron = {"cron_id": _ident(book), "assistant_id": assistant, "thread_id": thread_id, "user_id": user}
        _insert(
            connection,
            "crons",
            cron | {"schedule": "0 7 * * *", "payload": {"text": book.said("cron_payload", "crons")}},
        )


def _insert(connection: Connection[Any], table: str, row: dict[str, Any]) -> None:
    """Insert a row as a server does: dictionaries become JSON."""
    statement = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, row)),
        sql.SQL(", ").join(sql.Placeholder() * len(row)),
    )
    connection.execute(statement, [Jsonb(value) if isinstance(value, dict) else value for value in row.values()])
