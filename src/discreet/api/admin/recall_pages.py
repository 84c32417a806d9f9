"""Why was this recalled? A question is searched for as the graph would, and each hit is explained."""

from __future__ import annotations

from fastapi import Response

from discreet.api.admin.browsing import MAX_QUERY_CHARS, Browser
from discreet.api.admin.recall import Rules, explain
from discreet.api.pages import Site, Visit
from discreet.api.services import Services
from discreet.nodes.retrieve_memories import FEW_FACTS
from discreet.state.records import MemoryFilters
from discreet.state.text import storable

BESIDES = 5
"""Memories that are explained though they would not be in the prompt, at most."""
MAX_APP_CHARS = 200
"""As `MemoryRecord.app_name`."""


class RecallPages:
    """The page that explains a search."""

    def __init__(self, site: Site, services: Services) -> None:
        self._site = site
        self._services = services

    async def show(self, visit: Visit) -> Response:
        """Show the form and, if a question was asked, what it finds and why."""
        browser = Browser(self._site, self._services, visit)
        view = browser.view
        live = self._services.memory_settings.live
        memories = browser.memories
        rules = Rules(
            limit=live.memory_retrieve_limit,
            threshold=live.memory_retrieve_threshold,
            semantic=memories.semantic,
            few=FEW_FACTS,
        )
        explained = []
        if view.question:
            filters = MemoryFilters(app_name=view.app_name, shared_apps=list(self._services.settings.shared_apps))
            chosen = await memories.search(
                browser.user,
                view.question,
                limit=rules.limit,
                threshold=rules.threshold,
                filters=filters,
                few=rules.few,
            )
            others = await memories.search(browser.user, view.question, limit=rules.limit + BESIDES, filters=filters)
            explained = explain(view.question, chosen, others, rules)[: len(chosen) + BESIDES]
        typed = {"question": view.question, "app_name": view.app_name}
        values = browser.values(typed=typed, errors={}, rules=rules, explained=explained, max_query=MAX_QUERY_CHARS)
        return self._site.render(visit, "recall.html", **values)

    async def ask(self, visit: Visit) -> Response:
        """Take a question; the address that shows what it finds holds it sealed."""
        browser = Browser(self._site, self._services, visit)
        typed = {name: storable(visit.form.get(name, "")).strip() for name in ("question", "app_name")}
        errors = {}
        if not 1 <= len(typed["question"]) <= MAX_QUERY_CHARS:
            errors["question"] = f"Write a question of 1 to {MAX_QUERY_CHARS} characters."
        if not 1 <= len(typed["app_name"]) <= MAX_APP_CHARS:
            errors["app_name"] = f"The name of an application has 1 to {MAX_APP_CHARS} characters."
        if errors:
            values = browser.values(typed=typed, errors=errors, rules=None, explained=[], max_query=MAX_QUERY_CHARS)
            return self._site.render(visit, "recall.html", status=422, **values)
        question = await browser.redacted(typed["question"])
        view = browser.view.model_copy(update={"question": question, "app_name": typed["app_name"]})
        return self._site.redirect(visit, browser.address("/recall", view))
