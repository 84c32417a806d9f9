"""Tokens are built at run time: code hosts refuse literals that look like live credentials."""

import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import VendorTokenRecogniser

REDACTOR = Redactor(recognisers=[VendorTokenRecogniser()])
RUN = "a1B2c3D4" * 6


@pytest.mark.parametrize(
    "token",
    [  # prefixes and lengths: the vendors' documentation, and gitleaks' rules (MIT)
        "sk-" + "a" * 32,
        "sk-proj-" + RUN + "_-" + RUN,
        "sk-svcacct-" + RUN,
        "sk-ant-api03-" + RUN,
        "AKIA" + "A1" * 8,
        "ASIA" + "B2" * 8,
        "ghp_" + RUN[:36],
        "github_pat_" + RUN,
        "glpat-" + RUN[:20],
        "xoxb-" + "123456789012-" + RUN,
        "xapp-1-" + RUN,
        "AIza" + RUN[:35],
        "ya29." + RUN,
        "sk_live_" + RUN[:24],
        "rk_test_" + RUN[:24],
        "whsec_" + RUN,
        "hf_" + RUN[:34],
        "npm_" + RUN[:36],
        "pypi-" + RUN,
        "SG." + RUN[:22] + "." + RUN[:43],
        "gsk_" + RUN,
        "lsv2_pt_" + RUN[:32],
        "123456789:AA" + RUN[:33],
        "eyJ" + RUN + ".eyJ" + RUN + "." + RUN,
        "xai-" + RUN,
        "pplx-" + RUN,
        "r8_" + RUN[:37],
        "nvapi-" + RUN,
        "pcsk_" + RUN,
        "dapi" + "a1" * 16,
        "sbp_" + "a1" * 20,
        "glrt-" + RUN[:20],
        "ATATT3" + RUN,
        "rubygems_" + "a1" * 24,
        "dckr_pat_" + RUN[:27],
        "dop_v1_" + "a1" * 32,
        "GOCSPX-" + RUN[:28],
        "abc8Q~" + RUN[:34],
        "sntryu_" + "a1" * 32,
        "glsa_" + RUN[:32] + "_a1b2c3d4",
        "hvs." + RUN,
        "dp.pt." + RUN[:43],
        "AGE-SECRET-KEY-1" + "Q1" * 29,
        "shpat_" + "a1" * 16,
        "sq0csp-" + RUN[:43],
        "ntn_" + RUN[:46],
        "pat" + RUN[:14] + "." + "a1" * 32,
        "lin_api_" + RUN[:40],
        "figd_" + RUN[:40],
        "PMAK-" + "a1" * 12 + "-" + "b2" * 17,
        "SK" + "a1" * 16,
        "key-" + "a1" * 16,
        "a1" * 16 + "-us12",
        "EAA" + RUN * 3,
        "v4.local." + RUN,
        "0x" + "a1" * 32,
        "$2b$12$" + RUN + "abcde",
        "$6$a1B2c3D4$" + RUN,
        "$argon2id$v=19$m=65536,t=3,p=4$" + RUN[:22] + "$" + RUN[:43],
    ],
)
@pytest.mark.parametrize("around", ["{}", "use {} now", "金鑰{}謝謝", "`{}`", '"{}",', "key:{}"])
def test_tokens_are_found(token, around):
    assert REDACTOR.redact(around.format(token)) == around.format("<SECRET>")


def test_a_webhook_is_found_as_a_whole():
    path = "T0" + "A1" * 5 + "/B0" + "B2" * 5 + "/" + RUN[:24]
    assert REDACTOR.redact(f"https://hooks.slack.com/services/{path}") == "<SECRET>"


@pytest.mark.parametrize(
    "text",
    [
        "sk-... is what keys look like",
        "sk-learn-is-a-nice-library-for-models",
        "ask-" + "a" * 32,
        "AKIA is a prefix",
        "xoxo-kisses",
        "api-gateway-service-2024-release-notes",
        "the transaction 0x" + "a1" * 32,
        "st.petersburg.guide.for.travellers.online",
        "ghp_short",
        "eyJ is base64 of an opening brace",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ],
)
def test_other_words_stay(text):
    assert REDACTOR.redact(text) == text
