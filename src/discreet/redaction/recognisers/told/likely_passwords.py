"""Words that have the form of a password, and what a model weighs of them."""

from __future__ import annotations

import re

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.told.likely_words import common_words
from discreet.redaction.recognisers.told.near import OF_USER, PASSWORD, is_password
from discreet.redaction.recognisers.told.password import STANDS_OUT
from discreet.redaction.recognisers.told.programs import is_program
from discreet.redaction.recognisers.told.surroundings import AROUND, PAIRED, around, is_near, together, window
from discreet.redaction.word_set import small

TELLING = ("password", "login", "opens", "once", "pin", "plain", "lock", "press", "sent", "context", "answer")
"""Kinds of words of which one stands near every password, but for some in texts of other scripts."""
FOREIGN = True
"""Whether one may be told without a word near it, where it is foreign to its text."""
MOST_NEAR = 15
TOKEN = lazy(
    r"(?<![!-~])[\"'`(«“„]{0,2}(?P<value>[!#-&*+.0-9A-Za-z~^_-][!-~]{5,47}?)(?=[\"'`)»”]?[,.;:!?]{0,2}(?:[\s\"'`)»”]"
    r"|[^\x00-\x7f]|\Z))|(?<=[^\x00-\x7f])(?P<glued>[A-Za-z][!#-&*+.0-9A-Z_a-z~^-]{5,47}?)(?=[,.;:!?]{0,2}(?:\s"
    r"|[^\x00-\x7f]|\Z))"
)
PHRASE = lazy("[a-z]+(?:-[a-z]+){2,5}")
DIGIT = lazy("[0-9]")
LEAST_HYPHENS = 2
"""In every password without a digit, which is a phrase."""
DIGITS_AT_END = lazy(r"([0-9]+)[!@#$%&*?]{0,2}\Z")


FIGURES = (
    *AROUND,
    *(f"{kind} and {shape}" for shape in ("word and number", "phrase") for kind in PAIRED),
    "word and number",
    "phrase",
    "signs",
    "underscore",
    "capital",
    "long number",
    "common",
    "all common",
    "among other letters",
)
"""What `figures` are."""


def candidates(view: View) -> list[Span]:
    """Return where such words stand that are no names of users or parts of programs."""
    lowered, text = view.derived(small), view.text
    if not DIGIT.search(text) and text.count("-") < LEAST_HYPHENS:
        return []
    spans = (match.span(match.lastgroup or 0) for match in TOKEN.finditer(text))
    return [
        (start, end)
        for start, end in spans
        if PASSWORD.fullmatch(text, start, end)
        and is_password(text[start:end])
        and not OF_USER.search(lowered, max(0, start - 40), start)
        and not is_program(text, start, end)
    ]


def is_told(view: View, span: Span) -> bool:
    """Tell whether a word stands near without which nothing is a password, or a text around that it is foreign to."""
    return is_near(view, span, TELLING) or STANDS_OUT.search(window(view, span)) is not None


def figures(view: View, span: Span, found: list[Span]) -> list[float]:  # noqa: ARG001  # what other kinds count
    """Return all figures of a word that has the form of a password."""
    value = view.text[slice(*span)]
    tail = DIGITS_AT_END.search(value)
    near = around(view, span)
    common = [word in common_words() for word in re.findall("[a-z]+", value.lower())]
    return [
        *near,
        *together(near, [float(value.isalnum() and value.islower()), float(PHRASE.fullmatch(value) is not None)]),
        float(value.isalnum() and tail is not None),
        float(PHRASE.fullmatch(value) is not None),
        float(any(sign in value for sign in "!@#$%^&*?~+")),
        float("_" in value),
        float(any(map(str.isupper, value))),
        float(tail is not None and len(tail[1]) > 2),  # names of things have two
        float(any(common)),
        float(all(common)),
        float(STANDS_OUT.search(window(view, span)) is not None),
    ]
