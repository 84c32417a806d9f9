"""Tell a password or key from an ordinary word."""

from __future__ import annotations

import re

NOT_A_VALUE = re.compile(
    r"(?:true|false|null|nil|none|undefined|yes|no|on|off|required|optional|string|hidden|redacted|masked|unset|empty|changeme"
    r"|here|there|this|that|what|which|wrong|right|correct|incorrect|invalid|valid|expired|weak|strong|safe|secure|secret"
    r"|missing|unknown|forgotten|lost|reset|changed|private|public|important|needed|ready|fine|good|great|long|short)",
    re.IGNORECASE,
)
"""Words that stand where a password would, and say something about it."""

REFERENCE = re.compile(
    r"\$[({]?[A-Za-z_]{1,80}[)}]?|\$[({]?[A-Z_][A-Z0-9_]{0,80}[)}]?"  # $TOKEN, ${API_KEY}
    r"|%[A-Z_]{1,80}%|\{\{?[\w .-]{0,80}\}{0,2}|\[[\w .-]{0,80}\]?|\([\w .-]{0,80}\)?"  # %TOKEN%, {{ token }}, [token]
    r"|[A-Za-z_][\w.]{0,80}\([\w., ]{0,80}\)?"  # get_token(user)
    r"|(?:os|process|env|config|settings|self|secrets?|vars)\.[a-z_.]{1,80}[(\[]?"  # os.environ[
    r"|[*.…•x]{2,80}",  # a mask
)
"""A variable, a call or a mask in the place of a value."""

UNLIKE_WORDS = re.compile(r"[0-9]|[a-z][A-Z]|[A-Z]{2}[a-z]|[^\w\s'-]")
"""What words lack."""


def names_a_value(text: str) -> bool:
    """Tell whether `text` can be a literal secret at all, rather than a word about it or a reference to it."""
    return len(text) > 1 and not NOT_A_VALUE.fullmatch(text.rstrip(".,;!?")) and not REFERENCE.fullmatch(text)


def looks_random(text: str) -> bool:
    """Tell whether `text` has digits, symbols inside, or capitals among small letters."""
    return UNLIKE_WORDS.search(text.rstrip(".,;:!?)\"'")) is not None
