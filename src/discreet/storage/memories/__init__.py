"""Save and search long-term memories: `memories` is the port, `saving` writes, `search` finds, `forgetting` takes away."""

from discreet.storage.memories.memories import PostgresMemories

__all__ = ["PostgresMemories"]
