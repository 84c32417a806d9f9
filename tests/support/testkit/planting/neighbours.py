"""Plant rows in tables of other libraries that stand beside LangGraph's: mem0, the OpenAI Agents SDK, LangChain's history."""

from __future__ import annotations

import json
from typing import Any, LiteralString
from uuid import UUID

from langchain_core.messages import AIMessage, HumanMessage, message_to_dict
from psycopg import Connection
from psycopg.types.json import Jsonb

from testkit.planting.manifest import Book, Entry

TABLES: LiteralString = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE IF NOT EXISTS mem0 (id uuid PRIMARY KEY, vector vector(8), payload jsonb);
CREATE TABLE IF NOT EXISTS agent_sessions (session_id text PRIMARY KEY, created_at timestamp DEFAULT now(), updated_at timestamp DEFAULT now());
CREATE TABLE IF NOT EXISTS agent_messages (
    id serial PRIMARY KEY, session_id text REFERENCES agent_sessions ON DELETE CASCADE, message_data text NOT NULL,
    created_at timestamp DEFAULT now());
CREATE TABLE IF NOT EXISTS message_store (id serial PRIMARY KEY, session_id text NOT NULL, message jsonb NOT NULL);
"""

MEM0: LiteralString = "INSERT INTO mem0 (id, vector, payload) VALUES (%s, '[1,2,3,4,5,6,7,8]', %s)"
SESSION: LiteralString = "INSERT INTO agent_sessions (session_id) VALUES (%s)"
AGENT: LiteralString = "INSERT INTO agent_messages (session_id, message_data) VALUES (%s, %s)"
HISTORY: LiteralString = "INSERT INTO message_store (session_id, message) VALUES (%s, %s)"


def plant_neighbours(connection: Connection[Any], book: Book, *, rows: int) -> list[Entry]:
    """Make the tables and plant `rows` rows in each, two in those of messages."""
    connection.execute(TABLES)
    for _ in range(rows):
        payload = {
            "data": book.said("mem0_payload", "mem0"),
            "user_id": book.plain("mem0_user", "mem0", types=("EMAIL",)),
            "hash": f"{book.random.getrandbits(128):032x}",
            "created_at": "2026-01-02T03:04:05-07:00",
        }
        connection.execute(MEM0, [UUID(int=book.random.getrandbits(128), version=4), Jsonb(payload)])
        _plant_session(connection, book)
        for made in (HumanMessage, AIMessage):
            message = message_to_dict(made(book.said("message_store", "message_store")))
            connection.execute(HISTORY, [f"session-{book.chance().serial}", Jsonb(message)])
    return book.entries


def _plant_session(connection: Connection[Any], book: Book) -> None:
    session = book.plain("session_id", "agent_sessions", "agent_messages", types=("EMAIL",))
    connection.execute(SESSION, [session])
    arguments = json.dumps({"to": book.plain("agent_arguments", "agent_messages", types=("EMAIL", "IBAN", "PHONE"))})
    for item in (
        {"role": "user", "content": book.said("agent_message", "agent_messages", types=("EMAIL", "CARD", "SECRET"))},
        {"type": "function_call", "call_id": "call_1", "name": "send", "arguments": arguments},
    ):
        connection.execute(AGENT, [session, json.dumps(item)])
