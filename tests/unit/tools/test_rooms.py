"""Which tests tools/rooms.py names for what has changed."""

import subprocess

import pytest


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("src/discreet/storage/embedded/cluster.py", "tests/integration/embedded"),
        ("src/discreet/background_loop.py", "tests/unit/background"),
        ("src/discreet/cli/doctor.py", "tests/integration/test_audit_command.py"),
        ("tests/unit/tools/test_rooms.py", "tests/unit/tools/test_rooms.py"),
        ("tests/unit/prompts/injections.toml", "tests/unit/prompts"),
        ("tests/integration/storage/conftest.py", "tests/integration/storage"),
        ("tests/unit/tools/gone/test_gone.py", "tests/unit/tools"),
        ("tests/kit/places.py", "tests/integration/test_kit.py"),
        ("tools/rooms.py", "tests/unit/tools"),
    ],
)
def test_a_changed_file_has_its_tests_run(path, tests):
    from rooms import tests_of_changes

    assert tests in tests_of_changes([path])


def test_a_file_that_was_moved_has_changed_in_both_places(tmp_path):
    from rooms import changed_since

    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "a.py").write_text("x = 1\n" * 50)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "a")
    git("mv", "a.py", "b.py")
    (tmp_path / "ä.py").write_text("")
    assert sorted(changed_since("HEAD", tmp_path)) == ["a.py", "b.py", "ä.py"]


def test_a_run_of_tests_is_not_changed_by_what_its_caller_has_set(tmp_path, monkeypatch):
    from scratch import environment_for

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-summary")
    assert not {"FORCE_COLOR", "PYTEST_ADDOPTS"} & set(environment_for(tmp_path))
    assert environment_for(tmp_path)["TMPDIR"] == str(tmp_path)
