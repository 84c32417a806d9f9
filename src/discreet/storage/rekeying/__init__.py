"""Move what is sealed to the newest key, and seal what is plain."""

from discreet.storage.rekeying.plain_rows import plain_rows, tell_of_plain_rows
from discreet.storage.rekeying.rekeying import KeyCount, Rekeyed, Rekeying

__all__ = ["KeyCount", "Rekeyed", "Rekeying", "plain_rows", "tell_of_plain_rows"]
