"""PostgreSQL: the pool, migrations, memories, the conversation log, and the embedded server."""

from discreet.storage.opening import open_storage, resolve_dsn
from discreet.storage.wiring import Storage

__all__ = ["Storage", "open_storage", "resolve_dsn"]
