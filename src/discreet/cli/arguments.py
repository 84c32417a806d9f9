"""What several commands take: whose data it is about, and which namespaces are theirs."""

from __future__ import annotations

from collections.abc import Sequence

import typer
from langgraph.store.base import InvalidNamespaceError

from discreet.access.identity import load_identities
from discreet.settings import Settings
from discreet.state.context import check_user_id
from discreet.storage.store.namespaces import span_of


def user_id_of(settings: Settings, user: str, *, subject: bool) -> str:
    """Return the user_id of who is named, by it or as a caller of a server.

    Raises:
        InvalidUserError: It can't be one.
    """
    check_user_id(user)
    return load_identities(settings).of(user) if subject else user


def labels_of(namespaces: Sequence[str]) -> list[list[str]]:
    """Return the labels of namespaces that are written with periods."""
    named = [namespace.split(".") for namespace in namespaces]
    for labels in named:
        try:
            span_of(labels)
        except InvalidNamespaceError as error:
            raise typer.BadParameter(str(error), param_hint="--namespace") from None
    return named
