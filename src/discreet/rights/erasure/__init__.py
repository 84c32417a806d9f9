"""Erase what is kept of a user, with a receipt that can be checked."""

from discreet.rights.erasure.erasing import Erasures
from discreet.rights.erasure.receipts import Counts, Receipt, Unreached
from discreet.rights.erasure.scopes import MAX_DAYS, RECENT_DAYS, Scope, ScopeName
from discreet.rights.erasure.steps import Elsewhere

__all__ = ["MAX_DAYS", "RECENT_DAYS", "Counts", "Elsewhere", "Erasures", "Receipt", "Scope", "ScopeName", "Unreached"]
