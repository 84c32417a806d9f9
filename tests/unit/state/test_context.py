import pytest
from pydantic import TypeAdapter

from discreet.errors import InvalidUserError
from discreet.state.context import Context, check_user_id


@pytest.mark.parametrize("user_id", ["u1", "người dùng", "用户", "a" * 200, "auth0|5f7c", "пользователь"])
def test_opaque_ids_of_any_script_are_taken(user_id):
    assert check_user_id(user_id) == user_id


@pytest.mark.parametrize("user_id", ["", "  ", "a" * 201, "a\0b", "a\nb", "\ud800", 7, None, b"u", ["u"]])
def test_unusable_ids_are_refused_without_repeating_them(user_id):
    with pytest.raises(InvalidUserError) as caught:
        check_user_id(user_id)
    assert str(caught.value).startswith("The user_id is not usable.")


def test_a_context_refuses_an_unusable_user():
    with pytest.raises(InvalidUserError):
        Context(user_id="a\0b")


def test_every_field_is_described_in_the_schema_that_the_studio_shows():
    properties = TypeAdapter(Context).json_schema()["properties"]
    assert properties.keys() >= {"user_id", "model", "app_name"}
    assert all(field["description"] for field in properties.values())
