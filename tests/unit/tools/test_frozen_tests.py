"""Which tests tools/frozen_tests.py runs, and what may replace what stands beside them."""

import pytest

PAGE = """
.. autofunction:: discreet.storage.open_storage

.. automodule:: discreet.testing
   :members:
"""


def test_a_module_is_listed_by_what_it_holds_and_a_package_by_its_modules():
    from frozen_tests import listed_modules

    assert listed_modules([PAGE]) == {"discreet", "discreet.storage", "discreet.testing", "discreet.errors"}


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("from discreet.storage import open_storage", True),
        ("def test():\n    import discreet.testing", True),
        ("import json", True),
        ("from discreet.storage.database import pool", False),
        ("def test():\n    import discreet.cli", False),
    ],
)
def test_a_file_is_run_if_it_imports_nothing_but_what_is_listed(tmp_path, text, runs):
    from frozen_tests import choose, listed_modules

    path = tmp_path / "tests" / "unit" / "test_a.py"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    choice = choose(tmp_path / "tests", listed_modules([PAGE]))
    assert (choice.files, choice.left_out) == ((["tests/unit/test_a.py"] if runs else []), {})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ROOT = Path(__file__).resolve().parents[2]", "is about files of the repository"),
        ("from testkit.snippets import DOCS", "is about pages of the repository, which testkit.snippets reads"),
    ],
)
def test_a_file_about_the_repository_is_left_out_with_the_reason(tmp_path, text, reason):
    from frozen_tests import choose

    path = tmp_path / "tests" / "unit" / "test_a.py"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    choice = choose(tmp_path / "tests", set())
    assert (choice.files, choice.left_out) == ([], {"tests/unit/test_a.py": reason})


def test_a_file_that_needs_another_environment_is_left_out_with_the_reason(tmp_path):
    from frozen_tests import choose

    path = tmp_path / "tests" / "aegra" / "test_a.py"
    path.parent.mkdir(parents=True)
    path.write_text("")
    choice = choose(tmp_path / "tests", set())
    assert choice.left_out == {"tests/aegra/test_a.py": "needs an environment of its own: make test-aegra"}


@pytest.mark.parametrize("name", ["conftest.py", "unit/conftest.py", "support/testkit/servers.py"])
def test_what_stands_beside_the_tests_can_be_replaced(tmp_path, name):
    from frozen_tests import overlay

    (tmp_path / "frozen" / name).parent.mkdir(parents=True)
    (tmp_path / "frozen" / name).write_text("new")
    (tmp_path / "frozen" / "allowed.toml").write_text("")
    overlay(tmp_path / "frozen", tmp_path / "tests")
    assert (tmp_path / "tests" / name).read_text() == "new"
    assert not (tmp_path / "tests" / "allowed.toml").exists()


@pytest.mark.parametrize("name", ["unit/test_a.py", "support/test_a.py", "unit/helpers.py"])
def test_a_test_can_not_be_replaced(tmp_path, name):
    from frozen_tests import FrozenError, overlay

    (tmp_path / "frozen" / name).parent.mkdir(parents=True)
    (tmp_path / "frozen" / name).write_text("")
    with pytest.raises(FrozenError, match="frozen tests stay as they are"):
        overlay(tmp_path / "frozen", tmp_path / "tests")


@pytest.mark.parametrize("row", ['"tests/unit/test_b.py" = "a reason"', '"tests/unit/test_a.py" = " "'])
def test_who_may_fail_is_a_frozen_file_with_a_reason(tmp_path, row):
    from frozen_tests import FrozenError, read_allowed

    (tmp_path / "allowed.toml").write_text(row)
    with pytest.raises(FrozenError, match="is no frozen test file, or has no reason"):
        read_allowed(tmp_path / "allowed.toml", ["tests/unit/test_a.py"])
