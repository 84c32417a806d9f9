"""Real values in what a person is shown of their own thread."""

from __future__ import annotations

from typing import Any

from discreet.graph.streams import Part
from discreet.nodes.masking import failed
from discreet.ports import TurnVault
from discreet.redaction.placeholders import TAGGED
from discreet.redaction.restoring import Restoration


class ShownValues:
    """The values that the vault has under one name. It is asked when a placeholder comes that was not seen before."""

    def __init__(self, vault: TurnVault, key: str) -> None:
        """Show what `vault` has under `key`."""
        self._vault = vault
        self._key = key
        self._values: dict[str, str] = {}
        self._lost: set[str] = set()

    def __repr__(self) -> str:
        return f"ShownValues({len(self._values)} values)"

    async def put_back(self, value: Any) -> Any:
        """Return any object with the values put back, as `restore` does. What the vault has lost stays a placeholder."""
        restoration = Restoration(self._values)
        restored = restoration.visit(value)
        if restoration.missing <= self._lost:
            return restored
        await self._ask()
        restoration = Restoration(self._values)
        restored = restoration.visit(value)
        self._lost |= restoration.missing
        return restored

    async def part(self, part: Part) -> Part:
        """Return an event of a run with the values put back."""
        return part._replace(data=await self.put_back(part.data), interrupts=await self.put_back(part.interrupts))

    async def values_in(self, text: str) -> dict[str, str]:
        """Return the values by placeholder that `text` shows."""
        await self.put_back(text)
        return {tag[0]: self._values[tag[0]] for tag in TAGGED.finditer(text) if tag[0] in self._values}

    async def _ask(self) -> None:
        try:
            self._values |= await self._vault.avalues(self._key)
        except Exception as error:  # noqa: BLE001  # placeholders stay, whatever a foreign vault raises
            failed("values", error)
