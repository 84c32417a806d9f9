"""What the settings of the database come to, over those of the environment: pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from pydantic import JsonValue, ValidationError

from discreet.errors import SettingRefusedError
from discreet.state.memory_settings import MemorySettings

NAMES = tuple(MemorySettings.model_fields)
"""Of all settings, in their order."""

_NAME_LIKE = re.compile(r"[a-z0-9_]{1,64}", re.ASCII)
"""What may be repeated in a message: nothing else that was sent as a name is."""


@dataclass(frozen=True)
class Changed:
    """What a change makes of the values that are set."""

    values: Mapping[str, JsonValue]
    """All that are set afterwards, by name."""
    settings: MemorySettings
    """What holds then."""
    differences: list[tuple[str, JsonValue, JsonValue]]
    """Name, old and new value of what became another, in the order of names; None: not set."""


def in_force(base: MemorySettings, values: Mapping[str, JsonValue]) -> tuple[MemorySettings, list[str]]:
    """Return `base` with `values` over it, and the names of those that can't be used and are left out.

    There are such where another version wrote them, or where the environment has changed since: a server starts anyway.
    """
    known = {name: values[name] for name in NAMES if name in values}
    left_out = [name for name in values if name not in known]
    try:
        return _merged(base, known), left_out
    except ValidationError:
        settings = base
    usable: dict[str, JsonValue] = {}
    for name, value in known.items():
        try:
            settings = _merged(base, {**usable, name: value})
        except ValidationError:
            left_out.append(name)
        else:
            usable[name] = value
    return settings, left_out


def changed(base: MemorySettings, values: Mapping[str, JsonValue], changes: Mapping[str, JsonValue]) -> Changed:
    """Return what `changes` make of the `values` that are set; None takes one away.

    All fields are checked together as they would hold afterwards, `base` saying those that are not set.

    Raises:
        SettingRefusedError: A name is unknown, or the values can't be used together.
    """
    _check_names(changes)
    after = {name: value for name, value in (dict(values) | dict(changes)).items() if value is not None}
    try:
        settings = _merged(base, {name: value for name, value in after.items() if name in NAMES})
    except ValidationError as error:
        raise _refusal(error) from None
    said = settings.model_dump(mode="json")
    after |= {name: said[name] for name in after if name in said}
    differences = [
        (name, values.get(name), after.get(name)) for name in sorted(changes) if values.get(name) != after.get(name)
    ]
    return Changed(after, settings, differences)


def _merged(base: MemorySettings, values: Mapping[str, JsonValue]) -> MemorySettings:
    """Return `base` with `values` over it. Nothing is converted: true is no number, and "5" is none."""
    return MemorySettings.model_validate(base.model_dump() | dict(values), strict=True)


def _check_names(changes: Mapping[str, JsonValue]) -> None:
    for name in changes:
        if name in NAMES:
            continue
        called = f" called {name}" if _NAME_LIKE.fullmatch(name) else " of that name"
        near = get_close_matches(name[:64], NAMES, n=1)
        meant = f" Did you mean {near[0]}?" if near else f" Known: {', '.join(NAMES)}."
        raise SettingRefusedError(f"Nothing was changed. There is no setting{called}.{meant}")


def _refusal(error: ValidationError) -> SettingRefusedError:
    """Return what is wrong, by field, without the values that were given."""
    said = [
        (str(each["loc"][0]) if each["loc"] else "", each["msg"].removeprefix("Value error, "))
        for each in error.errors(include_input=False, include_url=False, include_context=False)
    ]
    lines = "; ".join(f"{field}: {problem}" if field else problem for field, problem in said)
    return SettingRefusedError(f"Nothing was changed. {lines}.", [(field, problem) for field, problem in said if field])
