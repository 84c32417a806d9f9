"""Credentials and sessions in HTTP headers."""

# ruff: noqa: C901  # each line rules one kind of text out

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.told.values import looks_random, names_a_value

CALL = lazy(r"[A-Za-z_]\(")
"""What programs have where a header has its value."""
LEAST_BEARER_CHARS = 16
"""Shorter words after "bearer" are English."""
LEAST_SESSION_CHARS = 8
"""Values of cookies that are shorter hold a setting."""


class AuthorizationRecogniser:
    """Finds what follows `Authorization:`, `Bearer` and `Basic` (RFC 9110, RFC 6750, RFC 7617), and cookies (RFC 6265)."""

    type = "SECRET"
    HEADER = lazy(
        r"authorization[\\\"'\]]{0,3}[ ]{0,3}[:=,][ ]{0,3}[\\\"'`]{0,2}"
        r"(?:(?P<scheme>bearer|basic|token|digest|negotiate|ntlm|apikey|api-key|key|bot|ssws|jwt|oauth|aws4-hmac-sha256|hawk|splunk"
        r"|genieKey|discourse|sso-key|sharedkey|sharedaccesssignature|dpop)[ ]{1,3})?"
        r"(?P<value>[!#-&(-;=?-_a-~]{6,16000})",
        re.IGNORECASE,
    )
    REST_OF_LIST = lazy(
        r"(?:,[ ]?[A-Za-z_-]{1,30}=(?:\"[^\"\r\n\0]{0,400}\"|[^\s,\"'\0]{1,400})|\"[^\"\r\n\0]{0,400}\"){1,16}+"
    )
    """Further parameters of Digest and AWS signatures."""

    SCHEME = lazy(
        r"(?<![A-Za-z])(?P<scheme>bearer|basic)[ ]{1,3}(?:token[: ]{1,2})?(?P<value>[A-Za-z0-9._~+/-]{6,16000}={0,2})",
        re.IGNORECASE,
    )

    COOKIE = lazy(
        r"(?<![A-Za-z])(?:set-)?cookie[\\\"']{0,2}[ ]{0,3}[:=][ ]{0,3}[\\\"']{0,2}"
        r"(?P<value>[!#$%&*+.^_|~0-9A-Za-z-]{1,80}=[^\s;,\"'\0]{1,4000}+(?:;[ ]?(?!(?i:path|domain|expires|max-age|samesite|secure|httponly)\b)"
        r"[!#$%&*+.^_|~0-9A-Za-z-]{1,80}=[^\s;,\"'\0]{1,4000}+){0,40}+)",
        re.IGNORECASE | re.ASCII,
    )
    SESSION = lazy(
        r"(?<![A-Za-z0-9])(?:[A-Za-z0-9_.-]{0,40}(?:session|sess)[_-]?(?:id|token|key|data)?|phpsessid|jsessionid|connect\.sid|sid|asp\.net_sessionid"
        r"|[a-z0-9]{1,20}_session|cf_clearance|__cf_bm|remember_token|csrf_?token|xsrf-token|auth|li_at|sapisid|ssid|hsid)"
        r"[\"']?(?P<operator>=|:[ ]?)[\"']?(?P<value>[A-Za-z0-9%._+/:-]{16,4000}+={0,2})",
        re.IGNORECASE,
    )

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all credentials."""
        text, lowered = view.text, view.lowered
        if "authorization" in lowered:
            for match in self.HEADER.finditer(text):
                if self.is_credential(match):
                    more = self.REST_OF_LIST.match(text, match.end())
                    yield (
                        match.start("value"),
                        more.end() if more else match.end() - len(match[0]) + len(match[0].rstrip(",;)")),
                    )
        if "bearer" in lowered or "basic" in lowered:
            for match in self.SCHEME.finditer(text):
                if _is_basic(match["value"]) if match["scheme"].lower() == "basic" else self.is_token(match["value"]):
                    yield match.span("value")
        if "cookie" in lowered:
            for match in self.COOKIE.finditer(text):
                if any(is_session(pair.partition("=")[2]) for pair in match["value"].split(";")):
                    yield match.span("value")
        if any(
            hint in lowered
            for hint in ("session", "sess=", "sessid", "sid=", "sid:", "csrf", "auth=", "__cf", "cf_clear", "li_at")
        ):
            for match in self.SESSION.finditer(text):
                if looks_random(match["value"]):
                    yield match.span("value")

    def is_credential(self, match: re.Match[str]) -> bool:
        """Tell a header's value from a word about it: "Authorization: required"."""
        value = match["value"]
        if not names_a_value(value) or (not match["scheme"] and CALL.search(value)):
            return False
        return bool(match["scheme"]) or (len(value) >= LEAST_SESSION_CHARS and looks_random(value))

    def is_token(self, value: str) -> bool:
        """Tell a token from English after "bearer"."""
        return len(value) >= LEAST_BEARER_CHARS and looks_random(value)


def is_session(value: str) -> bool:
    """Tell what a cookie of somebody who is logged in holds from a setting or a placeholder."""
    return len(value) >= LEAST_SESSION_CHARS and looks_random(value) and names_a_value(value)


def _is_basic(value: str) -> bool:
    try:
        return b":" in base64.b64decode(value, validate=True)
    except binascii.Error:
        return False
