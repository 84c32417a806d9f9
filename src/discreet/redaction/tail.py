"""Tell what at the end of a text that is being written may still become part of a value."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.normalise import normalise
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.obfuscated_email import CONNECTORS
from discreet.redaction.recognisers.private_key import PrivateKeyRecogniser
from discreet.redaction.recognisers.seed_phrase import SeedPhraseRecogniser
from discreet.redaction.recognisers.told import answer, password
from discreet.redaction.recognisers.told.names import ANSWERS, SECRETS
from discreet.redaction.spoken import HAN_DIGITS, spoken_words
from discreet.redaction.word_set import small

KEYS = PrivateKeyRecogniser()

LOOKED_AT = 512
"""Characters at the end that are looked at. What is open for longer is none of this, a private key apart."""

MOST_WORDS_BEHIND = 5
"""Words behind a number that may say what it is: "4821 is my pin", "12 oak street", "50,000 people". Of Han, two characters
are a word."""

MOST_WORDS_TOLD = 12
"""Words behind "password" in which it may stand, if it is a word itself and only the end of its sentence tells; behind
"recovery phrase", nine of which make a finding."""

MOST_SPELLED = 16
"""Words of "ann dot smith at mail dot example dot com", with room."""

AROUND_CONNECTORS = "[](){}<>*-_"

WORD = re.compile("[\u2e80-\u9fff\uac00-\ud7a3]{1,2}|[^\\s\u2e80-\u9fff\uac00-\ud7a3]+")
OF_NUMBER = re.compile(r".*[0-9].*|[^\w<>]{1,5}", re.DOTALL)
"""A word within a number: of digits, or a sign such as `(`, `+`, `№`."""
ABBREVIATION = re.compile(r"\w{1,4}\.,?")
MOST_NAMES = 6
"""Capitalised words before a number that may be of it: "AB 12 34 56 C", "Nguyễn Huệ 5"."""

QUOTE = re.compile(r"(?<!\w)\"[^\"\r\n]{1,64}(?:\"\S*)?\Z")
"""The local part of an address may be in quotes (RFC 5322, section 3.4.1)."""
ARMOUR = re.compile(r"-{2,5} ?(?:B(?:E(?:G(?:IN?)?)?)?)?(?: [A-Z0-9]{0,12}){0,6} ?-{0,5}\Z")
"""The first line of a private key."""

SENTENCE = re.compile(r"(?:[^.!?。！？\n]|[.!?](?!\s)|[:=][*_]{0,3}[ \t]*\r?\n){0,160}\Z")
"""The rest of a sentence, and the next line where one ends in a colon."""


def open_from(text: str) -> int:
    """Return where in `text` begins what may be part of a value once more is written; its length if nothing may.

    That the word which is being written is open need not be said.
    """
    first = max(0, len(text) - LOOKED_AT)
    view = normalise(text[first:])
    tail = view.text
    words = [match.span() for match in WORD.finditer(tail)]
    places = [match.start() for pattern in (QUOTE, ARMOUR) if (match := pattern.search(tail))]
    places += [_spoken(tail, words), _number(tail, words), _spelled(tail, words), *_told(view, words)]
    place = min(places)
    open_place = len(text) if place >= len(tail) else first + view.source(place, place + 1)[0]
    return min(open_place, KEYS.open_from(text))


def _spoken(tail: str, words: list[Span]) -> int:
    """Return where a number begins that is said digit by digit."""
    place = len(tail)
    for start, end in reversed(words):
        word = tail[start:end].strip(",.-").lower()
        if word not in spoken_words() and not HAN_DIGITS.keys() >= set(word) and end < len(tail):
            break
        place = start
    return place


def _number(tail: str, words: list[Span]) -> int:
    """Return where a number begins, with what may stand before it, that fewer words follow than may be about it."""
    last = len(words) - 1
    near = range(max(0, last - MOST_WORDS_BEHIND), last + 1)
    first = next((place for place in near if any(map(str.isdigit, tail[slice(*words[place])]))), None)
    if first is not None:
        while first and OF_NUMBER.fullmatch(tail[slice(*words[first - 1])]):
            first -= 1
        return words[_names(tail, words, first)][0]
    names = _names(tail, words, last + 1)  # before a number that comes next, or that a sign or a small word begins
    names = _names(tail, words, last) if names > last >= 0 else names
    return words[names][0] if names <= last else len(tail)


def _names(tail: str, words: list[Span], place: int) -> int:
    """Return the first of the words right before `place` that a number may end: capitalised ones, signs, abbreviations."""
    least = max(0, place - MOST_NAMES)
    while place > least and _is_name(tail[slice(*words[place - 1])]):
        place -= 1
    return place


def _is_name(word: str) -> bool:
    letter = next((char for char in word if char.isalnum()), "A")
    return letter.isupper() or ABBREVIATION.fullmatch(word) is not None


def _spelled(tail: str, words: list[Span]) -> int:
    """Return where an address may begin that says "at" and "dot", or has spaces around its signs."""
    said = [tail[slice(*word)].strip(AROUND_CONNECTORS).lower() for word in words[-MOST_SPELLED:]]
    if not said:
        return len(tail)
    if words[-1][1] < len(tail):
        said.append("")  # the word that comes next
    place = len(said) - 1
    if place and (_connects(said, place) or any(each.startswith(said[place]) for each in CONNECTORS)):
        place -= 1
    while place and (_connects(said, place) or _connects(said, place - 1)):
        place -= 1
    place -= len(said) - (words[-1][1] < len(tail))  # from the end, as `said` has but the last words
    return words[place][0] if place < 0 else len(tail)


def _connects(said: list[str], place: int) -> bool:
    """Tell whether a word stands for a sign, or begins or ends with one; "a" does in "a còng"."""
    if said[place][:1] == "@" or said[place][-1:] == "@":
        return True
    behind = said[place + 1 : place + 2]
    return said[place] in CONNECTORS or (said[place] == "a" and any("còng".startswith(each) for each in behind))


def _told(view: View, words: list[Span]) -> Iterator[int]:
    """Yield where words begin that may be what others before them tell."""
    tail = view.text
    lowered = view.derived(small)
    names = [password.NAME.match(lowered, place) for place in SECRETS.places(view)]
    told = [name.end() for name in names if name and not name["key"]]  # keys and tokens are told apart as words
    asked = [answer.NAME.match(lowered, place) for place in ANSWERS.places(view)]
    told += (name.end() for name in asked if name)
    places = [place for place in told if SENTENCE.match(tail, place)]
    if SeedPhraseRecogniser.HINTS.found_in(view):
        places += (name.end() for name in SeedPhraseRecogniser.TOLD.finditer(tail))
    yield from (place for place in places if sum(start >= place for start, _ in words) <= MOST_WORDS_TOLD)
