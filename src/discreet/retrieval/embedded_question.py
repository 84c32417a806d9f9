"""What of a question is embedded: all but the names of those whom it is about.

Every turn of a conversation begins with the name of who speaks. A name in a question draws its vector to all of that
person's turns, whatever they say; word search and the marks of speakers find the right person better. LoCoMo, first five
conversations, R@5 / R@10 / MRR: .582 / .677 / .497 by the vector alone and .762 / .831 / .659 with words, instead of .492 /
.581 / .427 and .737 / .810 / .629 with the names.

A name is taken for one by its capital letter, so this is for English, the one language with conversations to measure it on.
It is done in questions that have no word of the first person: a person who asks about themselves ("Where do I stay in
Lisbon?") names what the answer is about, and so does a request ("Describe Wren."). Without these limits 77 instead of 7 of the
664 questions of benchmarks/retrieval_sets/people (tuning part) lose names, and R@5 is .506 instead of .562 for summaries and
.828 instead of .859 for questions of order; no figure of LoCoMo is better by more than .001.
"""

from __future__ import annotations

import re
from itertools import pairwise

from discreet.retrieval.tokens import tokens

FEWEST_TOKENS = 2
"""Tokens that have to be left; with fewer the whole question is embedded. LoCoMo, R@5 / R@10 / MRR: .756 / .834 / .650 with 1,
.759 / .834 / .651 with 2, .753 / .830 / .642 with 3."""

_STRAIGHT = str.maketrans(
    "\N{RIGHT SINGLE QUOTATION MARK}\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}", '\'""'
)
_WORD = re.compile(r"[\w'-]+")
_BREAK = re.compile(r"[.!?:;\"(\n]|\s-")
"""Stands before a word that has its capital from where it is."""
_BLANKS = re.compile(r"\s+(?=[\s?.,!])")
"""What is left too many of around a word that is gone."""

_ENGLISH = "i me my mine myself we us our ours i'm i've i'd i'll im ive"
_UNMARKED_VIETNAMESE = "toi minh tui"
_FIRST_PERSON = frozenset(f"{_ENGLISH} {_UNMARKED_VIETNAMESE}".split())
"""Vietnamese without its marks looks like English."""


def embedded_question(text: str) -> str:
    """Return what of `text` is embedded to search by it.

    >>> embedded_question("What did Caroline's sister paint?")
    'What did sister paint?'
    """
    plain = text.translate(_STRAIGHT)
    if "?" not in plain or not plain.isascii():
        return text
    words = list(_WORD.finditer(plain))
    if not _FIRST_PERSON.isdisjoint(word[0].lower() for word in words):
        return text
    left, last = "", 0
    for before, word in pairwise(words):
        if word[0][0].isupper() and not _BREAK.search(plain[before.end() : word.start()]):
            left += plain[last : word.start()]
            last = word.end()
    left = _BLANKS.sub("", left + plain[last:])
    return left if last and len(tokens(left)) >= FEWEST_TOKENS else text
