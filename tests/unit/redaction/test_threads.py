import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ConfigurationError
from discreet.redaction import Redactor, resolve, untagged
from discreet.redaction.placeholders import UNTAGGED
from discreet.redaction.threads import _identity
from discreet.state.text import storable

KEY = bytes(range(32))
REDACTOR = Redactor(placeholder_key=KEY)
THREAD = REDACTOR.for_thread("thread-1")
MAIL = "ann@example.com"
TAG = re.compile(r"<([A-Z_]+)(?::([A-Z2-7]{8}))?>")


def tags(text, thread=THREAD):
    return [tag for _, tag in TAG.findall(thread.redact(text))]


def test_equal_values_of_a_thread_get_equal_tags_and_others_do_not():
    first, again, other = tags(f"{MAIL} ANN@Example.com bob@example.com")
    assert first == again != other
    assert tags("0912 345 678") == tags("call 0912345678") == tags("(0912) 345-678")


def test_type_is_part_of_the_tag():
    assert tags("4111 1111 1111 1111") != tags("phone 4111 1111 1111 111")


def test_threads_and_keys_can_not_be_linked():
    redactors = [Redactor(placeholder_key=key) for key in (KEY, bytes(32))]
    seen = {tags(MAIL, each.for_thread(name))[0] for each, name in itertools.product(redactors, "ab")}
    assert len(seen) == 4


def test_another_process_makes_the_same_tag():
    """The tag is 40 bits of HMAC-SHA256 under HKDF-SHA256 of the key; worked out once with OpenSSL's command line."""
    assert THREAD.redact(MAIL) == "<EMAIL:CBACT6JF>"


def test_without_a_thread_nothing_is_tagged():
    assert REDACTOR.redact(f"{MAIL} and <EMAIL:7K2QX3MD>") == "<EMAIL> and <EMAIL>"


def test_tags_of_the_thread_stay():
    once = THREAD.redact(f"write to {MAIL}")
    assert THREAD.redact(once) == once
    assert untagged(once) == REDACTOR.redact(once) == "write to <EMAIL>"


def test_secrets_are_never_told_apart():
    masked = THREAD.mask("my password is " + "tr0ub4dor" + "&3")
    assert masked == ("my password is <SECRET>", {})


@pytest.mark.parametrize(
    "text", ["<EMAIL:7K2QX3MD>", "<EM\0AIL:7K2QX3MD>", "<EMAIL:<EMAIL:7K2QX3MD>>", "<FOO:7K2QX3MD>"]
)
def test_nobody_can_name_a_value_of_the_turn(text):
    masked = THREAD.mask(text)
    assert resolve(masked.text, {"<EMAIL:7K2QX3MD>": MAIL, "<FOO:7K2QX3MD>": MAIL}) == masked.text
    assert "7K2QX3MD" not in masked.text or ":7K2QX3MD>" not in masked.text


def test_a_value_can_not_name_another_value():
    values = {"<EMAIL:AAAAAAAA>": "<EMAIL:BBBBBBBB>", "<EMAIL:BBBBBBBB>": MAIL}
    assert resolve("<EMAIL:AAAAAAAA>", values) == "<EMAIL:BBBBBBBB>"


def test_a_value_whose_tag_is_taken_stays_untagged_and_unresolved():
    placeholder = THREAD.redact(MAIL)
    masked = THREAD.mask(f"write to {MAIL}", known={placeholder: "bob@example.com"})
    assert masked == ("write to <EMAIL>", {})


def test_another_spelling_resolves_to_the_first():
    first = THREAD.mask("0912 345 678")
    second = THREAD.mask("(0912) 345-678", known=first.values)
    assert second.text == first.text
    assert second.values == first.values


def test_of_a_masked_text_no_value_is_shown():
    assert MAIL not in repr(THREAD.mask(MAIL))


WORDS = st.sampled_from(
    [MAIL, "bob@example.org", "0912 345 678", "4111 1111 1111 1111", "hello", "<EMAIL>", "你好", "\n", ", "]
)


@given(st.lists(st.one_of(WORDS, st.text(max_size=5)), max_size=12).map(" ".join))
def test_what_was_masked_resolves_to_what_it_was(text):
    masked = THREAD.mask(text)
    assert untagged(masked.text) == REDACTOR.redact(text)
    text = untagged(storable(text))
    spelled: dict[tuple[str, str], str] = {}
    expected, done = "", 0
    for finding in REDACTOR.findings(text):
        value = text[finding.start : finding.end]
        first = spelled.setdefault((finding.type, _identity(finding.type, value)), value)
        expected += text[done : finding.start] + (f"<{finding.type}>" if finding.type in UNTAGGED else first)
        done = finding.end
    assert resolve(masked.text, masked.values) == expected + text[done:]


@pytest.mark.parametrize(
    ("kind", "left", "right", "same"),
    [
        ("PHONE", "+84 912-345-678", "+84912345678", True),
        ("CARD", "4111 1111 1111 1111", "４１１１-1111-1111-1111", True),
        ("EMAIL", "Ann@Example.com", "ann@example.com", True),
        ("EMAIL", "a.b@example.com", "ab@example.com", False),
        ("ADDRESS", "12 Main  St", "12 main st", True),
        ("URL", "https://x.org/A", "https://x.org/a", False),
        ("IP", "1:23::", "12:3::", False),
    ],
)
def test_what_counts_as_the_same_value(kind, left, right, same):
    assert (_identity(kind, left) == _identity(kind, right)) is same


def test_a_key_that_can_not_be_used_says_so_when_it_is_needed(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_PLACEHOLDER_KEY", "short")
    from discreet.redaction.placeholder_key import default_key

    default_key.cache_clear()
    thread = Redactor().for_thread("1")
    with pytest.raises(ConfigurationError, match="DISCREET_PLACEHOLDER_KEY"):
        thread.redact(MAIL)
    default_key.cache_clear()
