import base64
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.access.caller import Caller
from discreet.access.identity import Identities, is_identity, load_identities
from discreet.access.run_user import run_user
from discreet.errors import ConfigurationError, ForbiddenError, InvalidUserError
from discreet.redaction import Redactor
from discreet.settings import Settings, load_settings

NAMES = st.text(st.characters(exclude_categories=("Cc", "Cs", "Z")), min_size=1, max_size=200)
IDENTITIES = Identities(bytes(32))
REDACTOR = Redactor(placeholder_key=bytes(32))


@given(NAMES, NAMES)
def test_an_identity_is_one_persons_and_tells_nothing(first, second):
    assert is_identity(IDENTITIES.of(first))
    assert (IDENTITIES.of(first) == IDENTITIES.of(second)) == (first == second)
    assert IDENTITIES.of(first) != Identities(bytes(31) + b"1").of(first)


@given(NAMES)
def test_no_redactor_takes_an_identity_for_something_else(name):
    identity = IDENTITIES.of(name)
    for text in (identity, f"owner: {identity}", f'{{"user_id": "{identity}"}}', f"users.{identity}.notes"):
        assert REDACTOR.redact(text) == text


def test_the_key_is_made_once_and_only_its_owner_reads_it(tmp_path, monkeypatch):
    monkeypatch.delenv("DISCREET_IDENTITY_KEY")
    first = load_identities(load_settings()).of("ann")
    file = tmp_path / ".discreet" / "identity.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert load_identities(load_settings()).of("ann") == first
    assert load_identities(Settings(identity_key=base64.b64encode(bytes(32)).decode())).of("ann") != first


def test_a_key_that_cant_be_kept_is_an_error_since_nobody_would_find_what_is_theirs(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("DISCREET_IDENTITY_KEY")
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "file" / "data"))
    with pytest.raises(ConfigurationError, match="DISCREET_IDENTITY_KEY"):
        load_identities(load_settings())


def caller(name, *, names_users=False):
    return Caller(subject=name, identity=IDENTITIES.of(name), names_users=names_users)


@given(NAMES, st.none() | NAMES)
def test_a_run_is_its_callers_or_is_refused(name, named):
    ann = caller(name)
    if named in (None, name):
        assert run_user(ann, named, IDENTITIES.of) == ann.identity
    else:
        with pytest.raises(ForbiddenError):
            run_user(ann, named, IDENTITIES.of)
        with pytest.raises(ForbiddenError):
            run_user(ann, IDENTITIES.of(named), IDENTITIES.of)


@given(NAMES, st.none() | NAMES, st.booleans())
def test_the_rule_may_be_applied_twice(name, named, names_users):
    ann = caller(name, names_users=names_users)
    try:
        once = run_user(ann, named, IDENTITIES.of)
    except ForbiddenError:
        assert not names_users
    else:
        assert is_identity(once)
        assert run_user(ann, once, IDENTITIES.of) == once


def test_who_names_users_makes_them_opaque():
    assert run_user(caller("anonymous", names_users=True), "bob", IDENTITIES.of) == IDENTITIES.of("bob")


@pytest.mark.parametrize("named", ["", "\n", "a" * 201, 7.5, ["ann"]])
def test_what_can_be_nobodys_name_is_refused(named):
    for names_users in (False, True):
        with pytest.raises(InvalidUserError):
            run_user(caller("ann", names_users=names_users), named, IDENTITIES.of)
