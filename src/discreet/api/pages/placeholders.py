"""Mark placeholders in a text, so that a reader sees where something was taken out."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

PLACEHOLDER = re.compile(r"<[A-Z][A-Z0-9_]{0,40}(?::[A-Z2-7]{8})?>")
"""Of any type, with a tag or without."""


def with_placeholders(text: str) -> Markup:
    """Return a stored text as HTML, with its placeholders marked.

    Example:
        >>> with_placeholders("to <EMAIL>")
        Markup('to <mark class="mask">&lt;EMAIL&gt;</mark>')
    """
    parts: list[Markup] = []
    end = 0
    for match in PLACEHOLDER.finditer(text):
        parts += [escape(text[end : match.start()]), Markup('<mark class="mask">{}</mark>').format(match[0])]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])
