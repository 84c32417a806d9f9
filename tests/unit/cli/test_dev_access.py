import stat
import sys

import pytest
from rich.console import Console
from typer.testing import CliRunner

from discreet.access import Authenticator
from discreet.cli import app
from discreet.cli.dev import _access
from discreet.settings import load_settings


def access(*subjects):
    return _access(2024, subjects, Console(stderr=True))


async def callers_of(tokens):
    authenticator = Authenticator(load_settings())
    return [await authenticator.caller({"authorization": f"Bearer {token}"}, None) for token in tokens]


async def test_the_server_takes_the_tokens_that_are_printed(capsys, monkeypatch):
    environment = access("ann", "bob")
    printed = capsys.readouterr()
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert [caller.subject for caller in await callers_of(printed.out.split())] == ["ann", "bob"]
    assert "curl" in printed.err
    assert not any(token in printed.err for token in printed.out.split())
    assert environment["DISCREET_JWT_SECRET"] not in printed.out + printed.err


async def test_without_a_name_it_is_the_developer_who_may_change_settings(capsys, monkeypatch):
    monkeypatch.setenv("DISCREET_JWT_SECRET", access()["DISCREET_JWT_SECRET"])
    (caller,) = await callers_of(capsys.readouterr().out.split())
    assert (caller.subject, caller.admin) == ("developer", True)


def test_a_token_survives_a_restart_and_only_its_owner_reads_what_signs_it(tmp_path):
    assert access() == access()
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
def test_what_the_settings_say_stays(monkeypatch, capsys, tmp_path, name, value):
    monkeypatch.setenv(name, value)
    assert access() == {}
    assert capsys.readouterr().out == ""
    assert not (tmp_path / ".discreet").exists()


async def test_the_token_command_goes_with_the_server_in_the_same_folder(monkeypatch, capsys):
    environment = access("ann")
    capsys.readouterr()
    token = CliRunner().invoke(app, ["token", "bob", "--admin", "--days", "1"]).stdout.strip()
    monkeypatch.setenv("DISCREET_JWT_SECRET", environment["DISCREET_JWT_SECRET"])
    (caller,) = await callers_of([token])
    assert (caller.subject, caller.admin) == ("bob", True)


async def test_the_token_command_goes_with_the_configured_server(monkeypatch):
    monkeypatch.setenv("DISCREET_JWT_SECRET", "s" * 32)
    monkeypatch.setenv("DISCREET_JWT_ISSUER", "https://issuer.example.com")
    monkeypatch.setenv("DISCREET_JWT_AUDIENCE", "discreet")
    token = CliRunner().invoke(app, ["token", "bob"]).stdout.strip()
    (caller,) = await callers_of([token])
    assert (caller.subject, caller.admin) == ("bob", False)


def test_tokens_that_are_signed_elsewhere_are_not_made_here(monkeypatch):
    monkeypatch.setenv("DISCREET_JWKS_URL", "https://issuer.example.com/keys")
    result = CliRunner().invoke(app, ["token", "bob"])
    assert result.exit_code != 0
    assert "DISCREET_JWT_SECRET" in str(result.exception)


def test_a_token_is_there_at_once_where_the_output_goes_to_a_file(tmp_path, monkeypatch):
    """Python writes to a file by the block: the token would be there when the server has ended."""
    with (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        access("ann")
        assert (tmp_path / "out").read_text().strip()
