"""Erase what is kept of a user, with a receipt that can be checked."""

from discreet.rights.erasure.erasing import Elsewhere, Erasures
from discreet.rights.erasure.receipts import Counts, Receipt, Unreached
from discreet.rights.erasure.scopes import RECENT_DAYS, Scope, ScopeName

__all__ = ["RECENT_DAYS", "Counts", "Elsewhere", "Erasures", "Receipt", "Scope", "ScopeName", "Unreached"]
