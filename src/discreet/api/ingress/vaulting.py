"""Hold what requests said, and get values back; a vault that fails costs the real values and nothing else."""

from __future__ import annotations

from discreet.api.ingress.bodies import Cleaned
from discreet.ports import TurnVault
from discreet.redaction.thread_values import failed
from discreet.state.request_ref import values_ref


async def hold(vault: TurnVault, cleaned: Cleaned) -> None:
    """Hold what was taken from a body: the model then gets what was said, and the answer shows it."""
    try:
        for ref, parts in cleaned.parts.items():
            if parts:
                await vault.ahold(ref, parts)
            if cleaned.values:
                await vault.ahold(values_ref(ref), cleaned.values)
    except Exception as error:  # noqa: BLE001  # placeholders stay, whatever a foreign vault raises
        failed("hold", error)


async def values_of(vault: TurnVault, ref: str) -> dict[str, str]:
    """Return the values by placeholder that the answer to a request may show."""
    try:
        return await vault.avalues(values_ref(ref))
    except Exception as error:  # noqa: BLE001  # as above
        failed("values", error)
        return {}
