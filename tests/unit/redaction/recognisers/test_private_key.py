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


ROWS = ["A1b2" * 16, "C3d4" * 16, "Ef=="]


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("", ""),
        ("> ", ""),
        ("# ", ""),
        ("+", ""),
        ("-", ""),
        ("- ", ""),
        ("  7: ", ""),
        ("2024-01-01 12:00:00 app | ", ""),
        ("[web-1] 12:00:00.123 INFO  ", ""),
        ('"', r"\n" + '",'),
        ('{"log":"', r"\n" + '","stream":"stderr"}'),
    ],
)
def test_a_key_cut_off_is_covered_with_what_stands_around_its_lines(before, behind):
    lines = ["-----" + "BEGIN PRIVATE KEY-----", *ROWS[:2]]
    cut = "\n".join(before + line + behind for line in lines)
    assert REDACTOR.redact(cut) == f"{before}<SECRET>{behind}"
    goes_on = f"\n{before}never mind{behind}"
    assert REDACTOR.redact(cut + goes_on) == f"{before}<SECRET>{behind}{goes_on}"
    short = f"{cut}\n{before}{ROWS[2]}{behind}"
    assert REDACTOR.redact(short) == f"{before}<SECRET>{behind}"


def test_numbers_and_words_before_the_lines_of_a_key_cut_off_may_differ():
    lines = ["12:00:01 a | -----" + "BEGIN PRIVATE KEY-----", f"12:00:02 b | {ROWS[0]}", f"12:00:03 c | {ROWS[1]}"]
    assert (
        REDACTOR.redact("\n".join([*lines, "12:00:04 d | all done"])) == "12:00:01 a | <SECRET>\n12:00:04 d | all done"
    )


@pytest.mark.parametrize(
    "behind",
    [
        "app | connected to " + "a" * 20,
        "app: " + "A1b2" * 16,
        "app | " + "A1b2" * 16 + " is the digest",
        "app | ok then",
        "app | ok\napp | then",
        "app |\napp |\napp | " + "A1b2" * 16,
    ],
)
def test_lines_behind_the_beginning_of_a_key_that_are_none_of_it_stay(behind):
    text = "app | -----" + "BEGIN PRIVATE KEY-----\n"
    assert REDACTOR.redact(text + behind) == "app | <SECRET>\n" + behind


@pytest.mark.parametrize(
    "text", [pem("CERTIFICATE"), pem("PUBLIC KEY"), "-----END PRIVATE KEY-----", "-----BEGIN-----"]
)
def test_public_armour_stays(text):
    assert REDACTOR.redact(text) == text
