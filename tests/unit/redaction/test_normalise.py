import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.redaction.normalise import normalise
from discreet.redaction.normalized_text import View
from discreet.state.text import storable

ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("０１９", "019"),
        ("٣٠٣ ०१२ ၁၂", "303 012 12"),
        ("𝟕①⓪❶⑴⒈⑩", "71011110"),
        ("1️⃣2️⃣", "12"),
        ("Ａｎｎ＠Ｅｘａｍｐｌｅ．ｃｏｍ", "Ann@Example.com"),
        ("𝐚𝓷𝖓 🅰🄰ⓐ 🇺🇸", "ann AAa US"),
        ("a‐b–c—d−e", "a-b-c-d-e"),
        ("1\N{NO-BREAK SPACE}2\N{THIN SPACE}3\N{IDEOGRAPHIC SPACE}4", "1 2 3 4"),
        ("a\N{LINE SEPARATOR}b", "a\nb"),
        ("0\u200b9\u00ad1\u20602\ufe0f3\U000e00414\u202e5\u200f6\u034f7", "091234567"),
        ("m²", "m²"),
        ("mật khẩu 密碼 №5 … ™", "mật khẩu 密碼 №5 … ™"),
        ("mâ\u0323t kh\u00e2\u0309u", "mật khẩu"),
        ("4\u03361\u0336", "41"),
        ("й и\u0306", "й й"),
        ("annа@exаmple.com", "anna@example.com"),
        ("сору и пaрa", "сору и пaрa"),
        ("оно сам", "оно сам"),
        ("номерann", "номерann"),
        ("0912 3**45 678**", "0912 345 678"),
        ("**bold** ~~gone~~ a*b", "bold gone a*b"),
        ("****", "****"),
        ("09<b>12</b>345", "0912345"),
        ("a < b > c <p>", "a < b > c <p>"),
        ("零九一二三四五六七八", "0912345678"),
        ("零七九 零六四 二二二", "079 064 222"),
        ("二零二四年一月", "二零二四年一月"),
        ("call oh nine one two, three four five six double seven", "call 0912345677"),
        ("Zero-nine-one-two-three-four-five", "0912345"),
        ("số không chín một hai ba bốn năm sáu bảy tám nhé", "số 0912345678 nhé"),
        ("khong chin mot hai ba bon nam sau bay tam", "0912345678"),
        ("восемь девять два один шесть пять один четыре семь шесть девять", "89216514769"),
        ("one two, three", "one two, three"),
        ("hai ba năm nữa ba tôi", "hai ba năm nữa ba tôi"),
        ("someone two three", "someone two three"),
    ],
)
def test_texts_that_look_the_same_become_the_same(text, expected):
    assert normalise(text).text == expected


@pytest.mark.parametrize(
    ("text", "part", "original"),
    [
        ("x 0\u200b9\u200b1 y", "091", "0\u200b9\u200b1"),
        ("x ⑩⑩ y", "10", "⑩"),
        ("x a\u0323 y", "ạ", "a\u0323"),
        ("x 09**12** y", "0912", "09**12"),
        ("😀😀 ann@ｅxample.com", "ann@example.com", "ann@ｅxample.com"),
    ],
)
def test_places_lead_back_to_the_original(text, part, original):
    view = normalise(text)
    start = view.text.index(part)
    begin, end = view.source(start, start + len(part))
    assert text[begin:end] == original


@given(ANY_TEXT)
def test_every_character_has_its_place_in_order(text):
    view = normalise(storable(text))
    places = [view.source(i, i + 1) for i in range(len(view.text))]
    assert all(0 <= start < end <= len(storable(text)) for start, end in places)
    assert places == sorted(places)


@given(ANY_TEXT)
def test_plain_characters_stand_for_themselves(text):
    text = storable(text)
    view = normalise(text)
    for i, char in enumerate(view.text):
        start, end = view.source(i, i + 1)
        if char.isascii() and text[start:end].isascii() and end == start + 1:
            assert text[start] == char or (text[start] in "\x0b\x0c" and char == "\n")


def test_edits_of_edits_lead_back_to_the_first_text():
    view = View("abcdef").spliced([(1, 3, "X")])
    assert (view.text, view.source(1, 2), view.source(2, 3)) == ("aXdef", (1, 3), (3, 4))
    again = view.spliced([(0, 2, "YY"), (4, 5, "")])
    assert (again.text, again.source(0, 1), again.source(2, 4)) == ("YYde", (0, 3), (3, 5))


def test_what_is_derived_is_worked_out_once():
    asked = []

    def derive(text):
        asked.append(text)
        return len(text)

    view = View("abc")
    assert (view.derived(derive), view.derived(derive), asked) == (3, 3, ["abc"])
