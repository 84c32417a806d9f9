"""Lists of codes that let somebody in without a second factor, and the keys that second factors are set up with."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.runs import Hints

MOST_CODES = 20
"""Services hand out eight to sixteen of them."""
LEAST_KEY_DIGITS = 2
"""Digits among sixteen or more characters in base32, a fifth of whose letters are digits."""


class BackupCodeRecogniser:
    """Finds codes such as `a1b2c-d3e4f` behind "backup codes", and keys in groups of four behind "setup key".

    Keys of authenticators are in base32 (RFC 4648, section 6), which apps show in small letters and groups of four.
    """

    type = "SECRET"

    CODES_HINTS = Hints(
        *("backup ", "backup-", "recovery ", "emergency ", "scratch ", "rescue "),
        *("dự phòng", "khôi phục", "резервн", "запасн", "восстановлен"),
        *("备用", "備用", "恢复", "恢復", "后备", "後備", "救援"),
    )
    KEY_HINTS = Hints(
        "up key",
        "secret",
        "2fa",
        "mfa",
        "otp",
        "authenticator",
        "entry key",
        "ключ",
        "khóa",
        "khoá",
        "密钥",
        "密鑰",
        "金鑰",
    )

    NAME = lazy(
        r"(?:(?<![a-z])(?:backup|recovery|emergency|scratch|rescue)[ -](?:(?:verification|login|access|2fa|mfa) )?codes?(?![a-z])"
        r"|mã (?:dự phòng|khôi phục)|(?:резервн|запасн)\w{2,3} код\w{0,3}|код\w{0,2} восстановления"
        r"|(?:备用|備用|恢复|恢復|后备|後備|救援)(?:登录|登入)?(?:验证|驗證)?[码碼])"
        r"(?P<told>[^\r\n\0A-Za-z0-9]{0,3}(?:(?:is|are|là|это|(?:for|from) \w{1,20}"
        r"|của \w{1,12})(?![a-z])[^\r\n\0A-Za-z0-9]{0,3})?[\r\n]{0,2}|[^\r\n\0.0-9:]{0,40}: ?[\r\n]{0,2})",
        re.IGNORECASE,
    )
    CODE = lazy(
        r"[\s,;|*•.\"'`(\[-]{0,6}(?:[0-9]{1,2}[.)] )?"
        r"(?P<value>[A-Za-z0-9]{4}(?:-[A-Za-z0-9]{4}){1,3}|[A-Za-z0-9]{5}-[A-Za-z0-9]{5}"
        r"|[A-Za-z0-9]{6}-[A-Za-z0-9]{6}|[0-9]{4} [0-9]{4}|[A-Za-z0-9]{8,12})(?![A-Za-z0-9-])"
    )
    RANDOM = lazy(r"(?=[^0-9]{0,18}[0-9])[^\n]|(?=[^-]{4,6}-)[^\n]{0,9}?[bcdfghjklmnpqrstvwxz]{3}", re.IGNORECASE)
    """With a digit, or in two halves that no word is made of."""

    KEY = lazy(
        r"(?<![a-z])(?:(?:set-?up|secret|totp|2fa|mfa|otp|authenticator|manual(?: entry)?) (?:(?:setup|secret"
        r"|entry) )?key|secret|ключ|kh[óo][aá]|密钥|密鑰|金鑰)"
        r"[^\r\n\0A-Za-z0-9]{0,4}(?:(?:is|là|это)[ :]{1,2})?[\r\n]?(?P<value>(?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{1,4})(?![A-Z0-9])",
        re.IGNORECASE,
    )

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all codes, one by one, and of keys."""
        text, lowered = view.text, view.lowered
        if lowered.isascii() and not ("code" in lowered or "key" in lowered or "secret" in lowered):
            return
        for name in self.NAME.finditer(text) if self.CODES_HINTS.found_in(view) else ():
            place = name.end()
            for _ in range(MOST_CODES):
                code = self.CODE.match(text, place)
                if code is None or not self.RANDOM.match(code["value"]):
                    break
                yield code.span("value")
                place = code.end()
        for key in self.KEY.finditer(text) if self.KEY_HINTS.found_in(view) else ():
            if sum(map(str.isdigit, key["value"])) >= LEAST_KEY_DIGITS:
                yield key.span("value")
