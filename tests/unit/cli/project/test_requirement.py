"""Where a project takes Discreet from."""

import pytest

from discreet.cli.project.requirement import is_of_this_machine, requirement, requirement_of


@pytest.mark.parametrize(
    ("origin", "required", "here"),
    [
        (None, "discreet[local]==1.2.3", False),
        ({"url": "file:///home/ann/a%20b", "dir_info": {"editable": True}}, " @ file:///home/ann/a%20b", True),
        ({"url": "file:///tmp/discreet-1.2.3-py3-none-any.whl", "archive_info": {}}, " @ file:///tmp/discreet-1.2.3-py3-none-any.whl", True),
        (
            {"url": "https://example.com/d.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}, "subdirectory": "python"},
            " @ git+https://example.com/d.git@abc#subdirectory=python",
            False,
        ),
    ],
    ids=["release", "checkout", "wheel", "repository"],
)  # fmt: skip
def test_it_is_taken_from_where_this_one_came_from(origin, required, here):
    found = requirement_of("1.2.3", origin)
    assert found.startswith("discreet[local]")
    assert found.endswith(required)
    assert is_of_this_machine(found) is here


def test_this_one_is_known():
    assert requirement().startswith("discreet[local]")
