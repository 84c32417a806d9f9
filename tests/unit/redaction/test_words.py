import re

import pytest

from discreet.redaction.normalise import normalise
from discreet.redaction.words import any_of, languages, whole, words

LANGUAGES = {language.code: language for language in languages()}
ENGLISH = LANGUAGES["en"].tables
LISTS = {(table, name) for table, lists in ENGLISH.items() for name in lists}
MAY_BE_EMPTY = {
    ("secret", "weak"),
    ("telling", "leads"),
    ("telling", "for"),
    ("code", "plain"),
    ("spelled", "also"),
    ("spelled", "repeats"),
}
"""Not every language has short forms, small words before a value, or a word for saying a digit twice."""
BY_DIGITS = {("spelled", "numbers"), ("spelled", "tens"), ("spelled", "joined")}
"""Where words have no spaces between them, numbers are read digit by digit only."""


def entries_of(code):
    """Return each list of a language with the names of its table and of itself."""
    return [
        (table, name, entries) for table, lists in LANGUAGES[code].tables.items() for name, entries in lists.items()
    ]


def is_right(entry, *, spelled):
    """Tell whether an entry is written as recognisers see it, in small letters, but for numbers in words, which become digits before."""
    word = re.sub(r"\A\*|\*\Z", "", entry)
    return (
        word.strip()
        and "*" not in word
        and entry == entry.strip().lower()
        and (spelled or normalise(entry).text == entry)
    )


def test_the_languages_are_these():
    assert list(LANGUAGES) == [
        "ar",
        "de",
        "en",
        "es",
        "fr",
        "hi",
        "id",
        "it",
        "ja",
        "ko",
        "nl",
        "pl",
        "pt",
        "ru",
        "th",
        "tr",
        "vi",
        "zh",
    ]


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_language_has_the_lists_of_english_and_entries_in_them(code):
    lists = {(table, name): entries for table, name, entries in entries_of(code)}
    assert LANGUAGES[code].tables.keys() == ENGLISH.keys()
    assert LISTS - lists.keys() == set()
    empty = {key for key, entries in lists.items() if not entries}
    assert empty - MAY_BE_EMPTY - (set() if LANGUAGES[code].spaced else BY_DIGITS) == set()


@pytest.mark.parametrize("code", LANGUAGES)
def test_entries_are_written_as_they_are_looked_for_and_once(code):
    lists = entries_of(code)
    wrong = [
        (table, name, each)
        for table, name, entries in lists
        for each in entries
        if not is_right(each, spelled=table == "spelled")
    ]
    twice = [(table, name, each) for table, name, entries in lists for each in set(entries) if entries.count(each) > 1]
    assert (wrong, twice) == ([], [])


@pytest.mark.parametrize("code", LANGUAGES)
def test_digits_in_words_are_ten_and_other_forms_say_which_they_are(code):
    spelled = LANGUAGES[code].tables["spelled"]
    assert len(spelled["digits"]) == 10
    forms = (*spelled["also"], *spelled["repeats"])
    assert [form for form in forms if not re.fullmatch(r"[^=\s][^=]*=[0-9]{1,2}", form)] == []


@pytest.mark.parametrize("code", LANGUAGES)
def test_tens_come_with_how_they_are_joined_to_digits(code):
    spelled = LANGUAGES[code].tables["spelled"]
    assert ("tens" in spelled) == ("joined" in spelled)
    for pattern in spelled.get("joined", ()):
        assert "{tens}" in pattern
        assert "{digit}" in pattern


def test_a_language_returns_its_words_and_nothing_for_a_list_it_lacks():
    language = LANGUAGES["en"]
    assert language.words("secret", "password") == language.tables["secret"]["password"]
    assert language.words("secret", "no such list") == ()


def test_words_of_all_languages_are_one_list_without_repetitions():
    both = words("secret", "password", "weak")
    assert len(both) == len(set(both))
    assert {"password", "mk", "пароль", "密码"} <= set(both)
    assert set(both) == {*words("secret", "password"), *words("secret", "weak")}


def test_words_can_be_those_of_languages_with_spaces_or_without():
    spaced, unspaced = (set(words("secret", "password", spaced=each)) for each in (True, False))
    assert "mật khẩu" in spaced - unspaced
    assert "密码" in unspaced - spaced
    assert spaced | unspaced == set(words("secret", "password"))


@pytest.mark.parametrize("names", [["pin", "pin code", "pi"], "pin|pin code|pi"])
def test_any_of_takes_the_longest_name_that_fits(names):
    assert [re.match(any_of(names), text)[0] for text in ("pin codes", "pins", "pie")] == ["pin code", "pin", "pi"]


@pytest.mark.parametrize("text", ["p", "PIN", "xpin", ""])
def test_any_of_fits_nothing_but_its_names(text):
    assert not re.match(any_of("pin|pi"), text)


def test_any_of_may_ignore_capitals():
    assert re.fullmatch(any_of("mã pin", caseless=True), "MÃ Pin")


def test_any_of_takes_signs_as_they_are():
    assert re.fullmatch(any_of("a.c"), "a.c")
    assert not re.fullmatch(any_of("a.c"), "abc")


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("pin", "my pin is"),
        ("pin", "pin4821"),
        ("pin", "我的pin是"),  # letters of another script may stand beside it
        ("pin", "мойpin"),
        ("пин", "pinпин"),
        ("密码", "我的密码是"),
        ("pin code", "pin code"),
        ("pin code", "pin-code"),
        ("pin code", "pin_code"),
        ("pin code", "pincode"),
        ("mật khẩu", "mật khẩu"),
        ("*nummer", "telefonnummer 5"),
        ("парол*", "паролями"),
        ("забы*", "забы"),
        ("*fest*", "grillfeste"),
    ],
)
def test_whole_finds_words(entry, text):
    assert re.search(whole([entry]), text)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("pin", "spinning"),
        ("pin", "pins"),
        ("pin", "épin"),
        ("пин", "спина"),
        ("pin code", "pin  code"),
        ("pin code", "pin the code"),
        ("*nummer", "nummern"),
        ("парол*", "безпароля"),
        ("забы*", "забыва" + "я" * 12),
        ("密码", "密 码"),
    ],
)
def test_whole_does_not_find_parts_of_words(entry, text):
    assert not re.search(whole([entry]), text)


def test_whole_takes_the_longest_of_its_entries():
    assert re.search(whole(["pin", "pin code", "код", "密码"]), "the pin code is")[0] == "pin code"
