"""Batches of background memory: what they came to, and ending or repeating one."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import Response

from discreet.api.admin.job_figures import lines_of
from discreet.api.cursors import cursor_of, mark_of
from discreet.api.due import due_counts
from discreet.api.pages import Site, Visit
from discreet.api.pages.errors import no_such_page
from discreet.api.pages.ids import id_in
from discreet.api.prices import price_list
from discreet.errors import InvalidRequestError
from discreet.ports import LiveSettings
from discreet.state.records import PageMark
from discreet.storage.background import Background

JOBS_A_PAGE = 20

DONE = {
    "cancelled": "The batch is being ended. A worker tells the provider; what it has answered by then is kept.",
    "over": "Nothing was changed: the batch was done already.",
    "again": "What failed or was dropped waits for the next batch.",
    "nothing": "There was nothing to try again.",
}
"""What the page says of what was pressed; the address has the key."""


class JobPages:
    """The pages about batches."""

    def __init__(self, site: Site, background: Background, live: LiveSettings) -> None:
        self._site = site
        self._background = background
        self._settings = live

    async def show(self, visit: Visit) -> Response:
        """Show the newest batches, or those before one, and what waits."""
        asked = visit.request.query_params
        before = mark_in(asked.get("before", ""))
        found = await self._background.jobs.latest(limit=JOBS_A_PAGE + 1, before=before)
        jobs, more = found[:JOBS_A_PAGE], found[JOBS_A_PAGE:]
        return self._site.render(
            visit,
            "jobs.html",
            jobs=[lines_of(job) for job in jobs],
            first=before is None,
            here_before=asked["before"] if before else "",
            older=cursor_of((jobs[-1].created_at, jobs[-1].job_key)) if more else None,
            done=DONE.get(asked.get("done", "")),
            as_of=price_list().as_of,
            watch=await self._background.watch.status(),
            due=await due_counts(self._background, self._settings.live),
            enabled=self._settings.live.memory_extraction_enabled,
        )

    async def cancel(self, visit: Visit) -> Response:
        """Ask for the end of a batch."""
        job = await self._background.jobs.cancel(id_in(visit.request.path_params["job_key"]))
        return self._back(visit, "over" if job is None else "cancelled")

    async def retry(self, visit: Visit) -> Response:
        """Let what failed or was dropped wait for the next batch."""
        job_key = id_in(visit.request.path_params["job_key"])
        if await self._background.jobs.get(job_key) is None:
            raise no_such_page()
        return self._back(visit, "again" if await self._background.requests.retry(job_key) else "nothing")

    def _back(self, visit: Visit, done: str) -> Response:
        before = visit.request.query_params.get("before", "")
        return self._site.redirect(visit, f"/jobs?done={done}" + (f"&before={quote(before)}" if before else ""))


def mark_in(cursor: str) -> PageMark | None:
    """Return where a page begins by its address; None, the beginning, if that says nothing, or nothing of ours."""
    try:
        return mark_of(cursor) if cursor else None
    except InvalidRequestError:
        return None
