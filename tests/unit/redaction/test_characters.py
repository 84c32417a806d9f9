import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.redaction.characters import fold
from discreet.state.text import storable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("０１９", "019"),
        ("٣٠٣", "303"),
        ("𝟕①", "71"),
        ("a‐b–c—d−e", "a-b-c-d-e"),
        ("1\N{NO-BREAK SPACE}2\N{THIN SPACE}3\N{IDEOGRAPHIC SPACE}4", "1 2 3 4"),
        ("＠．：", "@.:"),
        ("m²", "m²"),
        ("mật khẩu 密碼 ﬁ", "mật khẩu 密碼 ﬁ"),
    ],
)
def test_look_alikes_become_ascii(text, expected):
    assert fold(text) == expected


@given(st.text(st.characters(exclude_categories=())))
def test_folding_never_moves_a_character(text):
    assert len(fold(text)) == len(text)


@given(st.text(st.characters(exclude_categories=())))
def test_storable_text_stays_as_it_is(text):
    assert storable(storable(text)) == storable(text)
