"""Numbers that are said. Scripts without spaces are read digit by digit in Chinese only."""

import pytest

from discreet.redaction import Redactor, redact
from discreet.redaction.normalise import normalise
from discreet.redaction.recognisers import CardRecogniser, PhoneRecogniser
from discreet.redaction.words import languages

REDACTOR = Redactor(recognisers=[CardRecogniser(), PhoneRecogniser()])
CARD = "4111111111111111"
LANGUAGES = {language.code: language for language in languages()}
CARDS = {
    "de": "meine Karte ist {}",
    "en": "my card is {}",
    "es": "mi tarjeta es {}",
    "fr": "ma carte est {}",
    "id": "kartu saya {}",
    "it": "la mia carta è {}",
    "nl": "mijn kaart is {}",
    "pl": "moja karta to {}",
    "pt": "meu cartão é {}",
    "ru": "моя карта {}",
    "tr": "kartım {}",
    "vi": "thẻ của em là {}",
    "zh": "我的卡号是{}",
}
PHONES = {  # with numbers of mobile telephones as they are said in the country
    "de": ("ruf mich an: {}", "015123456789"),
    "en": ("call me at {}", "2024561111"),
    "es": ("mi teléfono es {}", "612345678"),
    "fr": ("mon numéro est le {}", "0612345678"),
    "id": ("telepon saya {}", "081234567890"),
    "it": ("chiamami al {}", "3123456789"),
    "nl": ("bel me op {}", "0612345678"),
    "pl": ("mój telefon: {}", "512345678"),
    "pt": ("meu telefone é {}", "11961234567"),
    "ru": ("звони {}", "89161234567"),
    "tr": ("beni ara {}", "05012345678"),
    "vi": ("gọi cho em {}", "0912345678"),
    "zh": ("打电话给我{}", "13123456789"),
}
UPPER = {"en": "CALL ME AT {}", "ru": "ЗВОНИ {}", "vi": "GỌI CHO EM {}"}


def said(code, digits, sign=" "):
    """Return how digits are said one by one in a language."""
    names = LANGUAGES[code].words("spelled", "digits")
    return ("" if code == "zh" else sign).join(names[int(digit)] for digit in digits)


@pytest.mark.parametrize("code", CARDS)
def test_a_card_is_found_in_words(code):
    assert REDACTOR.redact(CARDS[code].format(said(code, CARD))) == CARDS[code].format("<CARD>")


@pytest.mark.parametrize("code", PHONES)
def test_a_telephone_number_is_found_in_words(code):
    text, number = PHONES[code]
    assert REDACTOR.redact(text.format(said(code, number))) == text.format("<PHONE>")


@pytest.mark.parametrize("sign", [", ", "-", "\n"])
@pytest.mark.parametrize("code", PHONES)
def test_signs_and_lines_may_stand_between(code, sign):
    text, number = PHONES[code]
    assert REDACTOR.redact(text.format(said(code, number, sign))) == text.format("<PHONE>")


@pytest.mark.parametrize("code", UPPER)
def test_capitals_make_no_difference(code):
    number = said(code, PHONES[code][1])
    assert REDACTOR.redact(UPPER[code].format(number.upper())) == UPPER[code].format("<PHONE>")


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("oh nine one two three four", "091234"),
        ("nine double one triple four two", "9114442"),
        ("forty-five sixty-seven eighty-nine", "456789"),
        ("forty five sixty seven eighty nine", "456789"),
        ("twelve, thirteen, fourteen", "121314"),
        ("eins zwo drei vier", "1234"),
        ("fünfundvierzig siebenundsechzig neunundachtzig", "456789"),
        ("cuarenta y cinco, sesenta y siete, ochenta y nueve", "456789"),
        ("quarante-cinq soixante-sept soixante-dix", "456770"),
        ("quarantacinque sessantasette ottantanove", "456789"),
        ("quarenta e cinco, sessenta e sete, oitenta e nove", "456789"),
        ("vijfenveertig zevenenzestig negenentachtig", "456789"),
        ("czterdzieści pięć sześćdziesiąt siedem osiemdziesiąt dziewięć", "456789"),
        ("kırk beş altmış yedi seksen dokuz", "456789"),
        ("сорок пять шестьдесят семь восемьдесят девять", "456789"),
        ("девятьсот шестнадцать сто двадцать три", "916123"),
        ("không chín một hai ba tư lăm", "0912345"),
        ("khong chin mot hai ba bon", "091234"),
        ("nol delapan satu dua", "0812"),
        ("一三五七九二四六", "13579246"),
        ("壹叁伍柒玖貳肆陸", "13579246"),
        ("一 三 五 七 九 二", "1 3 5 7 9 2"),
        ("验证码是一三五七", "验证码是1357"),
    ],
)
def test_numbers_in_words_are_read_as_digits(text, digits):
    assert normalise(text).text == digits


@pytest.mark.parametrize("code", ["en", "de", "fr", "es", "ru", "vi"])
def test_all_that_was_said_is_replaced(code):
    text = CARDS[code].format(said(code, CARD))
    assert REDACTOR.redact(f"{text}. {text}") == "{0}. {0}".format(CARDS[code].format("<CARD>"))


@pytest.mark.parametrize(
    "text",
    [
        "one two three, testing",
        "one of two or three",
        "two thousand and four",
        "at six or seven, eight at most",
        "ein, zwei, drei und los",
        "un, deux, trois, partez",
        "uno, dos, tres, ya",
        "una due tre stella",
        "um, dois, três e já",
        "een twee drie",
        "raz dwa trzy",
        "bir iki üç",
        "satu dua tiga",
        "раз два три, проверка",
        "двадцать первое сентября",
        "một hai ba, dzô",
        "năm nay năm mươi tuổi",
        "ba má em có hai con",
        "一二三四五",
        "一心一意 三心二意",
        "二〇二四年",
        "三百五十六万",
    ],
)
def test_numbers_in_prose_stay(text):
    assert normalise(text).text == text
    assert redact(text) == text
