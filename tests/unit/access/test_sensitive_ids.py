"""Which ids of users and threads are taken, and what stands for the others."""

from __future__ import annotations

import secrets
import string
from random import Random

import pytest

from discreet.access.identity import Identities, is_identity
from discreet.access.sensitive_ids import SensitiveIds, load_sensitive_ids
from discreet.access.user_keys import load_user_keys
from discreet.errors import InvalidUserError, SensitiveIdError
from discreet.settings import Settings

PLAIN = [
    "ann", "t", "1", "42", "123456", "user-17", "thread-1", "acme:4711", "chat_1764253577", "Nguyễn", "小明", "U024BE7LH",
    "0d2c5b1e-7a44-4f0b-9b7a-3f2f6f0c9e11", "0D2C5B1E-7A44-4F0B-9B7A-3F2F6F0C9E11", "5f7c8ec7c33c6c004bbafe82",
    "auth0|83120255501436c004bbafe8", "google-oauth2|103547991597142817347", "u_mckkknmdrtqsqrdbjcplhrbqttcmsqgbfltqqjlb",
]  # fmt: skip
SENSITIVE = [
    ("ann@example.com", "EMAIL"), ("12025550143", "PHONE"), ("+1 202 555 0143", "PHONE"), ("whatsapp:+12025550143", "PHONE"),
    ("84912345678", "PHONE"), ("79161234567", "PHONE"), ("8613812345678", "PHONE"), ("12025550143@s.whatsapp.net", "EMAIL"),
    ("thread of ann@example.com", "EMAIL"), ("4111 1111 1111 1111", "CARD"), ("GB82WEST12345698765432", "IBAN"),
]  # fmt: skip


@pytest.fixture
def refusing(tmp_path):
    return load_sensitive_ids(Settings(_env_file=None, data_dir=tmp_path))


@pytest.fixture
def hashing(tmp_path):
    return load_sensitive_ids(Settings(_env_file=None, data_dir=tmp_path, sensitive_ids="hash"))


@pytest.mark.fast_cases(9)
@pytest.mark.parametrize("given", PLAIN)
def test_ids_of_ones_own_are_taken_as_they_are(refusing, hashing, given):
    for ids in (refusing, hashing):
        assert ids.user_id(given) == given
        assert ids.thread_id(given) == given


@pytest.mark.parametrize(("given", "found"), SENSITIVE)
def test_an_id_with_a_sensitive_value_is_refused_with_what_to_do_and_without_the_value(refusing, given, found):
    for take, kind in ((refusing.user_id, "user_id"), (refusing.thread_id, "thread_id")):
        with pytest.raises(
            SensitiveIdError, match=rf"^The {kind} holds a sensitive value .*DISCREET_SENSITIVE_IDS=hash"
        ) as caught:
            take(given)
        assert (caught.value.kind, caught.value.found) == (kind, found)
        assert given not in str(caught.value)


@pytest.mark.parametrize(("given", "_found"), SENSITIVE)
def test_a_digest_stands_for_it_that_stays_the_same(hashing, given, _found):
    user, thread = hashing.user_id(given), hashing.thread_id(given)
    assert is_identity(user)
    assert is_identity(thread, of="thread")
    assert user[2:] != thread[2:]
    assert (hashing.user_id(user), hashing.thread_id(thread)) == (user, thread)
    assert hashing.user_id(given, stores=False) == user


def test_what_was_there_before_is_found_to_be_read_or_deleted(refusing):
    assert refusing.user_id("ann@example.com", stores=False) == "ann@example.com"
    assert refusing.thread_id("ann@example.com", stores=False) == "ann@example.com"


def test_a_hashed_user_is_who_a_server_knows_by_that_name(tmp_path):
    settings = Settings(_env_file=None, data_dir=tmp_path, sensitive_ids="hash", identity_key=None)
    keys = load_user_keys(settings)
    identity = keys.ids.user_id("ann@example.com")
    assert keys.of_user("ann@example.com") == keys.of_user(identity)
    assert keys.of(None, "ann@example.com") == keys.of_thread(keys.ids.thread_id("ann@example.com"))


def test_an_id_that_can_be_nobodys_is_refused_in_either_way(refusing, hashing):
    for ids in (refusing, hashing):
        with pytest.raises(InvalidUserError):
            ids.user_id(" ")


@pytest.mark.parametrize(
    ("prefix", "letters", "chars"),
    [
        ("", string.ascii_letters + string.digits + "_-", 21),
        ("01", "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 24),
        ("", string.ascii_letters + string.digits, 28),
        ("user_2", string.ascii_letters + string.digits, 26),
        ("auth0|", "0123456789abcdef", 24),
        ("", "0123456789abcdef", 64),
    ],
    ids=["nanoid", "ulid", "firebase", "clerk", "auth0", "sha256"],
)
def test_random_ids_of_others_are_taken(refusing, prefix, letters, chars):
    random = Random(7)  # of a thousand nanoids some read as a number of a telephone
    made = [prefix + "".join(random.choices(letters, k=chars)) for _ in range(60)]
    assert [each for each in made if refusing.refuses(each)] == []


def test_a_key_of_a_provider_is_no_id(refusing):
    assert refusing.found_in("ghp_" + "".join(secrets.choice(string.ascii_letters) for _ in range(36))) == "SECRET"


def test_the_settings_of_the_redactor_hold_for_ids(tmp_path):
    unmasked = Settings(_env_file=None, data_dir=tmp_path, unmasked_types=("PHONE",))
    assert load_sensitive_ids(unmasked).user_id("+1 202 555 0143") == "+1 202 555 0143"


def test_an_id_is_looked_at_once():
    seen = []
    ids = SensitiveIds(seen.append, Identities(bytes(32)))
    for _ in range(3):
        ids.user_id("ann")
    assert seen == ["ann"]
