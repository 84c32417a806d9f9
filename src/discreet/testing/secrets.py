"""Secrets in RAM, for tests and for graphs that try things out."""

from __future__ import annotations

from collections import defaultdict

from discreet.state.ids import check_user_id, new_secret_id


class InMemorySecretStore:
    """The port `SecretStore` without a vault. It takes everything, and is lost with the process.

    Example:
        >>> import asyncio
        >>> store = InMemorySecretStore()
        >>> secret_id = asyncio.run(store.keep("ann", "opensesame"))
        >>> asyncio.run(store.reveal("ann", secret_id)), asyncio.run(store.reveal("bob", secret_id))
        ('opensesame', None)
    """

    def __init__(self) -> None:
        self._kept: defaultdict[str, dict[str, str]] = defaultdict(dict)

    def __repr__(self) -> str:
        return f"InMemorySecretStore({sum(map(len, self._kept.values()))} secrets)"

    async def keep(self, user_id: str, value: str) -> str | None:
        """Keep `value`; return a new id of it."""
        secret_id = new_secret_id()
        self._kept[check_user_id(user_id)][secret_id] = value
        return secret_id

    async def forget(self, user_id: str, secret_id: str | None = None) -> int:
        """Delete one secret of this person, or all; return how many."""
        kept = self._kept[check_user_id(user_id)]
        gone = list(kept) if secret_id is None else [secret_id]
        return sum(kept.pop(each, None) is not None for each in gone)

    async def reveal(self, user_id: str, secret_id: str) -> str | None:
        """Return the value; None if this person has none of that id. No port has this: it is for tools of your own."""
        return self._kept[check_user_id(user_id)].get(secret_id)
