"""What an item of the store is searched by: texts of its value, each a row of `discreet.memory`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from langgraph.store.base import get_text_at_path, tokenize_path

from discreet.errors import InvalidRecordError
from discreet.ports import TextRedactor
from discreet.retrieval.lexical import Impacts, TokenDigest, impacts, token_ids
from discreet.state.records import MemoryRecord
from discreet.state.text import storable
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.memories.rows import Vectors, row_of
from discreet.storage.store.namespaces import MAX_TEXTS, text_key_of

WHOLE_VALUE: Final = "$"
"""The path of the value itself, as JSON."""

APP_NAME = "store"
"""The application that texts of items belong to."""

ITEM: Final[Any] = "item"
"""The type of these rows, which no caller can give a memory."""

Index = Literal[False] | list[str] | None
"""What a put says of the texts: none, those at these paths, or those at the default paths."""


@dataclass(frozen=True)
class ItemText:
    """One text that an item is found by."""

    text: str
    """Redacted."""
    words: Impacts
    """Weights of its tokens."""


def written_value(value: Mapping[str, Any]) -> str:
    """Return a redacted value as JSON.

    Raises:
        InvalidRecordError: It is no JSON: a date, a number that is infinite or none, or a key that is no text.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise InvalidRecordError(
            "A value of the store must be JSON: texts, finite numbers, booleans, None, lists, and dicts with texts as "
            "keys. Write dates with isoformat()."
        ) from None


def texts_of(
    value: Mapping[str, Any], index: Index, default: Sequence[str], redactor: TextRedactor, words: TokenDigest
) -> list[ItemText]:
    """Return the texts of a redacted `value` that it is to be found by. Blank ones are left out.

    Raises:
        InvalidRecordError: There are more than one item can have.
    """
    if index is False:
        return []
    texts = [text for text in _at_paths(value, default if index is None else index) if text.strip()]
    if len(texts) > MAX_TEXTS:
        raise InvalidRecordError(f"An item is searched by at most {MAX_TEXTS:,} texts. Name fewer paths in `index`.")
    # Parts that were harmless on their own may read as a number or a name together.
    redacted = [redactor.redact(storable(text)) for text in texts]
    return [ItemText(text, impacts(token_ids(text, words))) for text in redacted]


def _at_paths(value: Mapping[str, Any], paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        yield from get_text_at_path(value, path if path == WHOLE_VALUE else tokenize_path(path))


def text_row(
    text: ItemText,
    user_key: UUID,
    item_key: UUID,
    position: int,
    *,
    space_key: int,
    vector: Vectors,
    written_at: datetime,
    sealer: FieldSealer,
) -> dict[str, Any]:
    """Return the row of an item's text, by column."""
    record = MemoryRecord.model_construct(
        text=text.text,
        type=ITEM,
        entry_id=text_key_of(item_key, position),
        position=position,
        app_name=APP_NAME,
        created_at=written_at,
    )
    row = row_of(record, user_key, space_key=space_key, vector=vector, words=text.words, sealer=sealer)
    return {**row, "thread_key": item_key}
