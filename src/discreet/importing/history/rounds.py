"""Between a round of V1's history and a turn of our log."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from discreet.errors import InvalidRecordError, InvalidUserError
from discreet.importing.source import BadRow
from discreet.redaction.configured import default_redactor
from discreet.state.ids import check_user_id
from discreet.state.records import Provenance, TurnRecord

SOURCE: Final = "redis_v1"
"""What the provenance of such turns says: `import:redis_v1`."""

THREAD: Final = "redis_v1"
"""V1 has one history a user and no threads: all of it is this thread of theirs."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SHA1: Final = re.compile(r"[0-9a-f]{40}")
_PROVENANCE: Final = Provenance(source=f"import:{SOURCE}")
_NUMBER: Final = "#"
"""No rid has one."""
_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


def parsed(mark: str, item: bytes) -> dict[str, Any] | BadRow:
    """Return the round of an item of V1's list as V1 reads it: JSON; or why it can't be read."""
    try:
        found = json.loads(item)
    except (ValueError, RecursionError):  # the error quotes the item
        return BadRow(mark=mark, reason="not JSON", raw=item)
    return found if isinstance(found, dict) else BadRow(mark=mark, reason="no JSON object", raw=item)


def turn_of(user_id: str, said: object, *, mark: str = "") -> TurnRecord | BadRow:
    """Return the turn of a round, not redacted yet; or why there can't be one."""
    if not isinstance(said, Mapping):
        return BadRow(mark=mark, reason="no JSON object")
    try:
        check_user_id(user_id)
    except InvalidUserError:
        return BadRow(mark=mark, reason="user id: can't be one", raw=_raw(said))
    problem = _problem(said)
    if problem is not None:
        return BadRow(mark=mark, reason=problem, raw=_raw(said))
    try:
        at = _EPOCH + timedelta(milliseconds=said["timestamp"])
        return TurnRecord(
            request_id=said["rid"],
            user_id=user_id,
            thread_id=THREAD,
            input_text=said["input"],
            output_text=said["output"],
            is_emergency=bool(said.get("is_emergency")),
            provenance=_PROVENANCE,
            started_at=at,
            ended_at=at,
        )
    except (InvalidRecordError, OverflowError):
        return BadRow(mark=mark, reason="timestamp: no time in milliseconds", raw=_raw(said))


def round_of(turn: TurnRecord) -> dict[str, Any]:
    """Return a turn in the shape of V1's rounds."""
    return {
        "input": turn.input_text,
        "output": turn.output_text,
        "rid": rid_of(turn),
        "timestamp": milliseconds(turn.started_at),
        "is_emergency": turn.is_emergency,
    }


def numbered(turn: TurnRecord, number: int) -> TurnRecord:
    """Return a turn as the one of so many with its rid, from 1 on: `<rid>`, `<rid>#2`, `<rid>#3`."""
    rid = rid_of(turn)
    return turn.model_copy(update={"request_id": rid if number == 1 else f"{rid}{_NUMBER}{number}"})


def free(turn: TurnRecord, taken: Collection[str]) -> TurnRecord:
    """Return a turn under an id that is not taken: its own, or the next with its rid."""
    number = 1
    while turn.request_id in taken:
        number += 1
        turn = numbered(turn, number)
    return turn


def rid_of(turn: TurnRecord) -> str:
    """Return the rid that V1 knows a turn by: several turns may have one."""
    return turn.request_id.partition(_NUMBER)[0]


def is_from_v1(turn: TurnRecord) -> bool:
    """Return whether a turn of our log was a round of V1's."""
    return turn.provenance.source == _PROVENANCE.source


class Numbering:
    """Tells the rounds of one user apart that have the same rid, in the order of their list."""

    def __init__(self) -> None:
        """Begin with the first of a list."""
        self._known: dict[str, list[bytes]] = {}

    def of(self, turn: TurnRecord) -> tuple[TurnRecord, bool]:
        """Return the next turn of the list under the id that is its own, and whether V1 has it twice: it is the same then."""
        known = self._known.setdefault(turn.request_id, [])
        content = hashlib.sha256(repr(content_of(turn)).encode()).digest()
        is_double = content in known
        if not is_double:
            known.append(content)
        return numbered(turn, known.index(content) + 1), is_double


def content_of(turn: TurnRecord) -> tuple[str, str, int, bool]:
    """Return what makes a round what it is, beside its rid."""
    return turn.input_text, turn.output_text, milliseconds(turn.started_at), turn.is_emergency


def milliseconds(at: datetime) -> int:
    """Return a time as V1 writes it."""
    return (at - _EPOCH) // timedelta(milliseconds=1)


def _problem(said: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the fields of a round, without any value; None if nothing is."""
    for name in ("input", "output", "rid"):
        if not isinstance(said.get(name), str):
            return f"{name}: no text"
    at = said.get("timestamp")
    if not isinstance(at, int | float) or isinstance(at, bool):
        return "timestamp: no number"
    rid = said["rid"]
    # An id is stored as it is, so it must not tell anything. The redactor takes some digests for tokens.
    if not _ID.fullmatch(rid) or not (_SHA1.fullmatch(rid) or default_redactor().redact(rid) == rid):
        return "rid: no id"
    return None


def _raw(said: Mapping[str, Any]) -> bytes:
    return json.dumps(said, ensure_ascii=True, default=lambda value: type(value).__name__).encode()
