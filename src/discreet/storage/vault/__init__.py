"""The turn vault that several processes share: what running turns really said, sealed, in PostgreSQL or in Redis."""

from discreet.storage.vault.choice import turn_vault

__all__ = ["turn_vault"]
