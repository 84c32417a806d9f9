"""Move what is sealed to the newest key, and seal what is plain."""

from discreet.storage.rekeying.rekeying import KeyCount, Rekeyed, Rekeying

__all__ = ["KeyCount", "Rekeyed", "Rekeying"]
