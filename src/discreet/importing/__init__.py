"""Bring what other memories and stores hold into ours: redacted, once, with its times, ids and provenance."""
