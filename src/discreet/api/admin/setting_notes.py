"""Which settings do nothing as things are, and why. Pure."""

from __future__ import annotations

from discreet.providers.environment_values import EMBEDDING, MODELLESS, embedding_name
from discreet.state.memory_settings import MemorySettings

EXTRACTING = ("memory_extraction_", "memory_trigger_", "memory_session_")
"""How the names of settings of background memory begin."""
SWITCH = "memory_extraction_enabled"


def setting_notes(live: MemorySettings, *, embeds_with: str | None) -> dict[str, str]:
    """Return what is to be said beside settings that have no effect, by their names.

    `embeds_with`: the model of this process as provider:model:dims; None: that is not known.
    """
    notes: dict[str, str] = {}
    if not live.memory_extraction_enabled:
        names = [name for name in MemorySettings.model_fields if name.startswith(EXTRACTING) and name != SWITCH]
        notes |= dict.fromkeys(names, "Does nothing while extraction is off.")
    elif live.memory_extraction_provider == "offline":
        notes["memory_extraction_model"] = "Does nothing: offline extraction works by rules, without a model."
    if live.embedding_provider.lower() in MODELLESS:
        notes["embedding_model"] = "Does nothing: this provider has one model."
    if embeds_with is not None and not f"{embeds_with}:".startswith(f"{embedding_name(live)}:"):
        told = f"Not in force in this process: it embeds with {embeds_with}, as its program says, or until it starts again."
        notes |= dict.fromkeys(EMBEDDING, told)
    notes["history_migration"] = (
        "Does nothing in this server. Programs that write their history in Redis through Discreet go by it."
    )
    return notes
