"""Keys and tokens that vendors give a recognisable form."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.base import PatternRecogniser
from discreet.redaction.recognisers.secrecy import looks_random


class VendorTokenRecogniser(PatternRecogniser):
    """Finds tokens by prefix. Forms are those that vendors document or secret scanners (gitleaks, MIT) agree on."""

    type = "SECRET"

    PATTERNS = (
        re.compile(
            r"(?<![A-Za-z0-9])(?:"
            r"sk-[A-Za-z0-9_-]{20,4000}"  # OpenAI (plain, project, service account), Anthropic, compatible servers
            r"|(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{16}(?![A-Za-z0-9])"  # AWS
            r"|gh[pousr]_[A-Za-z0-9]{20,4000}|github_pat_[A-Za-z0-9_]{22,4000}"  # GitHub
            r"|gl(?:pat|dt|rt|ptt)-[A-Za-z0-9_-]{20,4000}"  # GitLab
            r"|xox[abeoprs]-[A-Za-z0-9-]{10,4000}|xapp-[A-Za-z0-9-]{10,4000}"  # Slack
            r"|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,4000}|GOCSPX-[A-Za-z0-9_-]{20,4000}"  # Google
            r"|[srp]k_(?:live|test)_[A-Za-z0-9]{10,4000}|whsec_[A-Za-z0-9]{16,4000}"  # Stripe
            r"|hf_[A-Za-z0-9]{20,4000}|npm_[A-Za-z0-9]{30,4000}|pypi-[A-Za-z0-9_-]{40,4000}"  # registries
            r"|SG\.[A-Za-z0-9_-]{16,100}\.[A-Za-z0-9_-]{16,100}"  # SendGrid
            r"|(?:gsk|xai|r8|lsv2_pt|lsv2_sk|dop_v1)[_-][A-Za-z0-9_]{20,4000}"  # Groq, xAI, Replicate, LangSmith, DigitalOcean
            r"|[0-9]{8,10}:AA[A-Za-z0-9_-]{32,35}"  # Telegram bots
            r")"
        ),
        re.compile(r"https://hooks\.slack\.com/(?:services|workflows)/(?P<value>[A-Za-z0-9/_-]{20,200})"),
        re.compile(  # JWT: RFC 7519; a header and a payload both begin with {" in base64url
            r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,8000}+\.eyJ[A-Za-z0-9_-]{8,60000}+(?:\.[A-Za-z0-9_-]{0,8000}+)?"
        ),
    )

    def validate(self, match: re.Match[str]) -> bool:
        """Reject hyphenated words: a token has digits or capitals, or one long unbroken run."""
        return looks_random(match[0]) or re.search("[a-z]{16}", match[0]) is not None
