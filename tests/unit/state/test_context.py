import pytest
from pydantic import TypeAdapter

from discreet.errors import InputError, InvalidContextError, InvalidUserError
from discreet.state.context import Context
from discreet.state.ids import check_user_id


@pytest.mark.parametrize("user_id", ["u1", "người dùng", "用户", "a" * 200, "auth0|5f7c", "пользователь"])
def test_opaque_ids_of_any_script_are_taken(user_id):
    assert check_user_id(user_id) == user_id


@pytest.mark.parametrize("user_id", ["", "  ", "a" * 201, "a\0b", "a\nb", "\ud800", True, 7.5, None, b"u", ["u"]])
def test_unusable_ids_are_refused_without_repeating_them(user_id):
    with pytest.raises(InvalidUserError) as caught:
        check_user_id(user_id)
    assert str(caught.value).startswith("The user_id is not usable.")


def test_a_context_refuses_an_unusable_user():
    with pytest.raises(InvalidUserError):
        Context(user_id="a\0b")


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("model", 5, "must be a text"),
        ("system_prompt", ["my card"], "must be a text"),
        ("agent_id", {"my": "card"}, "must be a text"),
        ("app_name", None, "must be a text"),
        ("app_name", "", "must have at least 1 characters"),
        ("retrieve_limit", "my card", "must be a whole number"),
        ("retrieve_limit", True, "must be a whole number"),
        ("retrieve_limit", -1, "must be at least 1"),
        ("retrieve_threshold", "0.5", "must be a number"),
        ("retrieve_threshold", 1.5, "must be at most 1.0"),
        ("context_window_size", 12, "must be at least 1000"),
    ],
)
def test_a_context_refuses_a_wrong_value_by_its_field_and_does_not_repeat_it(field, value, problem):
    with pytest.raises(InvalidContextError) as caught:
        Context(**{field: value})
    error = caught.value
    assert isinstance(error, InputError)
    assert (error.code, error.fields) == ("context_invalid", ((field, problem),))
    assert str(error) == f"The context of the run can't be taken: {field} {problem}."
    assert error.__cause__ is None


def test_a_context_tells_all_fields_that_are_wrong():
    with pytest.raises(InvalidContextError) as caught:
        Context(model=5, retrieve_limit=99)
    assert [field for field, _ in caught.value.fields] == ["model", "retrieve_limit"]


def test_a_context_takes_what_its_schema_takes():
    context = Context(
        user_id="ann",
        app_name="shop",
        agent_id="seller",
        model="offline",
        system_prompt="Be brief.",
        context_window_size=8_000,
        retrieve_limit=50,
        retrieve_threshold=1,
    )
    assert context.retrieve_threshold == 1


def test_every_field_is_described_in_the_schema_that_the_studio_shows():
    properties = TypeAdapter(Context).json_schema()["properties"]
    assert properties.keys() >= {"user_id", "model", "app_name"}
    assert all(field["description"] for field in properties.values())
