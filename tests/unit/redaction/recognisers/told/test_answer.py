import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import SecurityAnswerRecogniser

REDACTOR = Redactor(recognisers=[SecurityAnswerRecogniser()])


@pytest.mark.parametrize(
    ("text", "expected"),
    [  # forms of sign-up pages
        ("my security answer is Whiskers", "my security answer is <SECRET>"),
        ("Security question: first pet? Answer: Blue Lagoon", "Security question: first pet? Answer: <SECRET>"),
        ("câu trả lời bảo mật của tôi là Mèo Mun", "câu trả lời bảo mật của tôi là <SECRET>"),
        ("ответ на секретный вопрос: Мурка", "ответ на секретный вопрос: <SECRET>"),
        ("安全問題的答案是台南", "安全問題的答案是<SECRET>"),
    ],
)
def test_values_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "the answer is forty-two",
        "câu trả lời là 42",
        "ответ: 42",
        "答案是42",
        "security question ideas?",
    ],
)
def test_what_only_looks_so_stays(text):
    assert REDACTOR.redact(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("secret answer: Rex.44!x", "secret answer: <SECRET>"),
        ("кодовое слово ромашка77", "кодовое слово <SECRET>"),
        ("кодовое слово: лимон", "кодовое слово: <SECRET>"),
    ],
)
def test_odd_answers_and_code_words_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize("text", ["кодовое слово забыл", "какое кодовое слово у тебя?", "кодовое слово нужно"])
def test_words_about_code_words_stay(text):
    assert REDACTOR.redact(text) == text
