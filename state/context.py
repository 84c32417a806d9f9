"""What a caller decides for one run: who is speaking, and which model answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, ClassVar, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from discreet.errors import InvalidContextError
from discreet.state.described import describe_fields, problem_of
from discreet.state.ids import check_user_id
from discreet.state.memory_settings import WindowSize


def named_user(context: object, configurable: Mapping[str, Any]) -> object:
    """Return the user_id that a run names: its context in a field or under a key, else its config. None: it names nobody."""
    named = context.get("user_id") if isinstance(context, Mapping) else getattr(context, "user_id", None)
    return configurable.get("user_id") if named is None else named


@dataclass(frozen=True, kw_only=True)
class Context:
    """Values of one run, given as `graph.ainvoke(…, context=Context(user_id="…"))`.

    Raises:
        InvalidUserError: The user_id can't be used.
        InvalidContextError: Another field has a value of the wrong type or size; `fields` says which.
    """

    __pydantic_config__: ClassVar[Any] = ConfigDict(json_schema_extra=describe_fields)

    user_id: str | None = None
    """Whose memories these are; an int or a UUID becomes its text. Without one the assistant answers, and neither recalls nor keeps anything."""

    app_name: Annotated[str, Field(min_length=1, max_length=200)] = "default"
    """Memories of one application are not seen by another."""

    agent_id: str | None = None
    """Which agent is speaking; kept with each memory as its origin."""

    model: str | None = None
    """Chat model as `provider:model`, for example `openai:gpt-4o-mini`, or `offline`. Default: the graph's own."""

    system_prompt: str | None = None
    """Instructions that stand before everything else. Default: the template's own."""

    context_window_size: WindowSize | None = None
    """Tokens that the model takes, its answer included. Default: the setting context_window_size, else the model's profile."""

    retrieve_limit: Annotated[int, Field(ge=1, le=50)] | None = None
    """Memories put into the prompt at most, however few there are. Default: the setting memory_retrieve_limit."""

    retrieve_threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    """Least calibrated score of a memory that shares no word with the question. Default: the setting memory_retrieve_threshold."""

    def __post_init__(self) -> None:
        if self.user_id is not None:
            object.__setattr__(self, "user_id", check_user_id(self.user_id))
        check_context(vars(self))


def check_context(said: Mapping[str, Any]) -> None:
    """Refuse values that a `Context` would not take. Names that it has not are not looked at, nor is the user_id.

    Nothing is converted: "5" is no number.

    Raises:
        InvalidContextError: There are some.
    """
    problems: list[tuple[str, str]] = []
    for name, (default, adapter) in _checked().items():
        value = said.get(name, default)
        if value is default:
            continue
        try:
            adapter.validate_python(value, strict=True)
        except ValidationError as error:  # not chained: it holds the value
            first = error.errors(include_input=False, include_url=False)[0]
            problems.append((name, problem_of(first)))
    if problems:
        raise InvalidContextError(problems)


@cache
def _checked() -> Mapping[str, tuple[Any, TypeAdapter[Any]]]:
    """Return the default of each field and what checks it."""
    hints = get_type_hints(Context, include_extras=True)
    return {
        field.name: (field.default, TypeAdapter(hints[field.name]))
        for field in fields(Context)
        if field.name != "user_id"
    }
