"""The judgements of `make release-check`, and what it builds from this commit."""

import io
import sys
import tarfile
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.fixture(scope="module")
def tools():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOOLS))
        import release_build
        import release_check

        yield release_build, release_check
        for name in ("release_build", "release_check"):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("licence", "is_fine"),
    [
        ("MIT", True),
        ("ISC License (ISCL)", True),
        ("Apache Software License; MIT License", True),
        ("Apache-2.0 OR GPL-3.0-only", True),
        ("MIT License\n\nCopyright …", True),
        ("BSD-3-Clause AND 0BSD AND Zlib", True),
        ("MIT AND GPL-3.0-only", False),
        ("Mozilla Public License 2.0 (MPL 2.0)", False),
        ("UNKNOWN", False),
    ],
)
def test_a_licence_is_permissive_if_each_part_of_it_can_be(tools, licence, is_fine):
    _, check = tools
    assert (check.not_permissive([{"Name": "some", "License": licence}]) == []) is is_fine


def test_an_exception_is_for_the_package_that_has_it(tools):
    _, check = tools
    rows = [{"Name": name, "License": "LGPL-3.0-only"} for name in ("psycopg", "other")]
    assert check.not_permissive(rows) == ["other (LGPL-3.0-only)"]


def test_packages_that_nobody_was_asked_about_are_not_fine(tools):
    _, check = tools
    report = {
        "dependencies": [
            {"name": "one", "version": "1", "vulns": [{"id": "PYSEC-1"}]},
            {"name": "two", "version": "1", "vulns": []},
            {"name": "three", "skip_reason": "not found"},
            {"name": "discreet", "skip_reason": "not found"},
        ]
    }
    assert check.audited(report) == (["one PYSEC-1"], 2, 1)


def test_an_archive_is_the_same_whenever_and_in_whatever_order_it_was_made(tools, tmp_path):
    build, _ = tools
    made = []
    for number, names in enumerate((("a/x", "a/y"), ("a/y", "a/x"))):
        sdist = tmp_path / f"{number}.tar.gz"
        with tarfile.open(sdist, "w:gz") as archive:
            for name in names:
                member = tarfile.TarInfo(name)
                member.size, member.mtime, member.uname = 1, 1_000 + number, f"user{number}"
                archive.addfile(member, io.BytesIO(b"x"))
        build.normalise(sdist, 1_700_000_000)
        made.append(sdist.read_bytes())
    assert made[0] == made[1]
    with tarfile.open(fileobj=io.BytesIO(made[0])) as archive:
        assert [(m.name, m.mode, m.uid, m.uname, m.mtime) for m in archive] == [
            (name, 0o644, 0, "", 1_700_000_000) for name in ("a/x", "a/y")
        ]


@pytest.mark.slow
def test_two_builds_of_a_commit_are_the_same(tools, tmp_path):
    build, _ = tools
    one, other = (build.build_once(tmp_path / name, build.head()) for name in ("one", "other"))
    assert [file.read_bytes() for file in one] == [file.read_bytes() for file in other]
