import pytest

from discreet.errors import ConfigurationError, WrongSettingsError
from discreet.settings import load_settings, unknown_variables


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DISCREET_RETRIEVE_LIMIT", "hundreds"),
        ("DISCREET_POOL_SIZE", "0"),
        ("DISCREET_RETRIEVE_THRESHOLD", "1.5"),
        ("DISCREET_POSTGRES_DSN", "postgresql+psycopg://hundreds"),
        ("DISCREET_POSTGRES_OWNER_DSN", "https://hundreds"),
    ],
)
def test_a_bad_value_is_named_by_its_variable_and_not_repeated(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert f"used: {name}: " in str(caught.value)
    assert "hundreds" not in str(caught.value)


@pytest.mark.parametrize("dsn", ["postgres://one", "postgresql://one/two", "host=one password=a://b", "service=one"])
def test_a_dsn_is_what_postgresql_reads(monkeypatch, dsn):
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", dsn)
    assert load_settings().postgres_dsn.get_secret_value() == dsn


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


def test_all_wrong_settings_are_named_at_once(monkeypatch):
    monkeypatch.setenv("DISCREET_POOL_SIZE", "none")
    monkeypatch.setenv("DISCREET_FUSION", "magic")
    with pytest.raises(WrongSettingsError, match=r"DISCREET_POOL_SIZE: .*; DISCREET_FUSION: ") as caught:
        load_settings()
    assert [name for name, _ in caught.value.problems] == ["DISCREET_POOL_SIZE", "DISCREET_FUSION"]


@pytest.mark.parametrize("name", ["DISCREET_POOL_SIZE", "discreet_pool_size"])
def test_settings_are_read_again_when_one_of_them_changes(monkeypatch, name):
    before = load_settings()
    monkeypatch.setenv("SOMEBODY_ELSES", "1")
    assert load_settings() is before
    monkeypatch.setenv(name, "3")
    assert load_settings().pool_size == 3


def test_settings_are_read_again_when_a_variable_changes_that_the_file_refers_to(monkeypatch, tmp_path):
    (tmp_path / ".env").write_text("DISCREET_SCHEMA=${SOMEBODY_ELSES}\n")
    for name in ("one", "two"):
        monkeypatch.setenv("SOMEBODY_ELSES", name)
        assert load_settings().db_schema == name


def test_names_that_no_setting_has_are_told_with_the_nearest(monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_POOLSIZE", "3")
    monkeypatch.setenv("DISCREET_SCHEMA", "known")
    monkeypatch.setenv("DISCREET_OPENAI_API_KEY", "known")
    (tmp_path / ".env").write_text("DISCREET_XYZZY=1\nOTHER=2\nDISCREET_DB_SCHEMA=3\n")
    assert unknown_variables() == {
        "DISCREET_DB_SCHEMA": "DISCREET_SCHEMA",
        "DISCREET_POOLSIZE": "DISCREET_POOL_SIZE",
        "DISCREET_XYZZY": None,
    }
