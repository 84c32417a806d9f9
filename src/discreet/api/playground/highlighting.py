"""Mark in a text what the redactor would take out of it."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from discreet.api.pages.placeholders import with_placeholders
from discreet.redaction import Finding


def with_values(text: str, findings: Sequence[Finding]) -> Markup:
    """Return a text with real values as HTML, with what was found in it marked; its placeholders too."""
    parts: list[Markup] = []
    end = 0
    for found in findings:
        value = Markup('<mark class="value" title="{}">{}</mark>').format(found.type, text[found.start : found.end])
        parts += [with_placeholders(text[end : found.start]), value]
        end = found.end
    return Markup("").join([*parts, with_placeholders(text[end:])])
