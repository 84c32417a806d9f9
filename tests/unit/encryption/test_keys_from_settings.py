import base64

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.encryption import keys_from_settings, make_key, write_key
from discreet.errors import ConfigurationError
from discreet.settings import load_settings

NAME = "DISCREET_ENCRYPTION_KEYS"


def test_without_the_variable_there_are_no_keys():
    assert keys_from_settings() is None


def test_the_first_key_seals_and_all_are_found(monkeypatch):
    new, old = make_key(), make_key()
    monkeypatch.setenv(NAME, f" {write_key(new)} , {write_key(old)} ")
    keys = keys_from_settings()
    assert keys.current() == new
    assert keys.find(old.id) == old
    assert keys.find("unknown") is None


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "no colon",
        ":{secret}",
        "a b:{secret}",
        "k2:",
        "k2:{short}",
        "k2:{secret}{secret}",
        "k2:not base64!",
        "k2:ключ",
        "{same}:{secret}",
    ],
)
def test_a_bad_entry_is_named_by_its_number_and_not_repeated(monkeypatch, entry, token):
    good = make_key()
    secret, short = (base64.b64encode(token.encode().ljust(n, b"x")[:n]).decode() for n in (32, 31))
    bad = entry.format(secret=secret, short=short, same=good.id)
    monkeypatch.setenv(NAME, f"{write_key(good)},{bad}")
    with pytest.raises(ConfigurationError, match=f"^{NAME}: entry 2 .*`discreet key`") as caught:
        keys_from_settings()
    assert caught.value.__cause__ is caught.value.__context__ is None
    for part in (secret, short, write_key(good), *bad.split(":")):
        assert len(part) < 4 or part not in str(caught.value)


def test_settings_do_not_show_the_keys(monkeypatch):
    entry = write_key(make_key())
    monkeypatch.setenv(NAME, entry)
    assert entry.split(":")[1] not in repr(load_settings())


def test_the_command_prints_a_key_that_can_be_used_as_it_is(monkeypatch):
    printed = CliRunner().invoke(app, ["key"]).stdout
    monkeypatch.setenv(NAME, printed.strip())
    assert f"{write_key(keys_from_settings().current())}\n" == printed
