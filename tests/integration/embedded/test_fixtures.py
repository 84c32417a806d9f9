"""What every other test relies on."""

import psycopg
import pytest

from discreet.settings import load_settings


@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_gets_an_empty_database_of_its_own(empty_database, turn):
    with psycopg.connect(empty_database) as connection:
        assert connection.execute("SELECT to_regclass('mine')").fetchone() == (None,)
        connection.execute("CREATE TABLE mine AS SELECT %s AS turn", [turn])


def test_settings_of_the_developer_are_not_seen(tmp_path):
    settings = load_settings()
    assert settings.postgres_dsn is None
    assert settings.openai_api_key is None
    assert settings.data_dir.resolve() == tmp_path / ".discreet"
