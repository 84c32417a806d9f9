"""Forget what is kept of oneself, one memory, what was said, or everything; and take it away as a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import Response
from pydantic import ValidationError

from discreet.api.erasing import erasures_of, receipt_file
from discreet.api.exporting import export_answer
from discreet.api.me.my_memories import MyMemories
from discreet.api.pages import Site, Visit
from discreet.api.pages.errors import no_such_page
from discreet.api.pages.ids import id_in
from discreet.api.pages.rendering import SECURITY_HEADERS
from discreet.api.services import Services
from discreet.rights.erasure import Counts, Scope
from discreet.state.text import storable

SCOPES: Final = ("said", "all")
"""What the form offers."""

MEMORIES, TURNS = "memory", "conversation_log"
"""Tables that people know something of; what is in others is the same in other forms."""


class Leaving:
    """The pages about forgetting and taking away. Whose it is is said by the session alone."""

    def __init__(self, site: Site, services: Services, memories: MyMemories) -> None:
        self._site = site
        self._services = services
        self._memories = memories

    async def ask_one(self, visit: Visit) -> Response:
        """Ask whether one memory is to go."""
        return self._site.render(visit, "forget_one.html", record=await self._memories.one(visit))

    async def forget_one(self, visit: Visit) -> Response:
        """Forget one memory, and what tells it."""
        record = await self._memories.one(visit)
        scope = Scope.model_validate({"name": "memory", "entry_id": record.entry_id})
        await erasures_of(self._services).erase(visit.identity, scope)
        return self._site.redirect(visit, "/memories?done=forgotten")

    async def ask(self, visit: Visit) -> Response:
        """Ask what is to be forgotten."""
        return self._show(visit)

    async def forget(self, visit: Visit) -> Response:
        """Show how much would go, or forget it if that was seen, and lead to the receipt."""
        text = storable(visit.form.get("text", "")).strip()
        try:
            scope = _scope_of(visit.form.get("scope", ""), text)
        except ValueError:
            return self._show(visit, status=422, text=text, error="Write what you said, in a few words.")
        erasures = erasures_of(self._services)
        if visit.form.get("seen") != "yes":
            counts = told(await erasures.preview(visit.identity, scope))
            return self._show(visit, text=text, scope=scope.name, counts=counts)
        receipt = await erasures.erase(visit.identity, scope)
        return self._site.redirect(visit, f"/receipts/{receipt.erasure_key}")

    async def receipt(self, visit: Visit) -> Response:
        """Show what went, or hand out the receipt as a file."""
        erasure_key = id_in(visit.request.path_params["erasure_key"])
        receipt = await erasures_of(self._services).receipt(visit.identity, erasure_key)
        if receipt is None:
            raise no_such_page()
        if visit.request.query_params.get("as") == "file":
            return receipt_file(receipt, headers=SECURITY_HEADERS)
        return self._site.render(visit, "receipt.html", receipt=receipt, counts=told(receipt.counts))

    async def take_away(self, visit: Visit) -> Response:
        """Say what the file has."""
        return self._site.render(visit, "take_away.html")

    async def export(self, visit: Visit) -> Response:
        """Hand out everything that is kept."""
        return await export_answer(self._services, visit.identity, headers=SECURITY_HEADERS)

    def _show(self, visit: Visit, *, status: int = 200, **said: Any) -> Response:
        values = {"text": "", "scope": "", "counts": None, "error": "", **said}
        return self._site.render(visit, "forget.html", status=status, **values)


def told(counts: Counts) -> Mapping[str, int]:
    """Return how many memories, turns and other rows `counts` has."""
    rows = [(kind, number) for kinds in counts.values() for kind, number in kinds.items()]
    memories, turns = (sum(number for kind, number in rows if kind == name) for name in (MEMORIES, TURNS))
    return {"memories": memories, "turns": turns, "others": sum(number for _, number in rows) - memories - turns}


def _scope_of(name: str, text: str) -> Scope:
    """Return the scope that was chosen.

    Raises:
        ValueError: It is none, or no words were given.
    """
    if name not in SCOPES:
        raise ValueError
    try:
        return Scope.model_validate({"name": name, **({"text": text} if name == "said" else {})})
    except ValidationError:
        raise ValueError from None
