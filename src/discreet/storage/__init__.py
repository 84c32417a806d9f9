"""PostgreSQL: the pool, migrations, memories, the conversation log, and the embedded server; Redis for those who have it."""

from discreet.storage.opening import open_storage, open_storage_sync, resolve_dsn
from discreet.storage.wiring import Storage

__all__ = ["Storage", "open_storage", "open_storage_sync", "resolve_dsn"]
