import os
import stat
import subprocess

import pytest

from discreet.storage.embedded.account import Account
from discreet.storage.embedded.binaries import copy_binaries, find_binaries, runs_for


@pytest.mark.parametrize("version", [16, 18])
def test_each_version_has_its_programs_and_pgvector(version):
    root = find_binaries(version)
    said = subprocess.run([root / "bin" / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    assert f"(PostgreSQL) {version}." in said
    assert list(root.glob("share/postgresql/extension/vector.control"))


@pytest.mark.slow
@pytest.mark.parametrize("version", [16, 18])
def test_a_copy_runs_on_its_own_and_is_readable_for_all_whatever_the_umask(tmp_path, version):
    before = os.umask(0o077)
    try:
        copy = copy_binaries(find_binaries(version), tmp_path / "programs")
    finally:
        os.umask(before)
    for program in ("postgres", "initdb"):
        assert subprocess.run([copy / "bin" / program, "--version"], capture_output=True, check=True).stdout
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "programs").rglob("*")}
    assert modes == {0o755}
    assert sum(path.stat().st_size for path in (tmp_path / "programs").rglob("*")) < 35_000_000


def test_our_own_programs_are_not_tried(tmp_path):
    assert runs_for(Account(os.geteuid(), os.getegid()), tmp_path)
