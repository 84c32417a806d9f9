"""What Discreet keeps of people: how it is kept and read, and its table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from uuid import uuid4

from agmi.adapters.base import Record
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from discreet.checkpoint import RedactingSaver
from discreet.state.records import MemoryRecord, TurnRecord
from discreet.storage import Storage
from discreet.storage.store.namespaces import item_key_of, path_of
from testkit.integrity.noticing import Kept
from testkit.integrity.rows import ANN
from testkit.keys import USER_KEYS

_LIST = """
UPDATE checkpoints SET checkpoint = jsonb_set(
    checkpoint, '{message_rows}',
    checkpoint -> 'message_rows' || jsonb_build_array(jsonb_build_array('messages', %(position)s::int, %(position)s::int))
)
WHERE checkpoint_id = (SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = %(thread)s)
"""

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def _said(user: str, number: int) -> str:
    return f"{'Keeps parrot' if user == ANN else 'Owns boat'} number {number}"


def _later(text: str) -> str:
    return (datetime.fromisoformat(text) + timedelta(minutes=1)).isoformat()


class Memories(Kept):
    """`storage.memories`."""

    what = "memories"
    table, owner, order = "discreet.memory", "user_key", "t.created_at"
    slot = ("entry_id", "created_at", "thread_id", "thread_key", "position")
    says, sealed = "text", "sealed_text"
    meta: ClassVar = {"importance": "10", "tags": "ARRAY['trusted']", "type": "'important_moment'", "valid_to": "NULL"}

    async def keep(self, storage: Storage, user: str, number: int) -> None:
        at = NOON + timedelta(minutes=number)
        record = MemoryRecord(text=_said(user, number), importance=3, tags=["heard"], created_at=at)
        await storage.memories.save(user, [record], dedup=False)

    async def read(self, storage: Storage) -> None:
        for record in await storage.memories.latest(ANN, limit=100, held=False):
            await storage.memories.get(ANN, record.entry_id)
        await storage.memories.search(ANN, "parrot", limit=100)

    def behind(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {"entry_id": str(uuid4()), "created_at": _later(fields["created_at"])}


class Log(Kept):
    """`storage.log`."""

    what = "log"
    table, owner, order = "discreet.conversation_log", "user_key", "t.started_at"
    slot = ("request_id", "thread_key", "started_at", "ended_at")
    says, sealed = "input_text", "sealed_input"
    meta: ClassVar = {"is_emergency": "NOT is_emergency", "agent_id": "'another agent'"}

    async def keep(self, storage: Storage, user: str, number: int) -> None:
        at = NOON + timedelta(minutes=number)
        turn = {"input_text": _said(user, number), "output_text": f"Noted, {number}", "started_at": at, "ended_at": at}
        await storage.log.append(TurnRecord(request_id=f"{user}-{number}", user_id=user, thread_id=f"{user}'s", **turn))

    async def read(self, storage: Storage) -> None:
        await storage.log.read(ANN)
        await storage.log.read(ANN, thread_id=f"{ANN}'s")

    def behind(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        later = {name: _later(fields[name]) for name in ("started_at", "ended_at")}
        return {"request_id": f"{ANN}-forged", **later}


class Items(Kept):
    """`storage.store`, the LangGraph store."""

    what = "store"
    table, owner, order = "discreet.store_item", "user_key", 't.key COLLATE "C"'
    slot = ("item_key", "key")
    says, sealed = "value", "sealed_value"
    meta: ClassVar = {"updated_at": "updated_at + interval '1 day'", "expires_at": "NULL", "ttl_minutes": "NULL"}

    async def keep(self, storage: Storage, user: str, number: int) -> None:
        await storage.store.aput((user, "notes"), f"note-{number:03}", {"text": _said(user, number)}, ttl=1_000)

    async def read(self, storage: Storage) -> None:
        for item in await storage.store.asearch((ANN,), limit=100):
            await storage.store.aget(item.namespace, item.key)
        await storage.store.asearch((ANN,), query="parrot", limit=100)

    def key_of(self, user: str) -> str:
        return str(USER_KEYS.of_namespace(path_of((user, "notes"))))

    def written(self, text: str) -> str:
        return json.dumps({"text": text})

    def behind(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        key = f"{fields['key']}-forged"
        return {"key": key, "item_key": str(item_key_of(key))}


async def _answer(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(f"Noted: {state['messages'][-1].text}")]}


class Messages(Kept):
    """`RedactingSaver` over PostgreSQL: the answers in its checkpoints.

    A turn has three rows: its message as it came, as it was kept, and the answer.
    """

    what = "checkpoints"
    table, owner, order = "checkpoint_messages", "thread_id", "t.position"
    among = "mod(position, 3) = 2"
    slot = ("checkpoint_ns", "channel", "position")
    says = "content"
    meta: ClassVar = {
        "kind": "CASE kind WHEN 'ai' THEN 'human' ELSE 'ai' END",
        "created_at": "created_at - interval '1 day'",
    }

    async def keep(self, storage: Storage, user: str, number: int) -> None:
        graph = await self._graph(storage)
        config = {"configurable": {"thread_id": f"{user}'s", "user_id": user}}
        await graph.ainvoke({"messages": [("user", _said(user, number))]}, config)

    async def read(self, storage: Storage) -> None:
        graph = await self._graph(storage)
        config = {"configurable": {"thread_id": f"{ANN}'s"}}
        await graph.aget_state(config)
        [_ async for _ in graph.aget_state_history(config)]

    def key_of(self, user: str) -> str:
        return f"{user}'s"

    def behind(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {"position": str(int(fields["position"]) + 3), "message_id": str(uuid4())}

    def write_raw(self, record: Record) -> None:
        """Have the newest checkpoint list a row that is new: else nobody would be told it."""
        is_new = record.seq >= len(self.read_all_raw())
        super().write_raw(record)
        if is_new:
            with self.connected() as connection:
                connection.execute(_LIST, {"thread": self.key_of(ANN), "position": int(record.fields["position"])})

    @staticmethod
    async def _graph(storage: Storage) -> Any:
        saver = RedactingSaver.from_pool(storage.pool)
        await saver.setup()
        builder = (
            StateGraph(MessagesState).add_node("answer", _answer).add_edge(START, "answer").add_edge("answer", END)
        )
        return builder.compile(checkpointer=saver)


PLACES: tuple[type[Kept], ...] = (Memories, Log, Items, Messages)
