"""Words of letters only that may be passwords, and what a model weighs of them.

Those are words that many people use, and words of plain small letters in a text of another script, or with marks.
"""

from __future__ import annotations

import re
from functools import cache

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.told.near import OF_USER
from discreet.redaction.recognisers.told.password import STANDS_OUT
from discreet.redaction.recognisers.told.surroundings import (
    AROUND,
    PAIRED,
    around,
    count_near,
    is_near,
    together,
    window,
)
from discreet.redaction.recognisers.told.values import BRAND, TOOLS, names_a_value
from discreet.redaction.word_set import small, word_set
from discreet.redaction.words import languages, words

TELLING = ("password", "login", "opens", "answer")
"""Kinds of words of which one stands near every such password."""
REACH = 80
"""Characters to it."""
FOREIGN = False
"""Whether one may be told without a word near it, where it is foreign to its text."""
MOST_NEAR = 12
"""Where more stand around one, they are a sentence of another language."""
MOST_NAMES = 3
"""Latin words in a sentence of another script."""
WORD = lazy(
    r"(?<![!-~\u00c0-\u024f\u1e00-\u1eff])[\"'`«“「『]?(?P<value>[A-Za-z][a-z]{3,15})(?![\x21\x23-\x26\x2a-\x2b\x2d\x2f-\x3a\x3c-\x7e\u00c0-\u024f\u1e00-\u1eff]|\.[a-z]| ?/)"
)
SYLLABLE = lazy("(?:ngh?|kh|th|tr|ch|ph|gh|gi|qu|nh|[bcdghklmnprstvx])?[aeiouy]{1,3}(?:ng|nh|ch|[cmnpt])?")
"""Vietnamese without marks."""
LATIN_WORD = lazy("[A-Za-z]{2,40}")
FIGURES = (
    *AROUND,
    *(f"{kind} and foreign" for kind in PAIRED),
    "quoted",
    "foreign words",
    "letters",
    "common",
    "common and plain",
    "capital",
)
"""What `figures` are."""


def candidates(view: View) -> list[Span]:
    """Return where such words stand."""
    text, lowered = view.text, view.derived(small)
    others = not text.isascii() and STANDS_OUT.search(text) is not None
    if not others and common_words().isdisjoint(view.derived(word_set)):
        return []
    spans = (match.span("value") for match in WORD.finditer(text))
    return [
        span
        for span in spans
        if may_be_password(view, span, others=others) and not OF_USER.search(lowered, max(0, span[0] - 40), span[0])
    ]


def is_told(view: View, span: Span) -> bool:
    """Tell whether a word stands near without which none is a password."""
    return is_near(view, span, TELLING, REACH)


def may_be_password(view: View, span: Span, *, others: bool) -> bool:
    """Tell whether a word can be a password, rather than what one is for or a word about it."""
    word = view.text[slice(*span)]
    if word.lower() in common_words():
        return names_a_value(word)
    if not others or SYLLABLE.fullmatch(word):
        return False
    return (
        word.islower()
        and word not in TOOLS
        and word not in plain_words()
        and not BRAND.fullmatch(word)
        and names_a_value(word)
        and STANDS_OUT.search(window(view, span)) is not None
    )


@cache
def common_words() -> frozenset[str]:
    """Return the words that many people use for a password."""
    return frozenset(words("secret", "common"))


@cache
def plain_words() -> frozenset[str]:
    """Return the words of plain letters that the languages list."""
    found = (
        re.findall("[a-z]+", word)
        for each in languages()
        for table in each.tables.values()
        for name, entries in table.items()
        if name != "common"
        for word in entries
    )
    return frozenset(word for each in found for word in each)


def figures(view: View, span: Span, found: list[Span]) -> list[float]:
    """Return all figures of a word, one of those that were `found` in its text."""
    start, end = span
    near, text = around(view, span), window(view, span)
    is_common = view.text[start:end].lower() in common_words()
    return [
        *near,
        *together(near, [1.0]),
        float(view.text[start - 1 : start] in tuple("\"'`«“「『") and start > 0),
        float(count_near(span, found) > 1 or len(LATIN_WORD.findall(text)) > MOST_NAMES),
        min(1.0, (end - start) / 10),
        float(is_common),
        float(is_common and not STANDS_OUT.search(text)),
        float(view.text[start].isupper()),
    ]
