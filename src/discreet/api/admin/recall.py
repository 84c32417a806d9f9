"""Say in plain words why a search finds a memory, and whether it would be in the prompt. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.api.admin.figures import decimal
from discreet.retrieval.lexical import MAX_QUERY_TOKENS
from discreet.retrieval.tokens import tokens
from discreet.state.records import PAST_TYPES, ScoredMemory

_WORD = re.compile(r"\w+(?:'\w+)?")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What holds for a search of the graph."""

    limit: int
    """Memories at most."""
    threshold: float
    """Least similarity of a memory that shares no word with the question."""
    semantic: bool
    """Whether meanings are compared, not words alone."""
    few: int = 0
    """Of a person with at most so many facts all are told, near or not."""


@dataclass(frozen=True, kw_only=True)
class Explained:
    """One memory that a question finds, or nearly."""

    hit: ScoredMemory
    words: list[str]
    """What it shares with the question, as the question has it."""
    place: int | None
    """Its number among those in the prompt, from 1; None: it would not be there."""
    reason: str


def explain(
    question: str, chosen: Sequence[ScoredMemory], others: Sequence[ScoredMemory], rules: Rules
) -> list[Explained]:
    """Return an explanation of each memory, best first.

    `chosen` is what the search of the graph finds under `rules`; `others` is what it finds without limit and threshold, and
    may hold the same again.
    """
    places = {hit.record.entry_id: place for place, hit in enumerate(chosen, start=1)}
    hits = [*chosen, *(hit for hit in others if hit.record.entry_id not in places)]
    explained = []
    for hit in hits:
        words = shared_words(question, hit.record.text)
        place = places.get(hit.record.entry_id)
        why = _why_chosen(hit, words, rules) if place else _why_not(hit, words, rules)
        explained.append(Explained(hit=hit, words=words, place=place, reason=why))
    return explained


def shared_words(question: str, text: str) -> list[str]:
    """Return the words that both have, as search compares them, each as `question` writes it.

    Example:
        >>> shared_words("Which parrots does she own?", "Ann keeps a parrot")
        ['parrots']
    """
    asked = list(dict.fromkeys(tokens(question)))[:MAX_QUERY_TOKENS]
    shared = set(asked) & set(tokens(text))
    written: dict[str, str] = {}
    for word in _WORD.findall(question):
        found = tokens(word)
        if len(found) == 1:
            written.setdefault(found[0], word)
    return [written.get(token, token) for token in asked if token in shared]


def _why_chosen(hit: ScoredMemory, words: Sequence[str], rules: Rules) -> str:
    if words:
        return f"It shares {_named(words)} with the question. Then its similarity does not matter."
    if _near(hit, rules):
        return (
            f"It shares no word with the question, but its meaning is near enough: "
            f"{decimal(hit.similarity)}, and {decimal(rules.threshold)} is asked for."
        )
    if hit.record.conflict_flags:
        return "It was said later than a memory that was found, and may contradict it. So it comes along."
    if rules.few and hit.record.type not in PAST_TYPES:
        return f"No more than {rules.few} facts are known of this person, and all of these are told, near or not."
    return "It was said beside words of the question, or on a day that the question names."


def _why_not(hit: ScoredMemory, words: Sequence[str], rules: Rules) -> str:
    if words or _near(hit, rules):
        what = f"It shares {_named(words)} with the question" if words else "Its meaning is near enough"
        taken = "one is" if rules.limit == 1 else f"{rules.limit} are"
        return f"{what}, but others come before it, and only the best {taken} taken."
    if not rules.semantic:
        return "It shares no word with the question, and words are all that is compared here."
    return (
        f"It shares no word with the question, and its meaning is not near enough: "
        f"{decimal(hit.similarity)}, where {decimal(rules.threshold)} is asked for."
    )


def _near(hit: ScoredMemory, rules: Rules) -> bool:
    return rules.semantic and hit.similarity >= rules.threshold


def _named(words: Sequence[str]) -> str:
    quoted = [f"“{word}”" for word in words]
    if len(quoted) == 1:
        return f"the word {quoted[0]}"
    return f"the words {', '.join(quoted[:-1])} and {quoted[-1]}"
