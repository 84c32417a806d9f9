"""Check and redact the operations of a store before anything is sent anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, Op, PutOp, SearchOp

from discreet.access.actor import SELF, Actor
from discreet.access.epochs import Beginning
from discreet.access.user_keys import UserKeys
from discreet.errors import InvalidFilterError, InvalidRecordError
from discreet.ports import TextRedactor
from discreet.state.text import storable
from discreet.storage.memories.memories import MAX_QUERY_CHARS
from discreet.storage.store.filters import conditions_of
from discreet.storage.store.namespaces import OWNED, item_key_of, path_of
from discreet.storage.store.ops import redacted_op
from discreet.storage.store.texts import texts_of, written_value
from discreet.storage.store.writes import Put

MAX_PAGE = 2**31 - 1
"""Most items that a search may ask for or pass over."""

Prepared = GetOp | SearchOp | ListNamespacesOp | Put
"""What can be executed as it is."""


@dataclass(frozen=True, kw_only=True)
class Preparer:
    """Turns operations into what can be executed."""

    redactor: TextRedactor
    """Of values, filters and questions."""
    fields: Sequence[str]
    """Paths of the texts that items are found by, where a put does not say."""
    keys: UserKeys
    """Of namespaces, and of the words that items are found by."""

    def prepare(self, op: Op, began: Beginning | None = None, actor: Actor = SELF) -> Prepared:
        """Return `op` checked, redacted and storable. `began`: under what the turn began that it is of; `actor`: who asks.

        Raises:
            InvalidNamespaceError: A label can't be one.
            InvalidRecordError: A label or key holds a sensitive value, or a value is no JSON.
            InvalidFilterError: An operator is not known, or limit or offset is no number of items.
        """
        _check_names(op)
        redacted = redacted_op(op, _Storable(self.redactor))
        match redacted:
            case PutOp():
                return self._put(redacted, began, actor)
            case SearchOp():
                conditions_of(redacted.filter)
                query = (redacted.query or "")[:MAX_QUERY_CHARS]
                return redacted._replace(query=query if query.strip() else None)
        return redacted

    def _put(self, op: PutOp, began: Beginning | None, actor: Actor) -> Put:
        path = path_of(op.namespace)
        is_owned = len(op.namespace) > 1 and op.namespace[0] == OWNED
        return Put(
            user_key=self.keys.of_namespace(path),
            path=path,
            item_key=item_key_of(op.key),
            key=op.key,
            value=None if op.value is None else written_value(op.value),
            texts=[]
            if op.value is None
            else texts_of(op.value, op.index, self.fields, self.redactor, self.keys.token_digest),
            ttl=op.ttl,
            owner=self.keys.of_user(op.namespace[1]) if is_owned else None,
            began=began,
            actor=actor,
        )


class _Storable:
    """A redactor of texts as the database can hold them."""

    def __init__(self, redactor: TextRedactor) -> None:
        self._redactor = redactor

    def redact(self, text: str) -> str:
        return self._redactor.redact(storable(text))


def _check_names(op: Op) -> None:
    match op:
        case GetOp() | PutOp():
            path_of(op.namespace)
            _check_key(op.key)
            if isinstance(op, PutOp) and not op.namespace:
                raise InvalidNamespaceError("A namespace needs a label.")
        case SearchOp():
            path_of(op.namespace_prefix)
            _check_page(op)
        case ListNamespacesOp():
            _check_page(op)
            for condition in op.match_conditions or ():
                path_of(condition.path)


def _check_page(op: SearchOp | ListNamespacesOp) -> None:
    page: dict[str, object] = {"limit": op.limit, "offset": op.offset}
    for name, number in page.items():
        if not isinstance(number, int) or not 0 <= number <= MAX_PAGE:
            raise InvalidFilterError(f"The {name} must be a whole number from 0 to {MAX_PAGE:,}.")


def _check_key(key: object) -> None:
    if not isinstance(key, str) or storable(key) != key:
        raise InvalidRecordError("The key of an item must be a string without NUL and lone surrogates.")
