"""PostgreSQL: the pool, migrations, memories, the conversation log, and the embedded server."""

from discreet.storage.opening import Storage, open_storage, resolve_dsn

__all__ = ["Storage", "open_storage", "resolve_dsn"]
