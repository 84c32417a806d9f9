"""What stands under a field is in the schema."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from discreet.state.context import Context
from discreet.state.described import describe_fields, field_descriptions
from discreet.state.memory_settings import MemorySettings


class Animal(BaseModel):
    """An animal."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    name: str
    """What it is
    called."""
    legs: int
    size: Annotated[int, Field(description="In its own words.")] = 1
    """In others."""


class Bird(Animal):
    """A bird."""

    legs: int = 2
    """How many it stands on."""
    mate: Animal | None = None
    """Another one."""


def test_the_string_under_a_field_describes_it():
    fields = Animal.model_json_schema()["properties"]
    assert fields["name"]["description"] == "What it is\ncalled."
    assert "description" not in fields["legs"]
    assert fields["size"]["description"] == "In its own words."


def test_fields_of_a_base_class_are_described_too_and_those_of_a_part():
    schema = Bird.model_json_schema()
    assert {name: field.get("description") for name, field in schema["properties"].items()} == {
        "name": "What it is\ncalled.",
        "legs": "How many it stands on.",
        "size": "In its own words.",
        "mate": "Another one.",
    }
    assert schema["$defs"]["Animal"]["properties"]["name"]["description"] == "What it is\ncalled."


def test_every_setting_and_every_value_of_a_run_is_described():
    for schema in (MemorySettings.model_json_schema(), TypeAdapter(Context).json_schema()):
        assert [name for name, field in schema["properties"].items() if not field.get("description")] == []


def test_a_class_without_a_source_has_no_descriptions():
    made = type("Made", (), {"__module__": "nowhere"})
    assert field_descriptions(made) == {}
