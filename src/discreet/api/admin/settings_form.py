"""What an administrator's form asks to change, against what holds now. Pure.

The form carries the values that it was loaded with. A setting is changed only if its field differs from those; if somebody else
has changed it meanwhile, that is said and nothing is saved.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue, ValidationError

from discreet.api.admin.setting_fields import SettingField
from discreet.state.memory_settings import MemorySettings

TYPED, LOADED, BACK = "set.", "loaded.", "back."
"""What the names of fields begin with: the value, the value it was loaded with, and whether to give the setting back."""


@dataclass(kw_only=True)
class Line:
    """One setting, as it is shown."""

    field: SettingField
    typed: str
    """What stands in the field."""
    loaded: str
    """What held when the form was made, and who said it: `database:` or `environment:` before it."""
    overridden: bool
    """Whether the database says it."""
    back: bool = False
    """Whether it is to be given back to the environment."""
    error: str = ""


@dataclass(kw_only=True)
class SettingsForm:
    """The whole form."""

    lines: dict[str, Line]
    changes: dict[str, JsonValue] = field(default_factory=dict)
    """To be saved if there is no error."""
    error: str = ""
    """What can't be said beside one field."""

    @property
    def wrong(self) -> list[Line]:
        """The lines that have an error."""
        return [line for line in self.lines.values() if line.error]

    def refuse(self, message: str) -> None:
        """Show what the store said: beside the fields that it names, else above all."""
        named = [line for name, line in self.lines.items() if name in message]
        for line in named:
            line.error = message
        if not named:
            self.error = message


def fresh_form(
    fields: Mapping[str, SettingField], current: MemorySettings, overridden: Collection[str]
) -> SettingsForm:
    """Return the form as it is first shown."""
    values = current.model_dump(mode="json")
    lines = {}
    for name, each in fields.items():
        shown = each.show(values[name])
        loaded = _loaded(shown, overridden=name in overridden)
        lines[name] = Line(field=each, typed=shown, loaded=loaded, overridden=name in overridden)
    return SettingsForm(lines=lines)


def submitted_form(
    fields: Mapping[str, SettingField],
    posted: Mapping[str, str],
    current: MemorySettings,
    overridden: Collection[str],
) -> SettingsForm:
    """Return the form with what was typed, what it changes, and what is wrong with it."""
    form = fresh_form(fields, current, overridden)
    for name, line in form.lines.items():
        _read_line(form, name, line, posted, current)
    kept = {name: value for name, value in form.changes.items() if value is not None}
    try:
        MemorySettings.model_validate(current.model_dump() | kept, strict=True)
    except ValidationError as error:
        for problem in error.errors(include_input=False):
            if problem["loc"]:  # what spans several fields is for the store: it knows what the environment says
                line = form.lines[str(problem["loc"][0])]
                line.error = f"This can't be used. {line.field.hint}."
    return form


def _read_line(form: SettingsForm, name: str, line: Line, posted: Mapping[str, str], current: MemorySettings) -> None:
    loaded = posted.get(LOADED + name, line.loaded)
    back = BACK + name in posted and loaded.startswith("database:")
    typed = posted.get(TYPED + name, line.typed)
    if not back and typed.strip() == loaded.partition(":")[2]:
        return  # not touched: what holds now is shown, whoever set it
    changed_meanwhile = loaded != line.loaded
    if changed_meanwhile and (not line.overridden if back else typed.strip() == line.typed):
        return  # somebody else has made the same change
    line.typed, line.back = typed, back
    if changed_meanwhile:
        line.error = f"Somebody else changed this meanwhile, to {_told(line)}. Save again to replace that by yours."
        return
    if back:
        form.changes[name] = None
        return
    try:
        value = line.field.parse(typed.strip())
    except ValueError:
        line.error = f"This can't be used. {line.field.hint}."
        return
    if value != getattr(current, name):
        form.changes[name] = value


def _loaded(shown: str, *, overridden: bool) -> str:
    return f"{'database' if overridden else 'environment'}:{shown}"


def _told(line: Line) -> str:
    source, _, value = line.loaded.partition(":")
    return value if source == "database" else f"{value}, from the environment"
