"""Find out whose a row is, by a template of the names that it has in the source."""

from __future__ import annotations

import re
from collections.abc import Sequence

from discreet.errors import ImportSourceError
from discreet.importing.sources.reading.values import user_of

_USER = re.escape("{user_id}")
_ANY = re.escape("*")


class UserTemplate:
    """A template such as `memories.{user_id}.*` for namespaces, or `chat:{user_id}:*` for other names."""

    def __init__(self, template: str, *, labels: bool = False) -> None:
        """Read `template`. `*` is any text; with `labels` any label, and at the end any further ones, or none.

        Raises:
            ImportSourceError: It does not say once where the user is.
        """
        if template.count("{user_id}") != 1:
            raise ImportSourceError(
                "The template of users must have {user_id} in it once: memories.{user_id}.*, for one."
            )
        pattern = _of_labels(template.split(".")) if labels else _of_text(template, user=".+", other=".*")
        self._pattern = re.compile(pattern, re.DOTALL)

    def user_of(self, name: str | Sequence[str]) -> str | None:
        """Return the user in `name`, a text or a namespace; None if it is no such name.

        Raises:
            UnreadableRowError: What stands there can't be a user.
        """
        found = self._pattern.fullmatch(name if isinstance(name, str) else ".".join(name))
        return found and user_of(found["user"])


def _of_labels(labels: Sequence[str]) -> str:
    patterns = [_of_text(label, user="[^.]+", other="[^.]*" if label != "*" else "[^.]+") for label in labels]
    if len(labels) > 1 and labels[-1] == "*":
        return r"\.".join(patterns[:-1]) + r"(?:\..*)?"
    return r"\.".join(patterns)


def _of_text(template: str, *, user: str, other: str) -> str:
    return re.escape(template).replace(_USER, f"(?P<user>{user})").replace(_ANY, other)
