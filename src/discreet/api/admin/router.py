"""The pages of the administrator under /memory/admin, as one router."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from fastapi import APIRouter

from discreet.api.admin.area import admin_area
from discreet.api.admin.conflict_pages import ConflictPages
from discreet.api.admin.erasure_pages import ErasurePages
from discreet.api.admin.job_pages import JobPages
from discreet.api.admin.memory_pages import MemoryPages
from discreet.api.admin.people_pages import PeoplePages
from discreet.api.admin.person_pages import PersonPages
from discreet.api.admin.recall_pages import RecallPages
from discreet.api.admin.review_pages import ReviewPages
from discreet.api.admin.setting_pages import SettingPages
from discreet.api.pages import LoginPages, Routes, Site
from discreet.api.pages.sessions import KEY_BYTES
from discreet.api.services import Services
from discreet.storage.background import Background


def make_admin_router(services: Services) -> APIRouter:
    """Return the routes of the admin page. None of them is in the OpenAPI.

    Raises:
        ConfigurationError: The `session_key` of `services` is too short.
    """
    area = admin_area(background=services.background is not None, database=services.storage is not None)
    site = Site(area, services, services.session_key or secrets.token_bytes(KEY_BYTES))
    routes = Routes(site, LoginPages(site, services))
    add = routes.add
    settings = SettingPages(site, services)
    add("/settings", settings.show)
    add("/settings", settings.save, "POST")
    add("/history", settings.history)
    people = PeoplePages(site, services)
    add("/people", people.show)
    add("/people", people.open, "POST")
    memories = MemoryPages(site, services)
    one = "/people/{user}/memories/{entry_id}"
    add("/people/{user}/memories", memories.show)
    add("/people/{user}/memories", memories.find, "POST")
    if services.storage is not None:
        add("/people/{user}/export", memories.export)
        _add_people(site, services, people, add)
    add(one, memories.show_one)
    add(f"{one}/edit", memories.edit)
    add(f"{one}/edit", memories.save, "POST")
    add(f"{one}/delete", memories.ask_delete)
    add(f"{one}/delete", memories.delete, "POST")
    recall = RecallPages(site, services)
    add("/people/{user}/recall", recall.show)
    add("/people/{user}/recall", recall.ask, "POST")
    if services.background is not None:
        _add_background(site, services, services.background, add)

    return routes.router


def _add_people(site: Site, services: Services, people: PeoplePages, add: Callable[..., None]) -> None:
    """Add the pages about all that a database has of people."""
    person = PersonPages(site, services)
    add("/people/{user}", person.show)
    add("/people/{user}/receipts/{erasure_key}", person.receipt)
    add("/people/{user}/name", people.ask_name)
    add("/people/{user}/name", people.name, "POST")
    conflicts = ConflictPages(site, services)
    pair = "{older}/{newer}"
    add("/conflicts", conflicts.show)
    add(f"/conflicts/{{user}}/{pair}", conflicts.settle, "POST")
    add("/people/{user}/conflicts", conflicts.show_of_one)
    add(f"/people/{{user}}/conflicts/{pair}", conflicts.settle_of_one, "POST")
    erasure = ErasurePages(site, services)
    add("/people/{user}/erase", erasure.ask)
    add("/people/{user}/erase", erasure.erase, "POST")
    add("/moments", erasure.moments)
    add("/moments/{entry_id}/delete", erasure.delete_moment, "POST")


def _add_background(site: Site, services: Services, background: Background, add: Callable[..., None]) -> None:
    """Add the pages about what is made of conversations afterwards."""
    jobs = JobPages(site, background, services.memory_settings)
    add("/jobs", jobs.show)
    add("/jobs/{job_key}/cancel", jobs.cancel, "POST")
    add("/jobs/{job_key}/retry", jobs.retry, "POST")
    review = ReviewPages(site, background, services.memory_settings)
    waiting = "/review/{user_key}/{proposal_key}"
    add("/review", review.show)
    add(f"{waiting}/accept", review.accept, "POST")
    add(f"{waiting}/edit", review.edit)
    add(f"{waiting}/edit", review.save, "POST")
    add(f"{waiting}/refuse", review.refuse, "POST")
