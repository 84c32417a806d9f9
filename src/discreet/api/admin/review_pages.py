"""Memories that wait for somebody's yes, of all users: accept, edit or refuse them."""

from __future__ import annotations

from urllib.parse import quote
from uuid import UUID

from fastapi import Response

from discreet.api.admin.job_pages import mark_in
from discreet.api.admin.review_form import FACT_TYPES, ReviewForm, review_form
from discreet.api.cursors import cursor_of
from discreet.api.pages import Site, Visit
from discreet.api.pages.ids import id_in
from discreet.errors import MemoryRefusedError
from discreet.ports import LiveSettings
from discreet.state.background import Proposal
from discreet.storage.background import Background

PROPOSALS_A_PAGE = 20

DONE = {
    "accepted": "The memory is kept.",
    "refused": "The memory is refused. Nothing of it is kept.",
    "gone": "Nothing was changed: somebody has decided on this memory meanwhile, or it was forgotten.",
}
"""What the page says of what was pressed; the address has the key."""


class ReviewPages:
    """The pages about proposals. They name users by their keys in the database: a page of all users has no other name."""

    def __init__(self, site: Site, background: Background, live: LiveSettings) -> None:
        self._site = site
        self._proposals = background.proposals
        self._settings = live

    async def show(self, visit: Visit) -> Response:
        """Show what has waited longest, or what comes after one."""
        asked = visit.request.query_params
        after = mark_in(asked.get("after", ""))
        found = await self._proposals.waiting(limit=PROPOSALS_A_PAGE + 1, after=after)
        shown, more = found[:PROPOSALS_A_PAGE], found[PROPOSALS_A_PAGE:]
        return self._site.render(
            visit,
            "review.html",
            proposals=shown,
            first=after is None,
            here_after=asked["after"] if after else "",
            later=cursor_of((shown[-1].created_at, shown[-1].proposal_key)) if more else None,
            done=DONE.get(asked.get("done", "")),
            review=self._settings.live.memory_extraction_review,
        )

    async def accept(self, visit: Visit) -> Response:
        """Keep a memory as it was proposed."""
        kept = await self._proposals.accept(*_named(visit))
        return self._back(visit, "gone" if kept is None else "accepted")

    async def refuse(self, visit: Visit) -> Response:
        """Drop a memory that waits."""
        return self._back(visit, "refused" if await self._proposals.refuse(*_named(visit)) else "gone")

    async def edit(self, visit: Visit) -> Response:
        """Show the form of one memory that waits."""
        proposal = await self._proposals.get(*_named(visit))
        if proposal is None:
            return self._back(visit, "gone")
        return self._form(visit, proposal, review_form(proposal.record, {}))

    async def save(self, visit: Visit) -> Response:
        """Keep a memory with what was typed."""
        proposal = await self._proposals.get(*_named(visit))
        if proposal is None:
            return self._back(visit, "gone")
        form = review_form(proposal.record, visit.form)
        changes = form.changes(proposal.record)
        if changes is None:
            return self._form(visit, proposal, form, status=422)
        try:
            kept = await self._proposals.accept(*_named(visit), changes=changes)
        except MemoryRefusedError as error:
            form.errors["text"] = str(error)
            return self._form(visit, proposal, form, status=422)
        return self._back(visit, "gone" if kept is None else "accepted")

    def _form(self, visit: Visit, proposal: Proposal, form: ReviewForm, *, status: int = 200) -> Response:
        after = visit.request.query_params.get("after", "")
        return self._site.render(
            visit,
            "review_edit.html",
            status=status,
            proposal=proposal,
            form=form,
            types=FACT_TYPES,
            here_after=after if mark_in(after) else "",
        )

    def _back(self, visit: Visit, done: str) -> Response:
        after = visit.request.query_params.get("after", "")
        return self._site.redirect(visit, f"/review?done={done}" + (f"&after={quote(after)}" if after else ""))


def _named(visit: Visit) -> tuple[UUID, UUID]:
    """Return whose memory the address names, and which.

    Raises:
        PageError: It names none.
    """
    parts = visit.request.path_params
    return id_in(parts["user_key"]), id_in(parts["proposal_key"])
