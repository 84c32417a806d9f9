"""Retention: what is kept for a while goes when that is over."""

from discreet.storage.retention.sweeper import At, Due, Gone, Sweeper
from discreet.storage.retention.sweeping import Retention
from discreet.storage.retention.table import KINDS, UNTIL_ERASED, Kind

__all__ = ["KINDS", "UNTIL_ERASED", "At", "Due", "Gone", "Kind", "Retention", "Sweeper"]
