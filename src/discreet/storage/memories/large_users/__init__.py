"""Search the memories of users who have too many to compare each: indexes of their own, and the statement that uses them."""

from discreet.storage.memories.large_users.users import LargeUsers

__all__ = ["LargeUsers"]
