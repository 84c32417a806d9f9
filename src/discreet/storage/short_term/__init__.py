"""Sessions, last rounds and claims of work for up to a day, in PostgreSQL or in Redis."""

from discreet.storage.short_term.choice import short_term_store

__all__ = ["short_term_store"]
