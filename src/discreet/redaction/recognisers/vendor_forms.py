"""Forms of keys and tokens, by vendor: what each documents, or what gitleaks' rules (MIT) and detectors of hosts agree on."""

from __future__ import annotations

import re

from discreet.redaction.lazy_pattern import lazy

TAIL = r"(?=[A-Za-z0-9_.+/=%%-]{%d})[A-Za-z0-9_-]{1,4000}+(?:[.+/~%%=|]{1,3}+[A-Za-z0-9_-]{1,4000}+){0,40}+={0,3}"
"""Base64url characters, at least so many, and whatever goes on in base64 or behind dots."""

DISTINCT = (
    # AI and data
    *(
        "sk-proj-",
        "sk-svcacct-",
        "sk-admin-",
        "sk-ant-",
        "sk-or-",
        "sk-lf-",
        "pk-lf-",
        "sk-",
        "csk-",
        "gsk_",
        "xai-",
        "pplx-",
        "hf_",
    ),
    *(
        "api_org_",
        "r8_",
        "nvapi-",
        "lsv2_",
        "tvly-",
        "jina_",
        "pcsk_",
        "llx-",
        "e2b_",
        "wandb_v1_",
        "dapi",
        "sbp_",
        "sb_secret_",
        "phx_",
    ),
    *("fw_", "key-", "esecret_", "sk_"),
    # code, packages and clouds
    *(
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
        "glpat-",
        "glptt-",
        "glrt-",
        "gldt-",
        "glcbt-",
        "glft-",
        "glimt-",
        "glsoat-",
    ),
    *(
        "gloas-",
        "glagent-",
        "glffct-",
        "ATBB",
        "ATCTT3",
        "ATATT3",
        "npm_",
        "pypi-",
        "rubygems_",
        "CLOJARS_",
        "cio",
        "dckr_pat_",
        "dckr_oat_",
    ),
    *(
        "AKCp",
        "cmVmd",
        "oy2",
        "dop_v1_",
        "doo_v1_",
        "dor_v1_",
        "HRKU-",
        "fo1_",
        "fm1_",
        "fm2_",
        "rnd_",
        "vcp_",
        "vck_",
        "nfp_",
        "nfc_",
        "cfut_",
    ),
    *(
        "v1.0-",
        "pscale_tkn_",
        "pscale_pw_",
        "pscale_oauth_",
        "napi_",
        "GOCSPX-",
        "ya29.",
        "1//0",
        "ABSK",
        "LTAI",
        "AKID",
        "AQVN",
        "t1.9eu",
    ),
    *("y0_", "y1_", "y2_", "AzSe", "pul-", "tk-us-", "ocid1.", "scw_", "SCW"),
    # watching
    *(
        "ddapp_",
        "NRAK-",
        "NRII-",
        "NRJS-",
        "NRIQ-",
        "NRRA-",
        "sntryu_",
        "sntrys_",
        "glsa_",
        "glc_",
        "dt0c01.",
        "dt0s01.",
        "hcaik_",
        "hcxik_",
    ),
    *("squ_", "sqp_", "sqa_", "snyk_uat.", "sdk-", "api-", "mob-", "phc_"),
    # secrets of secret keepers
    *(
        "hvs.",
        "hvb.",
        "hvr.",
        "dp.pt.",
        "dp.st.",
        "dp.ct.",
        "dp.sa.",
        "dp.scim.",
        "dp.audit.",
        "AGE-SECRET-KEY-1",
        "ops_eyJ",
        "st.",
        "A3-",
    ),
    # messages
    *(
        "xoxb-",
        "xoxp-",
        "xoxa-",
        "xoxo-",
        "xoxs-",
        "xoxr-",
        "xoxe-",
        "xoxe.",
        "xoxc-",
        "xoxd-",
        "xapp-",
        "SG.",
        "xkeysib-",
        "xsmtpsib-",
        "re_",
    ),
    *("SLACK_", "dG9rOm"),
    # money and shops
    *(
        "sk_live_",
        "sk_test_",
        "rk_live_",
        "rk_test_",
        "pk_live_",
        "pk_test_",
        "whsec_",
        "sq0atp-",
        "sq0csp-",
        "sq0idp-",
        "EAAA",
    ),
    *("access-production-", "access-sandbox-", "access-development-", "FLWSECK-", "FLWSECK_TEST-", "FLWPUBK-"),
    *(
        "rzp_live_",
        "rzp_test_",
        "AQE",
        "shpat_",
        "shpca_",
        "shppa_",
        "shpss_",
        "shptka_",
        "shippo_live_",
        "shippo_test_",
        "EZAK",
        "EZTK",
    ),
    *("duffel_live_", "duffel_test_", "live_", "test_", "lob_"),
    # work
    *(
        "secret_",
        "ntn_",
        "lin_api_",
        "lin_oauth_",
        "figd_",
        "figu_",
        "PMAK-",
        "PMAT-",
        "pat-",
        "tfp_",
        "CFPAT-",
        "pnu_",
        "rdme_",
        "fio-u-",
    ),
    *("WPL_AP1.", "sl.", "pk_", "p8e-", "b_", "art_"),
    # people's networks
    *(
        "EAA",
        "IGQ",
        "AQX",
        "AAAAAAAAAA",
        "sk.eyJ",
        "pk.eyJ",
        "tk.eyJ",
        "v4.local.",
        "v4.public.",
        "v3.local.",
        "v3.public.",
        "v2.local.",
        "v2.public.",
    ),
    *("nsec1", "xprv", "yprv", "zprv", "tprv"),
)
"""What a token begins with. The shortest and least telling of them need the longest tails, see `LEAST`."""

LEAST = {
    "sk-": 12, "key-": 24, "sk_": 24, "api-": 24, "sdk-": 24, "mob-": 24, "st.": 24, "re_": 20, "fw_": 20, "pat-": 24, "cio": 30,
    "oy2": 40, "AQE": 60, "EAA": 60, "EAAA": 40, "IGQ": 60, "AQX": 60, "AQVN": 30, "live_": 24, "test_": 24, "secret_": 20,
    "sl.": 50, "pk_": 20, "b_": 40, "EZAK": 40, "EZTK": 40, "dapi": 20, "AKCp": 50, "cmVmd": 50, "ABSK": 60, "LTAI": 16, "AKID": 24,
    "AAAAAAAAAA": 30, "dG9rOm": 40, "y0_": 40, "y1_": 40, "y2_": 40, "1//0": 24, "A3-": 25, "AzSe": 4, "SLACK_": 40, "t1.9eu": 40,
    "v1.0-": 60, "ocid1.": 90, "SCW": 17, "nsec1": 50, "xprv": 90, "yprv": 90, "zprv": 90, "tprv": 90, "phc_": 30, "art_": 30, "lob_": 30,
}  # fmt: skip
"""How many characters at least follow a prefix that other words begin with, too. The rest need `USUAL`."""

USUAL = 12
"""Real tokens have 16 characters or more behind their prefix; shortened ones in messages still have this many."""


def _prefixed() -> str:
    """Return the alternatives by first letter and longest tail first, so that few of them are tried at each place."""
    letters = sorted({prefix[0] for prefix in DISTINCT})
    return "|".join(
        f"{re.escape(letter)}(?:{_tails([prefix for prefix in DISTINCT if prefix[0] == letter])})" for letter in letters
    )


def _tails(prefixes: list[str]) -> str:
    ordered = sorted(set(prefixes), key=lambda prefix: -LEAST.get(prefix, USUAL))
    return "|".join(re.escape(prefix[1:]) + TAIL % LEAST.get(prefix, USUAL) for prefix in ordered)


PREFIXED = lazy(rf"(?<![A-Za-z0-9])(?=[A-Za-z0-9])(?:{_prefixed()})")
"""A prefix and a tail that has to look random."""

FIXED = lazy(
    r"(?<![A-Za-z0-9])(?=[A-Za-z0-9$_.~{-])(?:"
    r"(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA|AGPA|ANPA|A3T[A-Z0-9])[A-Z0-9]{12,16}(?![A-Za-z0-9])"  # AWS, unique ids
    r"|AIza[A-Za-z0-9_-]{30,35}"  # Google
    r"|[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"  # Microsoft Entra client secret
    r"|[0-9]{8,10}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"  # Telegram bot
    r"|(?:SK|AC)[0-9a-f]{32}(?![A-Za-z0-9])"  # Twilio
    r"|[0-9a-f]{32}-us[0-9]{1,2}(?![A-Za-z0-9])"  # Mailchimp
    r"|[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![A-Za-z0-9])"  # Mailgun
    r"|[0-9a-f]{36}FFFFNRAL|[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}|[A-Za-z0-9]{42}AzSe[A-Za-z0-9]{6}"  # New Relic, Azure
    r"|pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"  # Airtable
    r"|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,100}"  # HCP Terraform
    r"|s\.[A-Za-z0-9]{24}(?![A-Za-z0-9])"  # Vault before 1.10
    r"|[0-9]{1,2}/[0-9]{14,20}(?:/[0-9]{14,20})?:[0-9a-f]{32}"  # Asana
    r"|[MNO][A-Za-z0-9_-]{22,30}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{25,110}"  # Discord
    r"|[0-9]{14,17}\|[A-Za-z0-9_-]{27}(?![A-Za-z0-9_-])"  # Facebook application token
    r"|AAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{100,200}"  # Firebase Cloud Messaging
    r"|(?:FlyV1 )?fm[12]_[A-Za-z0-9+/=_,-]{40,4000}+"  # Fly
    r"|access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[0-9a-f]{32}"  # Braintree
    r"|00[A-Za-z0-9_-]{40}(?![A-Za-z0-9_-])"  # Okta
    r"|pa-[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"  # Voyage
    r"|[A-Za-z0-9]{12}-[a-z0-9]{32}(?:@developer\.gserviceaccount\.com|\.apps\.googleusercontent\.com)"
    r"|AIDA[A-Z0-9]{17}|0x[0-9a-fA-F]{64}(?![A-Za-z0-9])"  # private key of Ethereum
    r"|[5KLc9][1-9A-HJ-NP-Za-km-z]{50,51}(?![A-Za-z0-9])"  # Bitcoin wallet import format
    r"|eyJ[A-Za-z0-9_-]{8,8000}+(?:\.[A-Za-z0-9_-]{0,60000}+){1,4}|eyJ[A-Za-z0-9+/_-]{40,8000}+={0,2}"  # RFC 7519, RFC 7516
    r"|\$(?:2[abxy]|5|6|1|y|7|apr1|sha1|argon2(?:id?|d)|scrypt|pbkdf2(?:-sha(?:1|256|512))?)\$"  # crypt(5), PHC strings
    r"[A-Za-z0-9./+=,$*-]{20,400}+"
    r"|(?:pbkdf2_sha(?:1|256)|scrypt|argon2|bcrypt(?:_sha256)?|sha(?:1|256|512)|\{S?SHA[0-9]{0,3}\}|pbkdf2:sha(?:1|256|512))[:$}]{1,2}"
    r"[A-Za-z0-9:$./+=,*-]{8,200}\$[A-Za-z0-9./+=,$-]{16,400}+"
    r")"
)
"""Forms that are telling by themselves."""

ADDRESSES = lazy(
    r"https?://(?:"
    r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<slack>[A-Za-z0-9/_-]{20,200})"
    r"|(?:(?:ptb|canary)\.)?discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/(?P<discord>[0-9]{15,22}/[A-Za-z0-9_-]{30,100})"
    r"|[a-z0-9-]{1,63}\.webhook\.office\.com/(?P<teams>webhookb2/[A-Za-z0-9/@-]{40,300})"
    r"|hooks\.zapier\.com/hooks/catch/(?P<zapier>[0-9]{4,12}/[A-Za-z0-9]{5,40})"
    r"|api\.telegram\.org/(?P<telegram>bot[0-9]{6,12}:[A-Za-z0-9_-]{30,40})"
    r"|(?P<sentry>[0-9a-f]{32}(?::[0-9a-f]{32})?)@(?:o[0-9]{1,12}\.)?(?:[a-z0-9-]{1,63}\.)?sentry\.io"
    r")"
)
"""Addresses that let anybody in who knows them."""

SIGNED = lazy(
    r"(?<![A-Za-z0-9])(?:sig|[Ss]ignature|X-Amz-Signature|X-Goog-Signature|X-Amz-Security-Token)=[A-Za-z0-9%+/_-]{16,4000}+={0,3}"
)
"""Signatures of shared addresses (Azure, AWS, Google Cloud storage)."""
