"""Settings of memory: what holds, changes of it, and who changed what when. For administrators."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, JsonValue, RootModel

from discreet.access.caller import Caller
from discreet.api.dependencies import make_dependencies
from discreet.api.errors import answers
from discreet.api.routing import make_router
from discreet.api.services import Services
from discreet.providers.environment_values import Source, sources
from discreet.state.described import describe_fields
from discreet.state.memory_settings import MemorySettings, SettingChange


@cache
def setting_schemas() -> dict[str, dict[str, JsonValue]]:
    """Return what each setting is and takes, as JSON Schema, by its name."""
    schemas: dict[str, dict[str, JsonValue]] = MemorySettings.model_json_schema()["properties"]
    return schemas


PAGE = 50
MAX_PAGE = 500
"""Changes in one answer."""


def _name_the_settings(schema: dict[str, Any]) -> None:
    """Say in the schema of a change which settings there are, and that null is a value of each."""
    schema["properties"] = {
        name: {"anyOf": [{key: said for key, said in field.items() if key != "default"}, {"type": "null"}]}
        for name, field in setting_schemas().items()
    }
    schema["additionalProperties"] = False


class SettingsChange(RootModel[dict[str, JsonValue]]):
    """Settings by name. null gives one back to the environment."""

    model_config = ConfigDict(json_schema_extra=_name_the_settings)


class SettingsAnswer(BaseModel):
    """What holds now."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    values: MemorySettings
    """Each setting's value."""
    overridden: list[str]
    """Settings that the database says."""
    sources: dict[str, Source]
    """Where each value comes from."""
    fields: dict[str, dict[str, JsonValue]]
    """What each setting is and takes, as JSON Schema."""


class NumberedChange(SettingChange):
    """One setting that was changed."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    number: int
    """Its place in the history."""


class HistoryAnswer(BaseModel):
    """The latest changes."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    changes: list[NumberedChange]
    """Newest first."""
    next_before: int | None
    """`before` of the next page; null: this was the last."""


def make_settings_router(services: Services) -> APIRouter:
    """Return the routes of the settings over `services.memory_settings`."""
    router = make_router(services, prefix="/memory/settings", tags=["settings"], admin=True)
    admin = make_dependencies(services).admin
    store = services.memory_settings

    async def shown(values: MemorySettings) -> SettingsAnswer:
        overridden = await store.overridden()
        return SettingsAnswer(
            values=values,
            overridden=sorted(overridden),
            sources=sources(services.settings, overridden),
            fields=setting_schemas(),
        )

    @router.get("")
    async def get_settings() -> SettingsAnswer:
        """Return what holds now, and where each value comes from."""
        return await shown(await store.read())

    @router.patch("", responses=answers(400, 413, 415, 422))
    async def change_settings(changes: SettingsChange, caller: Annotated[Caller, Depends(admin)]) -> SettingsAnswer:
        """Set these, all or none. They are checked together with those that stay, and hold everywhere in 5 seconds."""
        return await shown(await store.change(changes.root, by=caller.identity))

    @router.get("/history", responses=answers(422))
    async def get_settings_history(
        name: Annotated[str | None, Query(description="Of this setting alone.", pattern=r"^[a-z_]{1,64}$")] = None,
        limit: Annotated[int, Query(description="Changes at most.", ge=1, le=MAX_PAGE)] = PAGE,
        before: Annotated[
            int | None, Query(description="`next_before` of the page before.", ge=1, le=2**63 - 1)
        ] = None,
    ) -> HistoryAnswer:
        """Return who changed what when, newest first."""
        found = await store.history(name=name, limit=limit, before=before)
        changes = [NumberedChange(number=number, **change.model_dump()) for number, change in found]
        return HistoryAnswer(changes=changes, next_before=found[-1][0] if len(found) == limit else None)

    return router
