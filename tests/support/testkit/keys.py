"""The keys of users in the tables of tests."""

from __future__ import annotations

import base64

from discreet.access.identity import Identities
from discreet.access.user_keys import UserKeys

IDENTITY_KEY = bytes(32)
"""What every test's processes have, see `own_environment`."""

USER_KEYS = UserKeys(Identities(IDENTITY_KEY))

IDENTITY_KEY_SETTING = base64.b64encode(IDENTITY_KEY).decode()
"""As DISCREET_IDENTITY_KEY."""
