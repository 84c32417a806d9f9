"""Words for secrets, as they are looked for in every text."""

from __future__ import annotations

from discreet.redaction.word_index import Kinds

SECRETS = Kinds("secret", "password", "weak", "key", "login")
"""Words for passwords, keys and accounts."""
CODES = Kinds("code", "once", "pin", "card", "plain")
"""Words for codes that let somebody in."""
PRESSED = Kinds("code", "press")
ANSWERS = Kinds("answer", "name", "question")
"""Words for questions that stand in for a password, and for their answers."""
