"""The settings, and who changed them when."""

from __future__ import annotations

import asyncio
import re

from fastapi import Response

from discreet.api.admin.setting_fields import in_groups, setting_fields
from discreet.api.admin.setting_notes import setting_notes
from discreet.api.admin.settings_form import SettingsForm, fresh_form, submitted_form
from discreet.api.pages import Site, Visit
from discreet.api.services import Services
from discreet.errors import SettingRefusedError
from discreet.providers.environment_values import sources

CHANGES_A_PAGE = 25


class SettingPages:
    """The pages about settings."""

    def __init__(self, site: Site, services: Services) -> None:
        self._site = site
        self._services = services
        self._store = services.memory_settings
        self._saving = asyncio.Lock()  # what is compared with the form is what it is saved over, in this process

    async def show(self, visit: Visit) -> Response:
        """Show what holds."""
        form = fresh_form(setting_fields(), await self._store.read(), await self._store.overridden())
        return self._page(visit, form, saved=visit.request.query_params.get("saved") == "1")

    async def save(self, visit: Visit) -> Response:
        """Change what was changed in the form, or show it again with what is wrong; nothing typed is lost."""
        async with self._saving:
            current, overridden = await self._store.read(), await self._store.overridden()
            form = submitted_form(setting_fields(), visit.form, current, overridden)
            if not form.wrong:
                try:
                    if form.changes:
                        await self._store.change(form.changes, by=visit.identity)
                    return self._site.redirect(visit, "/settings?saved=1" if form.changes else "/settings")
                except SettingRefusedError as error:
                    form.refuse(str(error))
        return self._page(visit, form, status=409 if any("Somebody else" in x.error for x in form.wrong) else 422)

    def _page(self, visit: Visit, form: SettingsForm, *, status: int = 200, saved: bool = False) -> Response:
        groups = [(title, [form.lines[name] for name in names]) for title, names in in_groups(setting_fields())]
        overridden = [name for name, line in form.lines.items() if line.overridden]
        storage = None if self._services.storage is None else self._services.storage()
        return self._site.render(
            visit,
            "settings.html",
            status=status,
            form=form,
            groups=groups,
            saved=saved,
            sources=sources(self._services.settings, overridden),
            notes=setting_notes(self._store.live, embeds_with=None if storage is None else storage.embeds_with),
        )

    async def history(self, visit: Visit) -> Response:
        """Show the latest changes, or those before a number, of all settings or of one."""
        asked = visit.request.query_params
        name = asked.get("name") if asked.get("name") in setting_fields() else None
        before = _number(asked.get("before", ""))
        rows = await self._store.history(name=name, limit=CHANGES_A_PAGE + 1, before=before)
        shown = rows[:CHANGES_A_PAGE]
        return self._site.render(
            visit,
            "history.html",
            changes=[change for _, change in shown],
            fields=setting_fields(),
            name=name,
            first=before is None,
            older=shown[-1][0] if len(rows) > len(shown) else None,
        )


def _number(text: str) -> int | None:
    """Return the number of a change, a bigint in the database; None if `text` is none."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None
