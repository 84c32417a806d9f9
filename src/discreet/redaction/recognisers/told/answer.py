"""Answers to security questions, which are words like any other."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.told.names import ANSWERS
from discreet.redaction.recognisers.told.values import names_a_value
from discreet.redaction.recognisers.windows import Windows
from discreet.redaction.word_set import small
from discreet.redaction.words import any_of, whole, words

MOST_CHARS_BETWEEN = 110
"""From "security question" to what was answered."""
LOOKED_AT_BEHIND = 320

_IS = any_of((*words("telling", "is", spaced=True), "-", ":", "="))
_GLUED = any_of((*words("telling", "is", spaced=False), ":", "="))
_WORD = r"[^\s,.;:?!\"'”»」』。，、()]"
_VALUE = rf"[ \"'“«「『]{{0,3}}(?P<value>(?:{_WORD}|[!.?](?=\w)){{2,30}}(?: {_WORD}{{1,30}}){{0,3}}?)(?=[\"'”»」』]|[ ]{{0,2}}(?:[.,;:!?。，、)]|\Z|\n|{any_of(words('telling', 'then', spaced=False))}| (?:{any_of((*words('telling', 'then', spaced=True), *words('telling', 'as', spaced=True)))})(?![^\W\d_])))"

ANSWER = whole(words("answer", "name"))
QUESTION = whole(words("answer", "question"))
NAME = lazy(rf"(?P<answer>{ANSWER})|(?P<question>{QUESTION})")
BEHIND_ANSWER = lazy(
    rf"(?: của (?:tôi|mình|em|anh))?(?:[^\r\n\0.]{{0,40}}?(?:(?<![^\W\d_])(?:{_IS})(?![^\W\d_])|{_GLUED}))(?: {_IS})?{_VALUE}"
)
BEHIND_QUESTION = lazy(
    rf"[^\r\n\0]{{0,{MOST_CHARS_BETWEEN}}}?(?:{whole((*words('answer', 'answer'), *words('answer', 'answered')))})(?: (?:{whole((*words('answer', 'answered'), *words('telling', 'filler')))}))?[ ]?(?:(?:{_IS})(?![^\W\d_])"
    rf"|{_GLUED})?{_VALUE}"
)
CODE_WORD = lazy(
    r"(?<!\w)кодов(?:ое|ым) слово(?:м)?(?: (?:для|по|от) \w{2,12})?(?P<told> ?[:=-]| (?:это"
    r"|будет))? [\"«]?(?P<value>[\w-]{3,30})[\"»]?(?=[.,;!]?(?:\s{0,3}\Z|\n))"
)
VERB = lazy(r"\w{0,30}(?:л|ла|ло|ли|ть|ет|ит|ят|ют|но|на|ое|ым|ный|ся|сь|шь|жу|ю)")
"""How Russian words that say something about a word end."""

NO_ANSWERS = frozenset(
    (*words("telling", "for", "filler", "is", "then"), "what", "что", "gì", "not", "was", "something", "about")
)
"""Words that go on with a sentence."""


class SecurityAnswerRecogniser:
    """Finds the rest of the clause after "my security answer is", and what was answered to a security question."""

    type = "SECRET"

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all answers."""
        lowered = view.derived(small)
        if "кодов" in lowered:
            for match in CODE_WORD.finditer(lowered):
                if names_a_value(match["value"]) and (match["told"] or not VERB.fullmatch(match["value"])):
                    yield match.span("value")
        behind = Windows(lowered, look, before=16, behind=LOOKED_AT_BEHIND)
        for spot in ANSWERS.places(view):
            if found := behind.at(spot):
                yield spot + found[0], spot + found[1]


def look(lowered: str, spot: int) -> Span | None:
    """Return the span of the answer that is announced at `spot`, from there on, or None."""
    name = NAME.match(lowered, spot)
    told = name and (BEHIND_ANSWER if name["answer"] else BEHIND_QUESTION).match(lowered, name.end())
    if not told or not names_a_value(told["value"]) or told["value"].split()[0] in NO_ANSWERS:
        return None
    return told.start("value") - spot, told.end("value") - spot
