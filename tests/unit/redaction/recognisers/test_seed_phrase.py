import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import SeedPhraseRecogniser

REDACTOR = Redactor(recognisers=[SeedPhraseRecogniser()])
WORDS = "abandon zebra ability youth wrestle actor velvet wisdom account acid window actual"


@pytest.mark.parametrize(
    ("text", "expected"),
    [  # BIP 39
        (WORDS, "<SECRET>"),
        (f"my seed phrase is {WORDS}", "my seed phrase is <SECRET>"),
        (f"cụm từ khôi phục: {WORDS}", "cụm từ khôi phục: <SECRET>"),
        (f"моя сид-фраза: {WORDS}", "моя сид-фраза: <SECRET>"),
        (f"助記詞：{WORDS}。", "助記詞：<SECRET>。"),
    ],
)
def test_values_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "we went there because they said that people always have good music and some food",
        "truong hop nay nguoi dung phai dang nhap lai tren trang web nay ngay",
        "hiking, painting and camping are what we like",
        "the seed phrase should never be stored online",
    ],
)
def test_what_only_looks_so_stays(text):
    assert REDACTOR.redact(text) == text
