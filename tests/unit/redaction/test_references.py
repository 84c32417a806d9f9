"""A reference to a secret that is kept elsewhere stays as it is, wherever it stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.redaction import Redactor, untagged
from discreet.redaction.placeholders import TAGGED, reference, referenced, unreferenced
from discreet.redaction.streaming import StreamingRedactor
from discreet.state.ids import is_secret_id, new_secret_id

REDACTOR = Redactor(placeholder_key=bytes(32))
IDS = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", min_size=24, max_size=24)
SPOKEN = [
    "My wifi password is {}",
    "password={}",
    "the door: PIN {}, and I live in Hue.",
    "Mật khẩu wifi của tôi là {}",
    "Мой пароль: {}",
    "我的密码是{}。",
    "api_key: {}; token {}",
    "{}",
    "curl -u ann:{} https://example.com/x",
    "Authorization: Bearer {}",
    '{{"password": "{}"}}',
    "export SECRET_KEY={}",
    "my mother's maiden name is {}",
    "seed phrase: {}",
]


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("spoken", SPOKEN)
@given(secret_id=IDS)
def test_the_redactor_leaves_it_alone(spoken, secret_id):
    text = spoken.format(*[reference(secret_id)] * 2)
    assert REDACTOR.redact(text) == REDACTOR.for_thread("t").redact(text) == untagged(text) == text
    assert REDACTOR.findings(text) == []
    assert referenced([text]) == {secret_id}
    assert not TAGGED.search(text)
    assert unreferenced(text) == spoken.format("<SECRET>", "<SECRET>")


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("spoken", SPOKEN)
def test_a_stream_leaves_it_alone_wherever_it_is_cut(spoken, early):
    text = spoken.format(*[reference(new_secret_id())] * 2)
    for size in (1, 3, 7):
        stream = StreamingRedactor(REDACTOR.for_thread("t"), early=early)
        said = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert "".join([*said, stream.close()]) == text


@pytest.mark.parametrize("kind", ["EMAIL", "SECRETS", "XSECRET"])
def test_only_a_secret_has_one(kind):
    made = f"<{kind}_{new_secret_id()}>"
    assert referenced([made]) == set()
    assert not REDACTOR.placeholders.fullmatch(made)


@pytest.mark.parametrize("text", ["", "A" * 23, "A" * 25, "a" * 24, "A" * 23 + "1", "A" * 24 + "\n"])
def test_an_id_has_one_form(text):
    assert not is_secret_id(text)


def test_its_type_is_that_of_a_secret():
    match = REDACTOR.placeholders.fullmatch(reference(new_secret_id()))
    assert match["kind"] == "SECRET"
