"""Links that give access to something, or tell who somebody is, to whoever has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from urllib.parse import unquote

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.told.values import names_a_value

MOST_KEPT = 0.2
"""Share of a link's letters and digits that scheme and host may have and still stay."""

LEAST_TOKEN = 20
"""Characters of a random path segment. Shorter ones are ids of videos and articles."""

LEAST_INVITED = 12
"""The same after a segment such as `invite` or `reset`."""

LEAST_CHANGES = 0.3
"""Share of neighbours of different kinds (small, capital, digit) in random text; titles in camel case have less."""


class UrlRecogniser:
    """Finds links with user information, telling parameters, or tokens in their path; plain links stay.

    Scheme and host stay if that leaves at most a fifth of the link; beside user information only the scheme may.
    """

    type = "URL"

    LINK = lazy(
        r"(?P<scheme>[A-Za-z](?<![A-Za-z0-9+.-].)[A-Za-z0-9+.-]{1,20}://|//(?<![A-Za-z0-9:/]..))"
        r"(?P<host>[^\s/?#\"'<>\\^`{|}()\uff08\uff09\u300a-\u3011\uff0c\u3001\u3002\uff1b\uff1a\uff01\uff1f\0]{1,300})"
        r"(?P<rest>[/?#](?:[!#-&(-;=?-\[\]_a-z~'%]|(?:(?![\uff00-\uffef\u3000-\u303f])[^\x00-\x7f\s]){1,32}(?=[/?&=#%][A-Za-z0-9%?&=#])){0,4000})?"
    )
    """RFC 3986; other scripts stand in host names, and in a path only where it goes on in ASCII."""

    SHORT = lazy(
        r"[A-Za-z0-9](?<![A-Za-z0-9@./_:-].)(?:[A-Za-z0-9-]{0,62}\.){1,8}[A-Za-z]{2,24}(?::[0-9]{1,5})?"
        r"(?P<rest>/[!#-&(-;=?-\[\]_a-z~%]{0,4000})"
    )
    """Without a scheme: what looks like a host, and a path."""

    STRONG = lazy(
        r"(?:.{0,60}[._-])?(?:tokens?|token_?id|secret|client_?secret|passw(?:or)?d|passwd|passcode|pass|pwd|pw|pin"
        r"|otp|mfa|totp|jwt|sig|signature|hmac"
        r"|api_?key|apikey|access_?key(?:_?id)?|private_?key|secret_?key|key_?pair_?id|auth_?key|credentials?|auth|authorization|bearer"
        r"|session_?id|sess(?:ion)?_?key|sid|phpsessid|jsessionid|ticket|assertion|samlresponse|invite_?(?:code|token|key)?|ssn|passport)"
        r"|(?:access|id|refresh|auth|reset|login|verification|confirm(?:ation)?|csrf|xsrf|magic|invite|share|session|device|user|api)_?token"
        r"|x-(?:amz|goog|oss|cos|ms)-(?:signature|credential|security-token)|googleaccessid|awsaccesskeyid|policy|hdnts|hdnea"
        r"|(?:client|user|account|auth|magic|reset|verification|confirmation|login|security)_?(?:code|secret|pass|hash)"
        r"|(?:e?mail|e-mail|user_?email|phone|mobile|tel|phone_?number|msisdn|iban|card_?number)",
        re.IGNORECASE,
    )
    """Parameters whose value is sensitive whatever it looks like."""

    WEAK = lazy(
        r"(?:.{0,60}[._-])?(?:code|state|session|key|hash|nonce|login|username|user|u|k|t|s|h|id|hmac|invitation|invite|share|link|resourcekey|rlkey"
        r"|verify|verification|confirm|confirmation|activation|unsubscribe|tk|st|cid|uid|tok|ref_?code|data|payload|ctx|request|d|e|authuser)",
        re.IGNORECASE,
    )
    """Parameters whose value is sensitive if it looks random."""

    INVITING = lazy(
        r"(?:invite[sd]?|invitations?|join|reset|reset[_-]?password|password[_-]?reset|recover(?:y)?|verify"
        r"|verification|verify[_-]?email|confirm(?:ation)?"
        r"|activate|activation|share[ds]?|s|sh|magic|magic[_-]?links?|login|signin|sign-in|auth|token|unsubscribe"
        r"|onboarding|accept|private|secret|shared|d"
        r"|webhooks?|hooks?|services|claim|redeem|j|calendar|ical|feed|sso|set-password|new-password|validate|f|folders?|file)",
        re.IGNORECASE,
    )
    """Path segments after which tokens come."""

    BOT = lazy(r"(?:bot|file/bot)?[0-9]{6,12}:[A-Za-z0-9_-]{20,64}")
    """Telegram's bot API: https://core.telegram.org/bots/api#making-requests"""

    OPEN_IDS = lazy(
        r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}|[0-9a-f]{7,64}|[0-9]{1,40}"  # UUID, digest, number
    )
    """Long segments that are names, not keys, unless something such as `invite` stands before them."""

    WEB = ("http://", "https://", "ws://", "wss://", "ftp://", "ftps://", "sftp://", "//")
    """Schemes of links. Beside the password of a database's address, host and name of the database may be read."""

    TRAILING = ".,;:!?'\")]}>*_~"

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of what has to go of all sensitive links."""
        text = view.text
        if "//" in text:
            for match in self.LINK.finditer(text):
                yield from self.judge(match.start(), match["scheme"], match["host"], match["rest"] or "")
        if "?" in text and "=" in text:
            for match in self.SHORT.finditer(text):
                host = match[0][: match.start("rest") - match.start()]
                if self.has_sensitive_parameter(rest := self.trimmed(match["rest"])):
                    yield from self.cut(match.start(), "", host, rest)

    def judge(self, start: int, scheme: str, host: str, rest: str) -> Iterator[Span]:
        """Return the span to mask of one link, if it is sensitive."""
        if not rest:
            host = self.trimmed(host)
        rest = self.trimmed(rest)
        user, at, _ = host.rpartition("@")
        if at and scheme.lower() in self.WEB and self.is_personal(user):
            yield from self.cut(start, scheme, "", host + rest)
        elif self.has_sensitive_parameter(rest) or self.has_token_in_path(rest):
            yield from self.cut(start, scheme, host, rest)

    def cut(self, start: int, scheme: str, host: str, rest: str) -> Iterator[Span]:
        """Return the span of `rest`, or of all of the link if too much of it would stay."""
        kept = len(scheme + host)
        readable = sum(map(str.isalnum, scheme + host))
        whole = readable > MOST_KEPT * (readable + sum(map(str.isalnum, rest)))
        if rest:
            yield start + (0 if whole else kept), start + kept + len(rest)

    def trimmed(self, rest: str) -> str:
        """Return a link's end without the punctuation of the sentence around it."""
        short = rest.rstrip(self.TRAILING)
        closing = rest[len(short) : len(short) + 1]
        pair = {")": "(", "]": "["}.get(closing)
        return short + closing if pair and short.count(pair) > short.count(closing) else short

    def is_personal(self, user: str) -> bool:
        """Tell whether user information says more than that of `git@`."""
        name, colon, password = user.partition(":")
        if colon and password:
            return names_a_value(password) or len(password) == 1
        return _is_random(name, LEAST_TOKEN)

    def has_sensitive_parameter(self, rest: str) -> bool:
        """Tell whether a query or fragment has a telling name with a value."""
        _, mark, query = rest.partition("?") if "?" in rest else rest.partition("#")
        if not mark:
            return False
        for pair in re.split("[?&;#]", query)[:200]:
            name, equals, value = pair.partition("=")
            if equals and len(value) > 1 and self.is_sensitive(unquote(name)[:80], unquote(value)):
                return True
        return False

    def is_sensitive(self, name: str, value: str) -> bool:
        """Tell whether one parameter is sensitive; references such as `{token}` and `YOUR_KEY` are not."""
        if not names_a_value(value) or re.fullmatch(
            r"[<{\[$].{0,80}|(?:YOUR|MY)[_-].{0,80}|x{3,80}|\.{2,9}", value, re.IGNORECASE
        ):
            return False
        if self.STRONG.fullmatch(name):
            return True
        if "@" in value and re.search(r"\w@\w[\w-]{0,62}\.\w", value):
            return True
        if self.WEAK.fullmatch(name):
            return _is_random(value, LEAST_INVITED) or re.fullmatch("[0-9A-Fa-f]{16,128}", value) is not None
        return _is_random(value, 2 * LEAST_TOKEN)

    def has_token_in_path(self, rest: str) -> bool:
        """Tell whether a segment of the path is a token."""
        segments = re.split("[?#]", rest, maxsplit=1)[0].split("/")[1:60]
        for index, segment in enumerate(segments):
            if self.BOT.fullmatch(segment):
                return True
            known = segment.startswith("+") or any(
                self.INVITING.fullmatch(before) for before in segments[max(0, index - 3) : index]
            )
            if known and self.is_invitation(
                segment, direct=index > 0 and self.INVITING.fullmatch(segments[index - 1]) is not None
            ):
                return True
            if not self.OPEN_IDS.fullmatch(segment) and _is_random(segment, LEAST_TOKEN, kinds="0aA"):
                return True
        return False

    def is_invitation(self, segment: str, *, direct: bool) -> bool:
        """Tell whether a segment after `invite` or the like is random."""
        if len(segment) >= 2 * LEAST_INVITED and self.OPEN_IDS.fullmatch(segment) and direct:
            return not segment.isdecimal()
        return _is_random(segment, LEAST_INVITED)


def _is_random(text: str, least: int, *, kinds: str = "0") -> bool:
    """Tell random letters and digits, with characters of all `kinds`, from words, titles and dates."""
    plain = re.sub("[^A-Za-z0-9]", "", text)
    if len(plain) < least or len(plain) < 0.8 * len(text):
        return False
    shape = "".join("0" if char.isdigit() else "a" if char.islower() else "A" for char in plain)
    changes = sum(left != right for left, right in pairwise(shape))
    return changes >= LEAST_CHANGES * len(plain) and set(kinds) <= set(shape) and len(set(shape)) > 1
