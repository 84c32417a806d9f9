"""PostgreSQL: the pool, migrations, memories, the conversation log, and the embedded server."""
