"""Whether a text tells a fact, by its words: what has to go when the fact is forgotten.

It errs towards yes. A name, a figure, two words, or a third of what a clause of the fact says is enough, in one sentence
or in two that follow each other: long answers share words with everything. What is told in other words, or in another language, is not
found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from discreet.retrieval.names import is_alone, is_everyday, is_person, is_syllable, names_in, spellings
from discreet.retrieval.phrases import Meaning, Unit, cut, longest, unit
from discreet.retrieval.word_forms import beginning, folded, root, variants
from discreet.state.text import VIETNAMESE, sentences

SHARE = 1 / 3
"""Of a short clause: what has to be told of it."""
ENOUGH = 1.5
"""Of a long one: a name, two words, or three Han characters. With these two 0.5 % (Vietnamese) to 4 % (English) of the
rounds of benchmarks/summary_sets are taken for ones that tell another round's fact; with 1.0 it is 2 to 13 %."""

_WORD, _NAME, _LITTLE, _PART = 1.0, 2.0, 0.5, 0.5
"""A word; a name or a figure, which is rare; a word that says little, as "have"; a Han character or a syllable of
Vietnamese, of which two make a word."""

_FIGURE = 3
"""Digits from which on a number is as rare as a name."""
_SMALL = 12
_READABLE = 20
"""Digits, of which none is small that has more. Python reads no number of 4,301 digits, and somebody may say one."""
"""Numbers up to it are in everything: three ideas, at seven, chapter 12."""

_COMMON = frozenset({"=have", "=like", "=can", "=want", "=called", "=favourite", "=begin"})
_GRAMMAR = frozenset({"addition", "change", "copula", "ended", "filler", "negation", "past"})
"""Groups and lists of fact_features.toml whose words say little of what a fact is about."""

_FRAME = re.compile(
    r"\b(?:the )?users?(?:'s)?\b|\bassistant\b|người dùng|\bпользовател\w*|用户|使用者",
    re.IGNORECASE,
)
"""How models call whom the fact is about."""
_FREQUENT = re.compile(
    r"\b(?:like|likes|liked|love|loves|loved|enjoy|enjoys|work|works|worked|working|live|lives|lived|living|say|says|said"
    r"|tell|tells|told|know|knows|think|thinks|go|goes|going|went|make|makes|made|see|need|needs|want|wants|use|uses|get|got"
    r"|take|takes|come|comes|feel|feels|time|day|days|today|year|years|week|thing|things|people|good|new)\b"
    r"|\b(?:thích|yêu|làm việc|làm|sống|nói|(?-i:bảo)|biết|nghĩ|đi|cần|muốn|dùng|lấy|thấy|hôm nay|ngày|năm|tuần|người|tốt|mới)\b"
    r"|\b(?:люблю|любит|нравится|работаю|работает|живу|живёт|живет|сказал|сказала|говорю|говорит|знаю|думаю|иду|хожу"
    r"|нужно|нужен|нужна|хочу|делаю|сегодня|день|год|время|человек|хороший|новый)\b"
    r"|喜欢|喜歡|爱|愛|工作|说|說|告诉|知道|觉得|认为|去|需要|想要|想|今天|时间|人",
    re.IGNORECASE,
)
"""What is said of everything, in four languages: on its own it tells no fact. A fact that has nothing else keeps it."""
_THOUSANDS = re.compile(r"(?<=\d)[.,\u00a0 ](?=\d{3}(?!\d))")
"""4,200 and 4 200 are 4200."""
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_CLAUSE_END = re.compile(r"([;\uff1b\uff0c\u3002!?\uff01\uff1f\n]+|[,.](?=\s|$))")
_VIETNAMESE = re.compile(rf"[{VIETNAMESE}]|\btôi\b", re.IGNORECASE)


class _Piece(NamedTuple):
    """A unit of a fact that says something."""

    root: str
    roots: frozenset[str]
    """Those of its forms."""
    letters: tuple[str, ...]
    """What its forms begin with."""
    weight: float
    is_part: bool
    """Whether it is less than a word, and counts beside its neighbour only."""
    names: frozenset[str] = frozenset()
    """How a name must be written that is an everyday word too, in terms of `names_in`. Else it says little."""

    def may_be_in(self, letters: str) -> bool:
        return any(each in letters for each in self.letters)


class _Clause(NamedTuple):
    runs: list[list[_Piece]]
    """Pieces with nothing between them."""
    enough: float

    def may_be_in(self, letters: str) -> bool:
        """Whether enough of it occurs in a folded text, be it within other words."""
        return sum(piece.weight for run in self.runs for piece in run if piece.may_be_in(letters)) >= self.enough


class _Sentence(NamedTuple):
    roots: list[str]
    names: frozenset[str]


class _Window(NamedTuple):
    """One or two sentences of a text."""

    roots: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    names: frozenset[str]


def tells(text: str, fact: str) -> bool:
    """Whether `text` tells `fact`, or a part of it.

    Example:
        >>> fact = "The user has a peanut allergy"
        >>> tells("I can't eat peanuts. What shall I order?", fact), tells("I can't eat much. What shall I order?", fact)
        (True, False)
    """
    return teller([fact])(text)


def teller(facts: Iterable[str]) -> Callable[[str], bool]:
    """Return whether a text tells any of `facts`, as a function of the text."""
    clauses = [clause for fact in facts for clause in _clauses(fact)]

    def told(text: str) -> bool:
        text = _plain_numbers(text)
        letters = folded(text)
        likely = [clause for clause in clauses if clause.may_be_in(letters)]
        if not likely:  # most texts: cutting one into words takes fifty times as long
            return False
        return any(_weight(clause, window) >= clause.enough for window in _windows(text) for clause in likely)

    return told


def _plain_numbers(text: str) -> str:
    return _ORDINAL.sub("", _THOUSANDS.sub("", text))


def _clauses(fact: str) -> list[_Clause]:
    """Return what a fact consists of, without "by the way" and the like: a single word beside longer clauses."""
    said = _plain_numbers(_FRAME.sub(" ", fact))
    telling = _FREQUENT.sub(" – ", said)  # no word on either side stands beside the other's
    said = telling if re.search(r"\w", telling) else said
    in_syllables = _VIETNAMESE.search(fact) is not None
    clauses = []
    parts = ["", *_CLAUSE_END.split(said)]
    for end, written in zip(parts[::2], parts[1::2], strict=True):
        runs = _runs(cut(written), in_syllables=in_syllables, begins=end != ",")
        if whole := sum(piece.weight for run in runs for piece in run):
            clauses.append((whole, _Clause(runs, min(max(whole * SHARE, _WORD), ENOUGH, whole))))
    least = min(_WORD, max((whole for whole, _ in clauses), default=0) - _PART)
    return [clause for whole, clause in clauses if whole > least]


def _runs(written: Sequence[str], *, in_syllables: bool, begins: bool) -> list[list[_Piece]]:
    units = [unit(each) for each in written]
    in_phrases = _in_phrases(units)
    runs: list[list[_Piece]] = [[]]
    for at, each in enumerate(units):
        is_name = each.kind == "capital" and (at > 0 or not begins)
        if (each.stop and not (is_name and is_everyday(each))) or each.kind in ("break", "placeholder"):
            runs.append([])
            continue
        is_word = is_name and at not in in_phrases and is_alone(units, at)
        is_part = not is_person(each) and (
            each.kind == "han"
            or (in_syllables and each.kind in ("word", "capital") and not is_word and is_syllable(each))
        )
        is_guarded = (is_name or is_person(each)) and not is_part
        names = spellings(written[at], in_syllables=in_syllables) if is_guarded else frozenset[str]()
        weight = _weight_of(each, is_part=is_part, is_name=is_name)
        roots = variants(root(each))
        runs[-1].append(_Piece(root(each), roots, tuple(map(beginning, roots)), weight, is_part, names))
    return [_light(run) if len(run) == 1 else run for run in runs if run]


def _in_phrases(units: list[Unit]) -> frozenset[int]:
    """Return which units are parts of known phrases, such as the Vietnamese names of days."""
    plain = [each.plain for each in units]
    lengths = [longest(units, plain, at)[1] for at in range(len(units))]
    return frozenset(at + more for at, length in enumerate(lengths) if length > 1 for more in range(length))


def _light(alone: list[_Piece]) -> list[_Piece]:
    """Return a run of one piece; less than a word, it says half as much: it stands in many others."""
    (piece,) = alone
    return [piece._replace(weight=piece.weight / 2)] if piece.is_part else alone


def _weight_of(each: Unit, *, is_part: bool, is_name: bool) -> float:
    if each.kind == "number":
        return _weight_of_number(each.plain)
    if is_part:
        return _PART * (_NAME if is_name else 1)
    if is_name:
        return _NAME
    return _LITTLE if each.alone is not None and _says_little(each.alone) else _WORD


def _weight_of_number(written: str) -> float:
    if written.isdecimal() and len(written) <= _READABLE and int(written) <= _SMALL:
        return _LITTLE
    return _NAME if sum(map(str.isdigit, written)) >= _FIGURE else _WORD


def _says_little(meaning: Meaning) -> bool:
    if meaning.people:
        return False
    return bool(meaning.numbers) or meaning.content in _COMMON or not meaning.marks.isdisjoint(_GRAMMAR)


def _windows(text: str) -> list[_Window]:
    parts = [_sentence(cut(sentence)) for sentence in sentences(text)]
    return [_window(pair) for pair in pairwise(parts)] or [_window([part]) for part in parts]


def _sentence(written: list[str]) -> _Sentence:
    return _Sentence([root(unit(each)) for each in written], names_in(written))


def _window(parts: Sequence[_Sentence]) -> _Window:
    roots = [each for part in parts for each in part.roots]
    names = frozenset[str]().union(*(part.names for part in parts))
    return _Window(frozenset(roots), frozenset(pairwise(roots)), names)


def _weight(clause: _Clause, window: _Window) -> float:
    """Return how much of a clause is told in a window."""
    return sum(_told(run, at, window) for run in clause.runs for at in range(len(run)))


def _told(run: Sequence[_Piece], at: int, window: _Window) -> float:
    piece = run[at]
    if window.roots.isdisjoint(piece.roots):
        return 0
    if piece.names and window.names.isdisjoint(piece.names):
        return _LITTLE
    if not piece.is_part or len(run) == 1:
        return piece.weight
    around = [(run[at - 1].root, piece.root)] if at else []
    around += [(piece.root, run[at + 1].root)] if at + 1 < len(run) else []
    return piece.weight if any(pair in window.pairs for pair in around) else 0
