"""What a project is called that is started in a folder of some name."""

import pytest

from discreet.cli.project.naming import project_name


@pytest.mark.parametrize(
    ("folder", "package"),
    [
        ("my-bot", "my_bot"),
        ("My Bot  v2.1", "my_bot_v2_1"),
        ("Trợ lý Đà Nẵng", "tro_ly_da_nang"),
        ("помощник", "my_assistant"),
        ("助手", "my_assistant"),
        ("---", "my_assistant"),
        ("", "my_assistant"),
        ("2nd", "my_2nd"),
        ("assistant", "my_assistant"),
        ("2026", "my_2026"),
        ("test", "test_app"),
        ("tests", "tests_app"),
        ("json", "json_app"),
        ("class", "class_app"),
        ("discreet", "discreet_app"),
        ("langgraph", "langgraph_app"),
        ("your-assistant", "your_assistant"),
    ],
)
def test_a_folder_of_any_name_gives_a_package_that_hides_no_other(folder, package):
    name = project_name(folder)
    assert name.package == package
    assert name.package.isidentifier()
    assert name.project == package.replace("_", "-")
