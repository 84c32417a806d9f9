"""Move an application from its conversation history in Redis (V1) to our log while it runs: write both, compare, switch, go back."""

from discreet.importing.history.dual_writer import DualWriter
from discreet.importing.history.reading import HistoryReader

__all__ = ["DualWriter", "HistoryReader"]
