import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import PrivateKeyRecogniser

REDACTOR = Redactor(recognisers=[PrivateKeyRecogniser()])
BODY = "\n".join(["A1b2" * 16] * 3 + ["Cd=="])


def pem(label: str, body: str = BODY) -> str:
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----"


@pytest.mark.parametrize(
    "label",
    [
        "PRIVATE KEY",
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ],
)  # RFC 7468, RFC 5915, PROTOCOL.key of OpenSSH, RFC 9580
def test_keys_are_found_over_all_their_lines(label):
    assert REDACTOR.redact(f"here:\n{pem(label)}\nthanks") == "here:\n<SECRET>\nthanks"


def test_headers_inside_the_armour_and_escaped_line_breaks_are_covered():
    headed = pem("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00FF\n\n" + BODY)
    assert REDACTOR.redact(headed) == "<SECRET>"
    assert REDACTOR.redact('{"key": "' + pem("PRIVATE KEY").replace("\n", "\\n") + '"}') == '{"key": "<SECRET>"}'


def test_two_keys_leave_what_stands_between_them():
    assert REDACTOR.redact(pem("PRIVATE KEY") + " and " + pem("PRIVATE KEY")) == "<SECRET> and <SECRET>"


def test_a_key_cut_off_is_covered_as_far_as_it_goes():
    cut = "-----" + "BEGIN PRIVATE KEY-----\n" + "A1b2" * 16 + "\n" + "A1b2" * 9
    assert REDACTOR.redact(cut) == "<SECRET>"
    assert REDACTOR.redact(cut + "\nnever mind") == "<SECRET>\nnever mind"


@pytest.mark.parametrize(
    "text", [pem("CERTIFICATE"), pem("PUBLIC KEY"), "-----END PRIVATE KEY-----", "-----BEGIN-----"]
)
def test_public_armour_stays(text):
    assert REDACTOR.redact(text) == text
