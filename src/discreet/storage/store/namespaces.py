"""Where items of the store are kept: a namespace as one text, an item and its texts as keys of fixed size.

A namespace is a row of `discreet.store_namespace`. Its path is its labels with U+001F before each and at the end; the
namespaces below one are those whose path begins with its. Its key is a digest of the path.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from uuid import UUID

from langgraph.store.base import InvalidNamespaceError

from discreet.storage.database.keys import digest

SEPARATOR = "\x1f"
"""The ASCII unit separator, which sorts before every character that a label may hold."""
_AFTER_SEPARATOR = "\x20"

OWNED = "users"
"""First label of what belongs to one user. The second is whose it is."""

MAX_PATH_BYTES = 2_000
"""Of the labels and their separators as UTF-8: the index on path holds 2,704 bytes an entry."""

MAX_TEXTS = 2**16
"""Texts that one item can be searched by: their number is the last two bytes of their key."""


def path_of(namespace: Iterable[str]) -> str:
    """Return the text that stands for `namespace`; that of the empty one begins all others.

    Raises:
        InvalidNamespaceError: A label is no text, is empty, or holds a period or a control character; or the labels
            are too long together.
    """
    path = SEPARATOR + "".join(_checked(label) + SEPARATOR for label in namespace)
    if len(path.encode()) > MAX_PATH_BYTES:
        raise InvalidNamespaceError(f"The labels of a namespace may have {MAX_PATH_BYTES:,} bytes together.")
    return path


def labels_of(path: str) -> tuple[str, ...]:
    """Return the namespace that `path` stands for."""
    return tuple(path.split(SEPARATOR)[1:-1])


def span_of(prefix: Iterable[str]) -> tuple[str, str]:
    """Return the least path of `prefix` and the namespaces below it, and the least path after them all."""
    low = path_of(prefix)
    return low, low[:-1] + _AFTER_SEPARATOR


def item_key_of(key: str) -> UUID:
    """Return 112 bits that stand for the key of an item in its namespace, and 16 that are zero."""
    return UUID(int=digest(key).int & ~(MAX_TEXTS - 1))


def text_key_of(item_key: UUID, position: int) -> UUID:
    """Return the entry_id of a text of an item, so that the texts of an item are side by side in the index."""
    return UUID(int=item_key.int | position)


def _checked(label: object) -> str:
    """Return `label`. LangGraph's rules, and no control characters; the label is not quoted, it may be a name."""
    if not isinstance(label, str):
        raise InvalidNamespaceError(
            f"Labels of a namespace must be strings; one is a {type(label).__name__}: give its text, str(…)."
        )
    if not label or "." in label or any(unicodedata.category(char) in ("Cc", "Cs") for char in label):
        raise InvalidNamespaceError(
            "Labels of a namespace must not be empty, nor hold a period, a control character or a lone surrogate."
        )
    return label
