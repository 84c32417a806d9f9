"""Where secrets go that a person wants remembered: anywhere but into a memory, which has a reference to them."""

from __future__ import annotations

from typing import Protocol


class SecretStore(Protocol):
    """Keeps passwords, keys and tokens, and hands out ids that say nothing about them.

    It is asked while a tool waits, some seconds at most. It must not log a value, nor put one into an error. How a value is read
    again is its own affair: Discreet never asks for one.
    """

    async def keep(self, user_id: str, value: str) -> str | None:
        """Keep `value` for this person; return its secret_id, or None: it is declined.

        A secret_id is 24 of A-Z and 2-7, as `discreet.state.ids.new_secret_id` makes them, and not made of `value`. Each call
        returns another one. Values may have several lines and any characters.

        What is raised, other than an error of Discreet, is told by its class alone; nothing is saved then.
        """
        ...

    async def forget(self, user_id: str, secret_id: str | None = None) -> int:
        """Delete one secret of this person, or all of them; return how many. One of somebody else is none."""
        ...


class DecliningSecretStore:
    """Keeps nothing: a memory with a secret is refused. The default.

    Example:
        >>> import asyncio
        >>> asyncio.run(DecliningSecretStore().keep("ann", "opensesame")) is None
        True
    """

    async def keep(self, user_id: str, value: str) -> str | None:
        """Decline."""
        return None

    async def forget(self, user_id: str, secret_id: str | None = None) -> int:
        """Return 0: there is nothing."""
        return 0
