"""Passwords, keys and tokens that people tell: "my password is …", in all languages of `discreet.redaction.words`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.told.names import SECRETS
from discreet.redaction.recognisers.told.programs import is_program, is_template
from discreet.redaction.recognisers.told.values import (
    ASIDE,
    BRAND,
    FAMOUS,
    LEAST_WORD_CHARS,
    NAMED_THING,
    TRAILING,
    YEAR,
    looks_random,
    names_a_value,
)
from discreet.redaction.recognisers.windows import Windows
from discreet.redaction.word_set import small
from discreet.redaction.words import any_of, whole, words

MOST_WORDS_BETWEEN = 7
"""Words that stand between "password" and the password at most: "the password for my sister's old laptop is …"."""
LEAST_CHARS = 3
LEAST_KEY_CHARS = 12
"""Keys and tokens are longer than passwords."""
LEAST_BARE_KEY_CHARS = 16
"""The same where the sentence doesn't say that the key comes next."""
LEAST_STRONG_CHARS = 8
MOST_QUOTED_WORDS = 10
"""More are a quotation."""
MOST_CLAUSE_CHARS = 160
LEAST_LINE_CHARS = 5
"""A word of that many small letters on the last line is what the line before announces."""
LONGEST_COPULA = 13
NEAR = 4
"""Words between a name and what it names, where no word says that it does."""
CODE_DIGITS = range(6, 9)
"""Digits of a password that has nothing else."""
LOOKED_AT_BEFORE = 26
LOOKED_AT_BEHIND = MOST_CLAUSE_CHARS + 100
"""What is told depends on so much: a name has 40 characters at most, and so has what may follow the clause."""

NAME = lazy(
    rf"(?P<login>{whole(words('secret', 'login'))})|(?P<password>{whole(words('secret', 'password'))})"
    rf"|(?P<weak>{whole(words('secret', 'weak'))})|(?P<key>{whole(words('secret', 'key'))})"
)
"""For text in small letters. `weak` ones mean something else as well."""

STANDS_OUT = lazy("[\u0370-\u1dff\u1ea0-\u1ef9\u2e80-\uffff]")
"""Letters of languages, Vietnamese among them, in which a word of six or more plain letters is not one of their own."""

_is = words("telling", "is", spaced=True)
_glued = any_of(words("telling", "is", spaced=False))
IS = lazy(
    rf"(?:(?:{any_of(_is)}|{any_of(words('telling', 'leads'))})[:=]?|[:=]|->|=>|-|→|[^!-~]{{0,12}}{_glued}[、,]?|{_glued})"
)
"""Words that say that the next is the secret."""
LEADS = frozenset((*words("telling", "leads"), "-"))
"""Those of them that may lead elsewhere: "the password to my laptop"."""
IS_NEXT = lazy(
    rf"[\"'`*]{{0,2}} ?(?:{any_of(['is', 'was', 'are', 'là', 'это'])}(?![^\W\d_])(?! (?:vào|được|ok|xong|mở|đăng|xem))|[:=]|是|為|为)"
)
FILLER = lazy(rf"{any_of(words('telling', 'filler'))}[:,]?")
ABOUT = lazy(rf"{whole(words('telling', 'about'))}")
"""Words of sentences about passwords."""
THEN = lazy(
    rf"[\"'`»”」』’*_)]{{0,3}}[ ]{{0,3}}(?:[.,;:?!)。，！？|]|[\r\n]|\Z"
    rf"|{any_of(words('telling', 'then', spaced=True))}(?![^\W\d_])"
    rf"|{any_of(words('telling', 'then', spaced=False))})"
)
"""What follows the last word of a sentence."""
UNIT = lazy(rf",? ?fail| ?(?:[a-z%]{{1,3}}(?!\w)|{whole(words('code', 'unit'))})")
FOR = lazy(any_of(words("telling", "for")))
LOST = lazy(whole(words("telling", "lost")))
ACCOUNT = lazy(
    rf"(?:{BRAND.pattern}|nick|acc(?:ount)?|portal|site|website|game|tài|điện|máy|zip|file|nhà|почт\w{{1,2}}|wlan)"
)

PIECE = lazy(
    r"[\"'`“”«»「」『』‘’(\[|,;]{0,4}(?P<word>[!#-&*-~\u00c0-\u024f\u1e00-\u1eff][!-~\u00c0-\u024f\u1e00-\u1eff]{0,200}|[^\W0-9A-Za-z_]{1,40}|\S)"
)
"""A word: of ASCII and Latin letters with marks, which people type, or of another script."""
GLUED_OPERATOR = lazy(r"(?:->|=>|:=|[:=]){1,2}[*_]{0,3}(?=[^\s]|\Z)|[*_]{1,3}(?=[:=])|[*_]{2,3}\Z")
STOP = lazy(r"[。!?！？]|\.(?=\s|\Z)|[\r\n]")
QUOTED = lazy(r"(?:[: ]{1,3}[\"'`]|[: ]{0,3}[“«「『‘])(?P<value>[^\"“”«»「」『』\r\n\0`]{3,100})[\"”»」』’'`]")
OLD = lazy(r" (?:не|больше|уже) ")
"""What follows an old password."""
MIXED = lazy(r"[А-Яа-яЁё]{2,30}[_@#$%^&*!-]{0,2}[0-9][!-~А-Яа-яЁё]{0,40}")
"""A word of Cyrillic letters with a number."""
NEXT_LINE = lazy(
    r"(?: (?:is|là|это))?[ ]?[:=][ \t]{0,3}\r?\n[ \t]{0,4}(?P<value>[!-~]{3,63}[!-+\--9;<>-~])(?=[ \t]{0,4}(?:[\r\n]|\Z))",
    re.IGNORECASE,
)
FILE = lazy(r"[\w./\\-]{1,100}\.[a-z]{2,5}[0-9]?|[/~.][\w./-]{1,100}", re.IGNORECASE)
OF_PHRASE = lazy(r"phrase|фраз|短語|短语|frase|fraza|フレーズ|프레이즈|عبارة|วลี")
PHRASE = lazy(
    r"(?: is| -)?[: =]{1,3}(?P<value>(?!(?:a|an|the|not|too|very|must|should|is|to|use"
    r"|never)(?![a-z]))[a-z]{3,12}(?:[ -](?!(?:the|and|for|with|must|that|was|is|to|of|you"
    r"|your)(?![a-z]))[a-z]{3,12}){2,9})(?=[.,;!]?(?:\s*\Z|\n))"
)
"""Words of a phrase up to the end of the line."""
WITH_IT = lazy(r"(?<!\w)(?:để|đặt|dùng|lấy|acc|tk|nick|user|wi-?fi)(?: tên)?(?: [!-~]{1,20})? \Z")
"""What stands before "pass" and a word: a name, or that it's set."""
DIGIT = lazy("[0-9]")
KEY_LIKE = lazy("[0-9]|[a-z][A-Z]")
STRONG = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[^A-Za-z/.:-]")))
SIGNS = frozenset((":", "=", "->", "=>", "→", "-"))
SHAPED = lazy(r"(?=[^0-9]{0,40}[0-9])(?=[^A-Za-z]{0,40}[A-Za-z])[A-Za-z0-9!@#$%^&*_-]{6,64}")
"""What is a password even in a line of a program: letters and digits."""
NOT_TELLING = ("=", "_", "|", ">", "\t", ";", '">', "'>")
"""What follows the name in an assignment, which another recogniser looks at."""


class PasswordRecogniser:
    """Looks from a telling word through the words behind it for one that is no word, or that the sentence ends with.

    A word of letters only counts as a password where the sentence says so ("… is opensesame."); what looks random counts
    anywhere near.
    """

    type = "SECRET"

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all that is told."""
        spots = SECRETS.places(view)
        if not spots:
            return
        text, lowered = view.text, view.derived(small)
        starts = frozenset(spots)
        names = Windows(
            text, lambda text, spot: look(text, lowered, spot, starts), before=LOOKED_AT_BEFORE, behind=LOOKED_AT_BEHIND
        )
        place = 0
        for spot in spots:
            if spot < place or (seen := names.at(spot)) is None:
                continue
            place = spot + seen[0]
            if found := seen[1]:
                yield spot + found[0], spot + found[1]
                place = max(place, spot + found[1])


def look(text: str, lowered: str, spot: int, starts: frozenset[int]) -> tuple[int, Span | None] | None:
    """Return how long the name at `spot` is, and from there on the span of what it tells, or None.

    `starts` has all places where names may begin.
    """
    name = NAME.match(lowered, spot)
    if name is None:
        return None
    told = None if name["login"] else Clause(text, lowered, name, starts).told()
    if told and is_program(text, *told) and (is_template(text, *told) or not SHAPED.fullmatch(text[slice(*told)])):
        told = None
    return name.end() - spot, told and (told[0] - spot, told[1] - spot)


class Clause:
    """The words behind the name of a secret, read one after another."""

    def __init__(self, text: str, lowered: str, name: re.Match[str], starts: frozenset[int]) -> None:
        self._text = text
        self._lowered = lowered
        self._name = name
        self._starts = starts
        self._place = name.end()
        self._limit = min(len(text), name.end() + MOST_CLAUSE_CHARS)
        self._said = ""
        """The word that says that the secret is next."""
        self._between: list[str] = []
        """Words since the name, but for those that say so."""
        self._stands_out = STANDS_OUT.search(name[0]) is not None

    def told(self) -> Span | None:
        """Return the span of what the words tell; None if they tell nothing."""
        if whole := self._whole():
            return whole
        if self._text.startswith(NOT_TELLING, self._place):
            return None
        goes_on, found = True, None
        while goes_on and found is None and (piece := PIECE.search(self._text, self._place, self._limit)):
            goes_on, found = self._read(piece["word"], piece.start("word"))
        return found

    def _read(self, word: str, start: int) -> tuple[bool, Span | None]:
        """Take a word; tell whether the secret may still follow, and return its span if this is it."""
        if self._is_over(word, start):
            return False, None
        self._place = start + len(word)
        if found := self._mixed(word, start) or self._operator(word, start):
            return False, found
        if self._place < start + len(word):  # an operator was cut off
            return True, None
        if self._says(word):
            return True, self._quoted()
        if (cut := ASIDE.search(self._text, start, start + len(word) + 1)) and cut.start() > start:
            word = self._text[start : cut.start()]
        value = word[: len(word) - len(word.lstrip("*_"))] + word.lstrip("*_").rstrip(TRAILING)
        end = start + len(value)
        if self._accepts(value, end):
            return False, (start, end + (self._text[end : end + 1] in ("!", "?") and looks_random(value)))
        return self._goes_on(word), None

    def _whole(self) -> Span | None:
        """Return the span of a phrase, of something in quotes, or of a word on the next line."""
        name = self._name
        if (
            name["password"]
            and OF_PHRASE.search(name[0])
            and (phrase := PHRASE.match(self._text, self._place, self._limit))
        ):
            return phrase.span("value")
        if name["key"]:
            return None
        return self._quoted() or (self._below() if name["password"] else None)

    def _is_over(self, word: str, start: int) -> bool:
        """Tell whether the clause ends before a word, with what it was about."""
        gap = self._text[self._place : start]
        if len(self._between) > MOST_WORDS_BETWEEN or (gap not in ("", " ") and STOP.search(gap)):
            return True
        begin = start + 2 if word.startswith("--") else start
        if (begin in self._starts or start in self._starts) and NAME.match(self._lowered, begin):
            return True  # which will be looked at by itself
        return word.startswith("==") or (
            not word.isascii() and any(place in self._starts for place in range(start, start + len(word)))
        )

    def _mixed(self, word: str, start: int) -> Span | None:
        """Return the span of a word of Cyrillic letters with a number."""
        if not "а" <= word[0].lower() <= "ё" or self._said in LEADS:
            return None
        mixed = MIXED.match(self._text, start, self._limit)
        if mixed and not (self._between and FOR.fullmatch(self._between[-1].lower())):
            return start, start + len(mixed[0].rstrip(TRAILING))
        return None

    def _operator(self, word: str, start: int) -> Span | None:
        """Go on behind an operator that is glued to a word; return the span of what stands in quotes there."""
        if word[0] in ":=-*" and (glued := GLUED_OPERATOR.match(word)):
            if glued.end() < len(word):
                self._place = start + glued.end()
            self._said = glued[0].strip("*") or self._said
            return self._quoted()
        return None

    def _says(self, word: str) -> bool:
        """Tell whether a word says that the secret is next, and take it."""
        if GLUED_OPERATOR.fullmatch(word):
            return True
        if len(word) <= LONGEST_COPULA and IS.fullmatch(word.lower()):
            self._said = word.lower()
            return True
        return False

    def _goes_on(self, word: str) -> bool:
        """Take a word that isn't the secret; tell whether the secret may still follow."""
        lowered = word.lower()
        if ABOUT.search(lowered) or (self._said and self._said not in LEADS and not FILLER.fullmatch(lowered)):
            return False
        if word[-1] in ".?!;" or STOP.match(self._text, self._place):
            return False
        if self._said in LEADS:
            self._said = ""
        if word[-1] in ":=" and len(word) > 1:
            self._said = word[-1]
        self._between.append(word)
        return True

    def _quoted(self) -> Span | None:
        """Return the span of a password or phrase in quotes that comes next, if one does."""
        if self._name["key"]:
            return None
        match = QUOTED.match(self._text, self._place, self._limit)
        if match and names_a_value(match["value"]) and len(match["value"].split()) <= MOST_QUOTED_WORDS:
            return match.span("value")
        return None

    def _below(self) -> Span | None:
        """Return the span of a password that is the only word of the next line."""
        match = NEXT_LINE.match(self._text, self._place, self._limit)
        if match is None:
            return None
        value = match["value"]
        last = match.end() == len(self._text) and len(value) >= LEAST_LINE_CHARS and value.islower() and value.isalpha()
        return match.span("value") if names_a_value(value) and (looks_random(value) or last) else None

    def _accepts(self, value: str, end: int) -> bool:
        """Tell whether `value` is the secret: by its look, or as the last word of a sentence that tells one."""
        named = not self._said and IS_NEXT.match(self._lowered, end)  # "my password for 1Password is"
        if len(value) < LEAST_CHARS or named or not names_a_value(value) or value.startswith("<"):
            return False
        if self._name["key"]:
            return self._is_key(value)
        if value.isdigit():
            return self._is_number(value, end)
        if looks_random(value):
            return self._is_random(value)
        if not value.isascii() or not value[0].isalpha() or BRAND.fullmatch(value):
            return False
        return self._is_word(value, end)

    @property
    def _is_weak(self) -> bool:
        """Whether the name means something else as well, and no sign behind it says that it doesn't."""
        return self._name["weak"] is not None and self._said not in (":", "=")

    def _is_key(self, value: str) -> bool:
        long = len(value) >= LEAST_KEY_CHARS and looks_random(value) and KEY_LIKE.search(value) is not None
        told = bool(self._said) or len(value) >= LEAST_BARE_KEY_CHARS or not self._between
        return long and told and not FILE.fullmatch(value)

    def _is_number(self, value: str, end: int) -> bool:
        between = self._between
        if not self._said and between and FAMOUS.fullmatch(value):
            return False
        if between and (YEAR.fullmatch(value) or value.endswith("000")):
            return False
        if self._name["weak"] and not self._said:
            near = not between or (self._is_account() and len(between) < NEAR)
            return near and len(value) in CODE_DIGITS and THEN.match(self._lowered, end) is not None
        near = len(value) in CODE_DIGITS and len(between) < NEAR and not self._name[0].isascii()
        told = self._said or not between or near
        return bool(told) and len(value) > LEAST_CHARS and not UNIT.match(self._lowered, end)

    def _is_random(self, value: str) -> bool:
        weak = self._is_weak
        if not self._said and self._between and FAMOUS.fullmatch(value.lower()):
            return False
        if NAMED_THING.fullmatch(value) and self._said not in SIGNS:
            return False
        if weak and not self._said and "/" in value and FILE.fullmatch(value):
            return False  # PASS src/app.test.js
        most = (3 if not weak or self._is_account() else 1) + (not weak)
        return bool(self._said) or (
            len(self._between) <= most and (DIGIT.search(value) is not None or not self._between or _is_strong(value))
        )

    def _is_word(self, value: str, end: int) -> bool:
        name, between, said, weak = self._name, self._between, self._said, self._is_weak
        if not THEN.match(self._lowered, end):
            old = OLD.match(self._lowered, end) is not None
            return not said and not between and name[0].startswith("парол") and old
        if weak and self._is_weak_told(value):
            return True
        if said == "are" or (not self._is_english and not self._stands_out and said not in SIGNS):
            return False
        if said:
            told = not between or FOR.fullmatch(between[0].lower()) or self._stands_out or self._is_account()
            return not weak and bool(told)
        if not self._stands_out or LOST.search(self._lowered, max(0, name.start() - 24), name.start()):
            return False
        return len(value) >= LEAST_WORD_CHARS and (
            not between or (len(between) < NEAR and not FOR.fullmatch(between[-1].lower()))
        )

    @property
    def _is_english(self) -> bool:
        return self._name[0] in ENGLISH and self._said in ENGLISH_IS

    def _is_account(self) -> bool:
        """Tell whether the first word behind a name is what passwords are for."""
        return bool(self._between) and ACCOUNT.fullmatch(self._between[0].rstrip(":=").lower()) is not None

    def _is_weak_told(self, value: str) -> bool:
        """Tell whether the sentence leaves no doubt that a word behind "pass" or "mk" is a password."""
        if not (value.islower() and value.isalpha() and len(value) >= LEAST_WORD_CHARS):
            return False
        if self._said in ("is", "'s", "là", "là:"):
            return (
                not self._between
                if self._said.startswith("l")
                else any(map(ACCOUNT.fullmatch, map(str.lower, self._between)))
            )
        start = self._name.start()
        return (
            not self._said
            and not self._between
            and WITH_IT.search(self._lowered, max(0, start - LOOKED_AT_BEFORE + 1), start) is not None
        )


ENGLISH = frozenset(("password", "passwords", "passcode", "passphrase", "pwd", "psw", "passwd", "password's"))
ENGLISH_IS = frozenset(("", "is", "was", "be", "to", "as", "are", "'s", ":", "=", "-", "is:", "into"))


def _is_strong(value: str) -> bool:
    """Tell whether a value has small letters, capitals and something else."""
    return len(value) >= LEAST_STRONG_CHARS and all(kind.search(value) for kind in STRONG)
