"""What several commands take: whose data it is about, and which namespaces are theirs."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer
from langgraph.store.base import InvalidNamespaceError

from discreet.access.identity import load_identities
from discreet.access.sensitive_ids import load_sensitive_ids
from discreet.settings import Settings
from discreet.state.ids import check_user_id
from discreet.storage.store.namespaces import span_of

REFUSED_IDS = (
    "discreet: This user_id holds a sensitive value. Nothing new is stored under such ids; what is there from before is found. Add "
    "--subject if it names a caller of a server, or set DISCREET_SENSITIVE_IDS=hash if it was set when things were stored "
    "(docs/identifiers.md)."
)


def user_id_of(settings: Settings, user: str, *, subject: bool, stores: bool = False) -> str:
    """Return the user_id of who is named, by it or as a caller of a server; `stores`: whether something is to be stored for them.

    What is kept of an id that would be refused is looked for all the same, and standard error has a note.

    Raises:
        InvalidUserError: It can't be one.
        SensitiveIdError: Something is to be stored, and it holds a sensitive value, which the settings refuse.
    """
    if subject:
        return load_identities(settings).of(check_user_id(user))
    ids = load_sensitive_ids(settings)
    if not stores and ids.refuses(check_user_id(user)):
        print(REFUSED_IDS, file=sys.stderr)
    return ids.user_id(user, stores=stores)


def labels_of(namespaces: Sequence[str]) -> list[list[str]]:
    """Return the labels of namespaces that are written with periods."""
    named = [namespace.split(".") for namespace in namespaces]
    for labels in named:
        try:
            span_of(labels)
        except InvalidNamespaceError as error:
            raise typer.BadParameter(str(error), param_hint="--namespace") from None
    return named
