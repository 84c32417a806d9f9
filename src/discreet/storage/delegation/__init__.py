"""Who may read what is somebody else's: carers, with the consent of those whose it is."""

from discreet.storage.delegation.delegations import Delegation, PostgresDelegations

__all__ = ["Delegation", "PostgresDelegations"]
