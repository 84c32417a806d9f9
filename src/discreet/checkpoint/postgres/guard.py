"""The third line of defence: PostgreSQL itself refuses what must not be stored, whoever sends it.

LangGraph's serializer writes an object as its module's name, then its class's name, each with its length before it
(MessagePack, "str format family": 0xa0 + length, up to 31 bytes). That byte after an ASCII letter makes no valid UTF-8, so no
text can hold these bytes, one that quotes them included.
"""

from __future__ import annotations

from discreet.checkpoint.postgres.statements import Statement

REFUSED = {
    "langchain_core.messages.tool": ("ToolMessage", "ToolMessageChunk"),
    "langchain_core.messages.system": ("SystemMessage", "SystemMessageChunk"),
    "langgraph.types": ("Send",),
}
"""Class names by module."""

FRAMES = tuple(
    module.encode() + bytes([0xA0 + len(name)]) + name.encode() for module, names in REFUSED.items() for name in names
)

GUARDS = {table: f"{table}_guard" for table in ("checkpoint_blobs", "checkpoint_writes")}
"""The constraint of each table."""

_CHECK = " AND ".join(rf"position('\x{frame.hex()}'::bytea IN blob) = 0" for frame in FRAMES)


def add_guards(*, whole: bool, there: frozenset[str] = frozenset()) -> list[Statement]:
    """Return what adds the constraints that are not `there`. Unless `whole`, rows from before are left as they are."""
    validity = "" if whole else " NOT VALID"
    return [
        Statement(f"ALTER TABLE {table} ADD CONSTRAINT {name} CHECK ({_CHECK}){validity}")
        for table, name in GUARDS.items()
        if name not in there
    ]


def drop_guards(there: frozenset[str]) -> list[Statement]:
    """Return what takes away the constraints that are `there`."""
    return [Statement(f"ALTER TABLE {table} DROP CONSTRAINT {name}") for table, name in GUARDS.items() if name in there]
