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
    ],
)
@pytest.mark.parametrize("around", ["{}", "use {} now", "金鑰{}謝謝", "`{}`", '"{}",', "key:{}"])
def test_tokens_are_found(token, around):
    assert REDACTOR.redact(around.format(token)) == around.format("<SECRET>")


def test_of_a_webhook_the_address_stays():
    path = "T0" + "A1" * 5 + "/B0" + "B2" * 5 + "/" + RUN[:24]
    assert REDACTOR.redact(f"https://hooks.slack.com/services/{path}") == "https://hooks.slack.com/services/<SECRET>"


@pytest.mark.parametrize(
    "text",
    [
        "sk-... is what keys look like",
        "sk-learn-is-a-nice-library-for-models",
        "ask-" + "a" * 32,
        "AKIA is a prefix",
        "xoxo-kisses",
        "ghp_short",
        "eyJ is base64 of an opening brace",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ],
)
def test_other_words_stay(text):
    assert REDACTOR.redact(text) == text
