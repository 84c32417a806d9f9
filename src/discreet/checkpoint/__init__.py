"""A checkpointer that writes only redacted user and model messages."""
