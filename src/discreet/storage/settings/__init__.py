"""Settings of memory that are changed while servers run, and who changed them."""

from discreet.storage.settings.postgres_settings import PostgresSettingsStore

__all__ = ["PostgresSettingsStore"]
