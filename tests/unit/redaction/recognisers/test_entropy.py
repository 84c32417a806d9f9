import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import EntropyRecogniser

REDACTOR = Redactor(recognisers=[EntropyRecogniser()])
RANDOM = "q7Rf" + "X2mZ" + "9bKw" + "T4nV" + "8cLp" + "J3sY"


@pytest.mark.parametrize(
    ("text", "expected"),
    [  # random letters and digits change their kind at 62 % of places
        (f"use {RANDOM} now", "use <SECRET> now"),
        (f"金鑰{RANDOM}謝謝", "金鑰<SECRET>謝謝"),
        (f"ключ{RANDOM}запомни", "ключ<SECRET>запомни"),
        (f"`{RANDOM}`", "`<SECRET>`"),
        ("a9" + "k3j4h5g6q7w8z1x2y5" + "t6r7", "<SECRET>"),
    ],
)
def test_values_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "AbstractSingletonProxyFactoryBean",
        "iPhone15ProMax256GBTitanium",
        "d41d8cd98f00b204e9800998ecf8427e",
        "550e8400-e29b-41d4-a716-446655440000",
        f"sha512-{RANDOM}{RANDOM}==",
        f"https://docs.example.com/d/{RANDOM}/edit",
        f"data:image/png;base64,{RANDOM}",
        f"ssh-ed25519 {RANDOM}",
        "meta-llama/Llama-3.3-70B-Instruct-Turbo-Free",
        "ATGCGTACGTTAGCCTAGGCTAACGTACGATCG",
        "src/components/UserProfileSettingsPage2.test.tsx",
        "trườnghợpnàyngườidùng",
        "достопримечательность2024года",
    ],
)
def test_what_only_looks_so_stays(text):
    assert REDACTOR.redact(text) == text
