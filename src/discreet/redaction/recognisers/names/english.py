"""Names in English talk: behind phrases that introduce people, in greetings, after titles and in signatures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.names.introduced import WORD, Introduced, is_capitalised
from discreet.redaction.recognisers.names.known import phrases, small, words
from discreet.redaction.words import any_of

GIVEN = small("en", "given")
COMMON = small("en", "common")
BRANDS = small("en", "brands")
NO_NAMES = (COMMON | BRANDS) - GIVEN
PARTICLES = frozenset(words("en", "particles"))
ALSO_FAMILY = small("en", "also_family")
"""Words that family names are too: names behind a given name only."""

AFTER_TITLE = small("en", "after_title")
MOST_WORDS = 6


@dataclass(frozen=True, slots=True)
class Gate:
    """Words that introduce a name, and how sure it is that one follows."""

    pattern: re.Pattern[str]
    single: bool = False
    """A capitalised word alone is a name, whichever it is; else a known given name only."""
    unknown: bool = True
    """Several capitalised words are a name, whichever they are; else the first has to be a known given name."""
    small: bool = False
    """A known given name may be in small letters, and so may the word behind it."""
    behind: re.Pattern[str] = re.compile("")
    """What has to stand behind the name."""
    never: frozenset[str] = frozenset()
    """Further words that are no names here."""


def _gate(pattern: str, **options: Any) -> Gate:
    return Gate(re.compile(rf"(?<![\w'’-])(?:{pattern})", re.IGNORECASE), **options)


_LABELS = any_of(phrases("en", "name_labels")).replace("\\-", "[ _-]")
_PEOPLE = any_of(phrases("en", "labelled")).replace("\\-", "[ _-]")
_RELATIONS = any_of(words("en", "relations"))
_OF = "(?:my|his|her|our|their|your)"
_KNOWN = "(?:new |old |ex-|late |younger |older |elder |best |good )?"
_I_AM = "(?:i['’]m|i am)"
_THIS_IS = "(?:this is|it['’]s)"
_TITLE = r"(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof)\.? "
_IS = "[\"']? ?[:=|\t] ?[\"']?"
"""What stands between a label and its value, in a form, a table or JSON."""

_END = re.compile(r" ?(?:\Z|  |[\n,.;|!?)(<\"'/\0-]| (?:[A-Z]{2,5}:|and\b|or\b|with\b|from\b|at\b))")
_LINE_END = re.compile(r" ?[,.!]?(?= *(?:\n|\Z))")
_ADDRESSED = re.compile(r" ?[,.!?:\n\0]|\Z")
_GOES_ON = re.compile(
    r",|[.]? ?(?:from|at|of|and i|the|an?|calling|writing|your|here|with)\b|[.!]?\s*(?:\n|\Z)", re.IGNORECASE
)
_SPEAKS = re.compile(r",? (?:speaking|calling|from|here|again|writing)\b")

GATES = (
    _gate(
        rf"{_OF} (?:(?:full|first|last|given|family|middle|real|legal|maiden) )?name(?: is|['’]s) ",
        single=True,
        small=True,
    ),
    _gate(rf"{_OF} {_KNOWN}{_RELATIONS}['’]s name is ", single=True, small=True),
    _gate(
        rf"(?:what(?: is|['’]s)|may I have|and) (?:your|the) (?:{_LABELS} )?name"
        r"(?: on the (?:account|booking|order))?\? (?:user: )?",
        single=True,
    ),
    _gate("(?:it['’]s|is|booked|reserved|registered|listed|filed) under (?:the name(?: of)? )?"),
    _gate(rf"{_OF} {_KNOWN}{_RELATIONS}(?: is| was|,| is called|, named| called| named)? "),
    _gate(f"(?:{_I_AM}|{_THIS_IS}|it is) ", unknown=False),
    _gate("you(?:['’]re| are) (?:now )?(?:talking|speaking|chatting) (?:to|with) "),
    _gate(f"(?:{_I_AM}|{_THIS_IS}) {_TITLE}", single=True, never=AFTER_TITLE),
    _gate(f"{_I_AM} ", behind=_GOES_ON),
    _gate(rf"(?:{_THIS_IS}|(?:good )?(?:morning|afternoon|evening),) ", behind=_SPEAKS),
    _gate("calls? me |(?:i['’]m|am|is|was|are) (?:called|named) "),
    _gate(rf"{_TITLE}|(?:Mister|Doctor|Professor) (?-i:(?=[A-Z]))", single=True, never=AFTER_TITLE),
    _gate(
        rf"dear (?:{_TITLE})?",
        single=True,
        behind=_ADDRESSED,
        never=frozenset({"diary", "santa", "god", "reader", "lord"}),
    ),
    _gate(
        "(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening)|welcome|thanks|thank you|bye|goodbye)[, ]{1,2}"
        "(?:again,? )?",
        behind=_ADDRESSED,
        unknown=False,
    ),
    _gate(
        "(?:attn|attention|c/o|signed by|on behalf of|account holder is|(?:address the letter|addressed) to)[: .]{1,2}"
    ),
    _gate(
        "(?:call|phone|ring|text|e-?mail|message|contact|invite|visit|meet|met|meeting(?: with)?|married|hired|ask|tell"
        "|told|(?:lunch|dinner|breakfast|coffee|drinks|appointment|interview|call|date|session) with) ",
        unknown=False,
    ),
    _gate("(?:patient|customer|client|employee|passenger|tenant|user|agent|contact) ", unknown=False),
    _gate(rf"(?:{_LABELS}[ _-])?names?{_IS}", behind=_END),
    _gate(rf"{_LABELS}[ _-]?name(?:{_IS}| is )", single=True, behind=_END),
    _gate(rf"{_PEOPLE}(?:[ _-]name)?{_IS}(?:{_TITLE})?", behind=_END),
)
SIGNED = Gate(
    re.compile(
        r"(?:(?:best|kind|warm|warmest|kindest)(?: regards| wishes)?|regards|(?:yours )?(?:sincerely|truly|faithfully)"
        r"|sincerely yours|cheers|(?:many )?thanks(?: again| a lot| in advance)?|thank you(?: very much)?|all the best"
        r"|respectfully|love|take care)[,.!]?[ \n]{0,2}\n[ \t]*(?:- ?)?",
        re.IGNORECASE,
    ),
    single=True,
    behind=_LINE_END,
)
HERE = re.compile(
    r"(?:(?:^|[\n.!?] ?)|(?<![^\W_])(?:hi|hello|hey)[, ]{1,2})"
    r"(?P<name>[A-Z][a-z]{1,20}(?: [A-Z][a-z]{1,20})?)(?= here\b)",
    re.IGNORECASE,
)
"""A name before the word that introduces it."""

OTHER_NAMES = re.compile(rf"{any_of(words('en', 'other_names'))}[ _-]?\Z", re.IGNORECASE)
"""What stands before `name` where it isn't a person's."""
HINT = re.compile("[A-Z\u00c0-\u024f]|name")


class EnglishNameRecogniser(Introduced):
    """Finds names that somebody is introduced or addressed by, or signs with, and none in the middle of talk."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all names."""
        text = view.text
        if HINT.search(text) is None:
            return
        for gate in (*GATES, SIGNED):
            for match in gate.pattern.finditer(text):
                if "name" in match[0] and OTHER_NAMES.search(text, max(0, match.start() - 12), match.start()):
                    continue
                found = _name_at(text, match.end(), gate)
                if found is not None:
                    yield found
        for match in HERE.finditer(text):
            if match["name"].split()[0].lower() in GIVEN and is_capitalised(match["name"]):
                yield match.span("name")


def _name_at(text: str, start: int, gate: Gate) -> Span | None:
    """Return the name that begins at a place, if one does."""
    found: list[re.Match[str]] = []
    place = start
    while len(found) < MOST_WORDS and (word := WORD.match(text, place)) is not None:
        if not _goes_on(word[0], found, gate):
            break
        found.append(word)
        place = word.end() + text.startswith(" ", word.end())
        if place == word.end():
            break
    while found and (found[-1][0] in PARTICLES or gate.behind.match(text, found[-1].end()) is None):
        found.pop()
    return (start, found[-1].end()) if found and _is_name([each[0] for each in found], gate) else None


def _goes_on(word: str, before: list[re.Match[str]], gate: Gate) -> bool:
    """Tell whether a word may be the next one of a name."""
    lowered = word.lower().removesuffix("'s").removesuffix("’s")
    if lowered in gate.never and not before:
        return False
    if lowered in NO_NAMES and not (before and lowered in ALSO_FAMILY and is_capitalised(word)):
        return False
    if is_capitalised(word):
        return True
    if before and word in PARTICLES:
        return True
    return gate.small and (lowered in GIVEN if not before else len(before) == 1 and before[0][0][0].islower())


def _is_name(name: list[str], gate: Gate) -> bool:
    """Tell whether words that may be a name are one."""
    first = name[0].lower()
    if first in GIVEN and first not in COMMON:
        return True
    several = len(name) > 1
    return gate.unknown if several else gate.single and len(first) > 1
