"""Background memory: which sessions wait, the batches made of them, and what came of those."""

from discreet.storage.background.background import Background

__all__ = ["Background"]
