"""Rounds and answers as JSON in Redis, with the names of the keys that version 1 of such histories had."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

from discreet.errors import ShortTermError
from discreet.ports import Round, Work
from discreet.storage.short_term.texts import Columns, ShortTermTexts, Stored, short_term_errors

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def dump_round(texts: ShortTermTexts, user_id: str, thread_id: str, said: Round) -> bytes:
    """Return a redacted round as one item of the list; its time in whole milliseconds."""
    said_text, answer = texts.split_round(user_id, thread_id, said)
    item = {
        **_dumped("input", said_text),
        **_dumped("output", answer),
        "rid": said.request_id,
        "timestamp": round(said.said_at.timestamp() * 1000),
        "is_emergency": said.is_emergency,
    }
    return json.dumps(item, ensure_ascii=False).encode()


def load_round(stored: bytes) -> Stored:
    """Return the round of an item.

    Raises:
        ShortTermError: It is none.
    """
    item = _loaded(stored)
    try:
        of_round = Round(
            request_id=str(item["rid"]),
            input_text="",
            output_text="",
            said_at=_EPOCH + timedelta(milliseconds=int(item["timestamp"])),
            is_emergency=bool(item.get("is_emergency")),
        )
        return of_round, _columns(item, "input"), _columns(item, "output")
    except (KeyError, ValueError, TypeError, OverflowError):
        raise ShortTermError from None


def dump_answer(texts: ShortTermTexts, work: Work, answer: str) -> bytes:
    """Return a redacted answer as a value."""
    return json.dumps(_dumped("answer", texts.split_answer(work, answer)), ensure_ascii=False).encode()


def load_answer(texts: ShortTermTexts, work: Work, stored: bytes) -> str:
    """Return the answer of a value.

    Raises:
        ShortTermError: It is none, or it is sealed and can't be opened.
    """
    with short_term_errors():
        try:
            columns = _columns(_loaded(stored), "answer")
        except (KeyError, ValueError, TypeError):
            raise ShortTermError from None
        return texts.join_answer(work, columns)


def _dumped(name: str, columns: Columns) -> dict[str, str]:
    plain, sealed = columns
    return {name: plain or ""} if sealed is None else {f"sealed_{name}": base64.b64encode(sealed).decode()}


def _columns(item: dict[str, Any], name: str) -> Columns:
    sealed = item.get(f"sealed_{name}")
    return (str(item[name]), None) if sealed is None else (None, base64.b64decode(sealed, validate=True))


def _loaded(stored: bytes) -> dict[str, Any]:
    try:
        item = json.loads(stored)
    except ValueError:
        raise ShortTermError from None
    if not isinstance(item, dict):
        raise ShortTermError
    return item
