"""Secrets assigned to a name: `password=…`, `"api_key": "…"`, `DB_PASSWORD: …`."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.base import PatternRecogniser
from discreet.redaction.recognisers.secrecy import looks_random, names_a_value

LEAST_KEY_CHARS = 8
"""No key or token is shorter; values that are, such as `token: 42`, are something else."""


class AssignmentRecogniser(PatternRecogniser):
    """Finds the value after a telling name and `=`, `:` or `=>`."""

    type = "SECRET"
    HINTS = ("pass", "pwd", "mật khẩu", "пароль", "密碼", "密码", "口令", "secret", "token", "credential", "key")

    PATTERNS = (
        re.compile(
            r"(?:(?P<password>pass(?:word|wd|phrase|code)|pwd|mật khẩu|пароль|密碼|密码|口令)"
            r"|(?:secret|token|credential|(?:api|access|secret|private|account|auth|encryption|signing)[ _-]?key)s?)"
            r"(?:[_-]?(?:id|key|value|hash))?[\\\"'\]]{0,3}[ \t]{0,3}(?P<operator>=>|:=|==?|:)[ \t]{0,3}"
            r"(?P<quote>\\?[\"'`])?(?P<value>(?(quote)(?:(?!(?P=quote))[^\r\n\0]){1,4000}|"
            r"(?:[^\s\"'`<>&;,\0]|[&;,](?![\w.-]{0,40}=|[\s\"']|[^!-~]|\Z)){1,4000}))",
            re.IGNORECASE,
        ),
    )

    END = re.compile(r"[ \t]{0,8}(?:[\r\n,;&]|\Z)")
    """What follows a value that is the only word: "Password: hunter", not "Password: must be long"."""

    def validate(self, match: re.Match[str]) -> bool:
        """Tell a literal value from prose, a reference, or a number beside the word "token"."""
        value = match["value"]
        if not names_a_value(value):
            return False
        if not match["password"]:
            return len(value) >= LEAST_KEY_CHARS and looks_random(value)
        if match["quote"] or match["operator"] != ":":
            return True
        return looks_random(value) or self.END.match(match.string, match.end()) is not None
