import pytest

from discreet.errors import ConfigurationError
from discreet.settings import load_settings


@pytest.mark.parametrize(
    ("name", "value"),
    [("DISCREET_RETRIEVE_LIMIT", "hundreds"), ("DISCREET_POOL_SIZE", "0"), ("DISCREET_RETRIEVE_THRESHOLD", "1.5")],
)
def test_a_bad_value_is_named_by_its_variable_and_not_repeated(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert f"used: {name}: " in str(caught.value)
    assert "hundreds" not in str(caught.value)


def test_an_empty_variable_counts_as_not_set(monkeypatch):
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", "")
    assert load_settings().postgres_dsn is None


def test_the_environment_beats_the_env_file(monkeypatch, tmp_path):
    (tmp_path / ".env").write_text("DISCREET_RETRIEVE_LIMIT=7\nOPENAI_BASE_URL=http://127.0.0.1:1/v1\n")
    monkeypatch.setenv("DISCREET_RETRIEVE_LIMIT", "3")
    settings = load_settings()
    assert (settings.retrieve_limit, settings.openai_base_url) == (3, "http://127.0.0.1:1/v1")


def test_secrets_are_not_shown(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "letmein")
    assert "letmein" not in repr(load_settings())
