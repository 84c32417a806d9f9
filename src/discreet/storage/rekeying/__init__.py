"""Move what is sealed to the newest key, and seal what was stored before there was one."""

from discreet.storage.rekeying.plain_rows import STORED_BEFORE, plain_rows, tell_of_plain_rows
from discreet.storage.rekeying.rekeying import KeyCount, Rekeyed, Rekeying

__all__ = ["STORED_BEFORE", "KeyCount", "Rekeyed", "Rekeying", "plain_rows", "tell_of_plain_rows"]
