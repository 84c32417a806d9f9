import stat
import sys
from io import StringIO

import pytest
from rich.console import Console
from typer.testing import CliRunner

from discreet.access import Authenticator
from discreet.cli import app
from discreet.cli.tokens_shown import access_environment, show_access
from discreet.errors import ConfigurationError, UnauthorisedError
from discreet.settings import load_settings


@pytest.fixture
def console():
    return Console(stderr=True)


@pytest.fixture
def on_a_terminal(monkeypatch):
    """Return what calls something with a terminal as output, and returns what came there."""

    def run(do):
        terminal = StringIO()
        terminal.isatty = lambda: True
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", terminal)
            do()
        return terminal.getvalue()

    return run


def environment(*subjects):
    return access_environment(load_settings(), subjects)


async def callers_of(tokens):
    authenticator = Authenticator(load_settings())
    return [await authenticator.caller({"authorization": f"Bearer {token}"}, None) for token in tokens]


async def test_the_server_takes_the_tokens_that_are_shown(capsys, monkeypatch, console, on_a_terminal):
    given = environment("ann", "bob")
    shown = on_a_terminal(lambda: show_access(load_settings(), ("ann", "bob"), console)).split()
    told = capsys.readouterr().err
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert [caller.subject for caller in await callers_of(shown)] == ["ann", "bob"]
    assert not any(token in told for token in shown)
    assert given["DISCREET_JWT_SECRET"] not in told + " ".join(shown)


async def test_without_a_name_it_is_the_developer_who_may_change_settings(monkeypatch, console, on_a_terminal):
    monkeypatch.setenv("DISCREET_JWT_SECRET", environment()["DISCREET_JWT_SECRET"])
    shown = on_a_terminal(lambda: show_access(load_settings(), ("developer",), console))
    (caller,) = await callers_of(shown.split())
    assert (caller.subject, caller.admin) == ("developer", True)


@pytest.mark.parametrize(
    ("subjects", "command"),
    [
        ((), "discreet token developer --admin"),
        (("ann", "it's me"), """discreet token ann, discreet token 'it'"'"'s me'"""),
    ],
)
def test_output_that_goes_elsewhere_gets_no_token_but_is_told_how_to_get_one(capsys, console, subjects, command):
    assert show_access(load_settings(), subjects, console) is False
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"Tokens are shown on a terminal only. To get one: {command}\n"


def test_a_token_survives_a_restart_and_only_its_owner_reads_what_signs_it(tmp_path):
    assert environment() == environment()
    assert stat.S_IMODE((tmp_path / ".discreet" / "development.key").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DISCREET_JWT_SECRET", "s" * 32),
        ("DISCREET_JWKS_URL", "https://issuer.example.com/keys"),
        ("DISCREET_API_KEYS", f'["ann:{"0" * 64}"]'),
        ("DISCREET_ALLOW_ANONYMOUS", "true"),
    ],
)
def test_what_the_settings_say_stays(monkeypatch, console, on_a_terminal, name, value):
    monkeypatch.setenv(name, value)
    assert environment() == {}
    assert on_a_terminal(lambda: show_access(load_settings(), (), console)) == ""
    assert not load_settings().data_dir.exists()


async def test_the_token_command_goes_with_the_server_in_the_same_folder(monkeypatch):
    given = environment("ann")
    token = CliRunner().invoke(app, ["token", "bob", "--admin", "--days", "1"]).stdout.strip()
    monkeypatch.setenv("DISCREET_JWT_SECRET", given["DISCREET_JWT_SECRET"])
    (caller,) = await callers_of([token])
    assert (caller.subject, caller.admin) == ("bob", True)


async def test_the_token_command_goes_with_the_configured_server(monkeypatch):
    monkeypatch.setenv("DISCREET_JWT_SECRET", "s" * 32)
    monkeypatch.setenv("DISCREET_JWT_ISSUER", "https://issuer.example.com")
    monkeypatch.setenv("DISCREET_JWT_AUDIENCE", "discreet")
    token = CliRunner().invoke(app, ["token", "bob"]).stdout.strip()
    (caller,) = await callers_of([token])
    assert (caller.subject, caller.admin) == ("bob", False)


def test_tokens_that_are_signed_elsewhere_are_not_made_here(monkeypatch, console, on_a_terminal):
    monkeypatch.setenv("DISCREET_JWKS_URL", "https://issuer.example.com/keys")
    result = CliRunner().invoke(app, ["token", "bob"])
    assert result.exit_code != 0
    assert "DISCREET_JWT_SECRET" in str(result.exception)
    with pytest.raises(ConfigurationError, match="DISCREET_JWT_SECRET"):
        on_a_terminal(lambda: show_access(load_settings(), ("ann",), console))


def test_a_reserved_name_gets_no_token(console, on_a_terminal):
    with pytest.raises(UnauthorisedError, match="reserved"):
        on_a_terminal(lambda: show_access(load_settings(), ("studio",), console))
