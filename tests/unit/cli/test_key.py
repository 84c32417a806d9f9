import base64
import json

import pytest
from typer.testing import CliRunner

from discreet.access import Authenticator
from discreet.cli import app
from discreet.settings import load_settings


def run(*arguments):
    return CliRunner().invoke(app, ["key", *arguments])


async def test_an_api_key_is_let_in_by_the_entry_below_it(monkeypatch):
    key, entry = run("--api", "team:ann").stdout.splitlines()
    monkeypatch.setenv("DISCREET_API_KEYS", json.dumps([entry]))
    caller = await Authenticator(load_settings()).caller({"x-api-key": key}, None)
    assert caller.subject == "team:ann"
    assert key not in entry


@pytest.mark.slow
def test_keys_for_identities_and_placeholders_are_32_random_bytes():
    keys = {run(option).stdout for option in ("--identity", "--placeholder") * 2}
    assert [len(base64.b64decode(key)) for key in keys] == [32] * 4


def test_one_key_is_made_at_a_time():
    assert run("--identity", "--placeholder").exit_code == 2
