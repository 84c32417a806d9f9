"""PostgreSQL: the pool, migrations, memories, the conversation log, and the embedded server."""

from discreet.storage.opening import Storage, open_storage

__all__ = ["Storage", "open_storage"]
