"""`.env.example` names every setting, and nothing that is none."""

import re
from pathlib import Path

from discreet.settings import Settings, load_settings

EXAMPLE = (Path(__file__).parents[3] / ".env.example").read_text()
NAMED = re.findall(r"^#([A-Z_]+)=(.*)$", EXAMPLE, re.MULTILINE)


def variable(name):
    """Return the variable that the example should name; of several, the second, which other programs know."""
    alias = Settings.model_fields[name].validation_alias
    return alias.choices[:2][-1] if alias else f"DISCREET_{name.upper()}"


def test_it_names_every_setting_with_a_value_that_is_taken_and_a_copy_changes_nothing(monkeypatch, tmp_path):
    assert sorted(name for name, _ in NAMED) == sorted(variable(name) for name in Settings.model_fields)
    (tmp_path / ".env").write_text(EXAMPLE)
    assert load_settings() == Settings(_env_file=None)
    for name, value in NAMED:
        monkeypatch.setenv(name, value)
    load_settings()
