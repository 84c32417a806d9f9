"""Have sessions of the Agents SDK store items, and print what they then return. Runs where the SDK is installed."""

import asyncio
import json
import sys

from agents import SQLiteSession
from agents.extensions.memory import SQLAlchemySession

CALL = {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": "{}"}
ANSWER = {"type": "output_text", "text": "Try tea.", "annotations": []}


def items(user: str) -> list[dict]:
    return [
        {"role": "user", "content": f"I am {user} and can't sleep 🐝"},
        CALL,
        {"type": "function_call_output", "call_id": "c1", "output": "tea"},
        {"id": "m1", "type": "message", "role": "assistant", "status": "completed", "content": [ANSWER]},
        {"role": "user", "content": [{"type": "input_text", "text": "Thanks"}]},
        {"role": "assistant", "content": "Good night."},
    ]


async def main(path: str, url: str) -> None:
    returned = {}
    for user in ("alice", "bob"):
        session_id = f"{user}:1"
        sessions = [
            SQLiteSession(session_id, path),
            SQLAlchemySession.from_url(session_id, url=url, create_tables=True),
        ]
        for session in sessions:
            for item in items(user):
                await session.add_items([item])
        returned[session_id] = await sessions[0].get_items()
        assert returned[session_id] == await sessions[1].get_items()
        sessions[0].close()
    print(json.dumps(returned))


asyncio.run(main(*sys.argv[1:]))
