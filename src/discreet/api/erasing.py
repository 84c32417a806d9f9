"""Erasing, for the API and for the admin page."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Response

from discreet.api.server_rows import ServerRows
from discreet.api.services import Services
from discreet.errors import StorageUnavailableError
from discreet.rights.erasure import Elsewhere, Erasures, Receipt


def erasures_of(services: Services) -> Erasures:
    """Return what erases in the open storage, and in the LangGraph server if that runs us.

    Raises:
        StorageUnavailableError: The storage is not open.
    """
    if services.storage is None:
        raise StorageUnavailableError
    elsewhere: list[Elsewhere] = [ServerRows()] if ServerRows.are_there() else list(services.elsewhere)
    return Erasures(services.storage(), settings=services.settings, elsewhere=elsewhere)


def receipt_file(receipt: Receipt, *, headers: Mapping[str, str]) -> Response:
    """Return the answer that a receipt is, which a browser keeps as a file."""
    named = {"Content-Disposition": f'attachment; filename="discreet-receipt-{receipt.erasure_key}.json"'}
    return Response(receipt.model_dump_json(indent=2), 200, {**headers, **named}, "application/json")
