"""`.env.example` names every setting, and nothing that is none."""

import re
from pathlib import Path

import pytest

from discreet.settings import Settings, load_settings

EXAMPLE = (Path(__file__).parents[3] / ".env.example").read_text()
NAMED = dict(re.findall(r"^#([A-Z_]+)=(.*)$", EXAMPLE, re.MULTILINE))


def variable(name):
    """Return the variable that the example should name; of several, the second, which other programs know."""
    alias = Settings.model_fields[name].validation_alias
    return alias.choices[:2][-1] if alias else f"DISCREET_{name.upper()}"


def test_every_setting_is_named_once_and_nothing_else():
    assert sorted(NAMED) == sorted(variable(name) for name in Settings.model_fields)
    assert len(re.findall(r"^#[A-Z_]+=", EXAMPLE, re.MULTILINE)) == len(NAMED)


def test_a_copy_of_it_changes_nothing(tmp_path):
    (tmp_path / ".env").write_text(EXAMPLE)
    assert load_settings() == Settings()
    assert all(line.startswith("#") or not line for line in EXAMPLE.splitlines())


def test_what_it_shows_is_taken(monkeypatch):
    for name, value in NAMED.items():
        monkeypatch.setenv(name, value)
    load_settings()


@pytest.mark.parametrize(
    "name", [name for name in Settings.model_fields if name.endswith(("_key", "_keys", "_secret"))]
)
def test_it_shows_no_secret(name):
    assert NAMED[variable(name)] in {"", "[]"}
