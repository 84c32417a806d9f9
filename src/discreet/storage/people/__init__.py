"""What administrators see of the people in a database: who they are, what was kept when, and what can't both hold."""

from discreet.storage.people.people import People

__all__ = ["People"]
