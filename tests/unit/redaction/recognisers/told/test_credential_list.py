import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import CredentialListRecogniser

REDACTOR = Redactor(recognisers=[CredentialListRecogniser()])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ann@example.com:Kite4432", "ann@example.com:<SECRET>"),
        ("ann@example.com;Kite4432", "ann@example.com;<SECRET>"),
        ("ann@example.com|Kite4432", "ann@example.com|<SECRET>"),
        ("ann@example.com----Kite4432", "ann@example.com----<SECRET>"),
        ("ann@example.com,Kite4432", "ann@example.com,<SECRET>"),
        ("leaked: ann@example.com:Kite4432 (2019)", "leaked: ann@example.com:<SECRET> (2019)"),
        ('"ann@example.com":"Kite4432"', '"ann@example.com":"<SECRET>"'),
        ("ann@example.com:Kite4432:extra", "ann@example.com:<SECRET>"),
    ],
)
def test_what_no_word_looks_like_is_found_behind_an_address(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize("sign", [":", ";", "|", "----"])
def test_words_are_found_in_a_list(sign):
    lines = [f"{name}@example.com{sign}" for name in ("ann", "bob", "eve")]
    text = "\n".join(line + word for line, word in zip(lines, ("dragon", "sunshine", "monkey"), strict=True))
    assert REDACTOR.redact(text) == "\n".join(line + "<SECRET>" for line in lines)


@pytest.mark.parametrize(  # https://www.postgresql.org/docs/current/libpq-pgpass.html
    ("text", "expected"),
    [
        ("db.example.com:5432:app:ann:opensesame", "db.example.com:5432:app:ann:<SECRET>"),
        ("*:*:*:postgres:Kite#4432", "*:*:*:postgres:<SECRET>"),
        ("# mine\nlocalhost:5432:*:ann:kite:44\n", "# mine\nlocalhost:5432:*:ann:<SECRET>\n"),
    ],
)
def test_the_last_field_of_the_file_of_passwords_of_postgresql_is_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "ann@example.com: hello",
        "ann@example.com:hello",  # one line is no list
        "ann@example.com:8080",
        "ann@example.com:22/tcp\nbob@example.com:22/tcp",
        "git@example.com:team/project.git\ngit@example.com:team/other.git",
        "ann@example.com,bob@example.com",
        "ann@example.com;bob@example.com\neve@example.com;bob@example.com",
        "ann@example.com,hello\nbob@example.com,world",  # columns
        "ann@example.com|+12024561111",
        "ann@example.com:https://example.com/a",
        "scp a.txt ann@example.com:/home/ann/a1.txt",
        "ann@example.com:<SECRET>",
        "ann@example.com:$PASSWORD1",
        "10:30:15:200:ok now",
        "a:b:c:d:opensesame",
        "localhost:5432:app:ann",
        "localhost:5432:app:ann:********",
    ],
)
def test_what_only_looks_so_stays(text):
    assert REDACTOR.redact(text) == text
