"""`.env.example` names every setting, and nothing that is none; a copy of it deletes what is old, and changes nothing else."""

import re
from pathlib import Path

from discreet.settings import Settings, load_settings

EXAMPLE = (Path(__file__).parents[3] / ".env.example").read_text()
NAMED = re.findall(r"^#?([A-Z_]+)=(.*)$", EXAMPLE, re.MULTILINE)
SET = {"retention_log_days": 30, "retention_checkpoint_days": 30, "retention_turn_days": 180}


def variable(name):
    """Return the variable that the example should name; of several, the second, which other programs know."""
    alias = Settings.model_fields[name].validation_alias
    return alias.choices[:2][-1] if alias else f"DISCREET_{name.upper()}"


def test_it_names_every_setting_with_a_value_that_is_taken_and_a_copy_sets_for_how_long_things_are_kept(
    monkeypatch, tmp_path
):
    assert sorted(name for name, _ in NAMED) == sorted(variable(name) for name in Settings.model_fields)
    (tmp_path / ".env").write_text(EXAMPLE)
    assert load_settings() == Settings(_env_file=None, **SET)
    for name, value in NAMED:
        monkeypatch.setenv(name, value)
    load_settings()
