import base64
import logging
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import ConfigurationError
from discreet.redaction.placeholder_key import load_placeholder_key, make_placeholder_key
from discreet.settings import load_settings


def test_the_setting_comes_first(monkeypatch, tmp_path):
    key = make_placeholder_key()
    monkeypatch.setenv("DISCREET_PLACEHOLDER_KEY", key)
    assert load_placeholder_key(load_settings()) == base64.b64decode(key)
    assert list(tmp_path.iterdir()) == []


def test_the_first_run_makes_a_file_that_only_its_owner_reads(tmp_path):
    key = load_placeholder_key(load_settings())
    file = tmp_path / ".discreet" / "placeholder.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [each.name for each in file.parent.iterdir()] == ["placeholder.key"]
    assert base64.b64decode(file.read_text()) == key
    assert load_placeholder_key(load_settings()) == key
    assert len(key) == 32


def test_of_processes_that_make_it_at_once_all_have_the_same():
    with ThreadPoolExecutor(16) as pool:
        keys = set(pool.map(lambda _: load_placeholder_key(load_settings()), range(64)))
    assert len(keys) == 1


@pytest.mark.parametrize("written", ["", "short", base64.b64encode(b"x" * 31).decode(), "ä" * 50])
def test_what_is_no_key_is_refused_with_what_to_do(monkeypatch, tmp_path, written):
    (tmp_path / ".discreet").mkdir()
    (tmp_path / ".discreet" / "placeholder.key").write_text(written, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="discreet key --placeholder"):
        load_placeholder_key(load_settings())


def test_without_a_folder_to_write_to_the_key_lasts_as_long_as_the_process(monkeypatch, tmp_path, caplog):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "file" / "data"))
    with caplog.at_level(logging.WARNING):
        assert len(load_placeholder_key(load_settings())) == 32
    assert "DISCREET_PLACEHOLDER_KEY" in caplog.text
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
