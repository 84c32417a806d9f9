"""Whether a text tells a fact, by its words: what has to go when the fact is forgotten.

It errs towards yes. A name, a figure, two words, or a third of what a clause of the fact says is enough, in one sentence
or in two that follow each other: long answers share words with everything. What is told in other words, or in another language, is not
found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from discreet.retrieval.phrases import Meaning, Unit, cut, unit
from discreet.state.letters import VIETNAMESE
from discreet.state.sentences import sentences

SHARE = 1 / 3
"""Of a short clause: what has to be told of it."""
ENOUGH = 1.5
"""Of a long one: a name, two words, or three Han characters. With these two 0.5 % (Vietnamese) to 4 % (English) of the
rounds of benchmarks/summary_sets are taken for ones that tell another round's fact; with 1.0 it is 2 to 13 %."""

_WORD, _NAME, _LITTLE, _PART = 1.0, 2.0, 0.5, 0.5
"""A word; a name or a figure, which is rare; a word that says little, as "have"; a Han character or a syllable of
Vietnamese, of which two make a word."""

_ROOT = 5
"""Words that begin with so many equal letters are taken for forms of one: allergy, allergic."""
_FIGURE = 3
"""Digits from which on a number is as rare as a name."""

_COMMON = frozenset({"=have", "=like", "=can", "=want", "=called", "=favourite", "=begin"})
_GRAMMAR = frozenset({"addition", "change", "copula", "ended", "filler", "negation", "past"})
"""Groups and lists of fact_features.toml whose words say little of what a fact is about."""

_FRAME = re.compile(
    r"\b(?:the )?users?(?:'s)?\b|\bassistant\b|người dùng|\bпользовател\w*|用户|使用者",  # noqa: RUF001  # Russian
    re.IGNORECASE,
)
"""How models call whom the fact is about."""
_FREQUENT = re.compile(
    r"\b(?:like|likes|liked|love|loves|loved|enjoy|enjoys|work|works|worked|working|live|lives|lived|living|say|says|said"
    r"|tell|tells|told|know|knows|think|thinks|go|goes|going|went|make|makes|made|see|need|needs|want|wants|use|uses|get|got"
    r"|take|takes|come|comes|feel|feels|time|day|days|today|year|years|week|thing|things|people|good|new)\b"
    r"|\b(?:thích|yêu|làm việc|làm|sống|nói|bảo|biết|nghĩ|đi|cần|muốn|dùng|lấy|thấy|hôm nay|ngày|năm|tuần|người|tốt|mới)\b"
    r"|\b(?:люблю|любит|нравится|работаю|работает|живу|живёт|живет|сказал|сказала|говорю|говорит|знаю|думаю|иду|хожу"
    r"|нужно|нужен|нужна|хочу|делаю|сегодня|день|год|время|человек|хороший|новый)\b"
    r"|喜欢|喜歡|爱|愛|工作|说|說|告诉|知道|觉得|认为|去|需要|想要|想|今天|时间|人",
    re.IGNORECASE,
)
"""What is said of everything, in four languages: on its own it tells no fact. A fact that has nothing else keeps it."""
_THOUSANDS = re.compile(r"(?<=\d)[.,\u00a0 ](?=\d{3}(?!\d))")
"""4,200 and 4 200 are 4200."""
_CLAUSE_END = re.compile(r"[;\uff1b\uff0c\u3002!?\uff01\uff1f\n]+|[,.](?=\s|$)")
_MARKS = re.compile("[\u0300-\u036f]")
_VIETNAMESE = re.compile(f"[{VIETNAMESE}]", re.IGNORECASE)


class _Piece(NamedTuple):
    """A unit of a fact that says something."""

    root: str
    weight: float
    is_part: bool
    """Whether it is less than a word, and counts beside its neighbour only."""


class _Clause(NamedTuple):
    runs: list[list[_Piece]]
    """Pieces with nothing between them."""
    enough: float

    def may_be_in(self, letters: str) -> bool:
        """Whether enough of it occurs in a folded text, be it within other words."""
        return sum(piece.weight for run in self.runs for piece in run if piece.root in letters) >= self.enough


class _Window(NamedTuple):
    """One or two sentences of a text."""

    roots: frozenset[str]
    pairs: frozenset[tuple[str, str]]


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
        text = _THOUSANDS.sub("", text)
        letters = _folded(text)
        likely = [clause for clause in clauses if clause.may_be_in(letters)]
        if not likely:  # most texts: cutting one into words takes fifty times as long
            return False
        return any(_weight(clause, window) >= clause.enough for window in _windows(text) for clause in likely)

    return told


def _clauses(fact: str) -> list[_Clause]:
    """Return what a fact consists of, without "by the way" and the like: a single word beside longer clauses."""
    said = _THOUSANDS.sub("", _FRAME.sub(" ", fact))
    telling = _FREQUENT.sub(" – ", said)  # no word on either side stands beside the other's
    said = telling if re.search(r"\w", telling) else said
    in_syllables = _VIETNAMESE.search(said) is not None
    clauses = []
    for written in _CLAUSE_END.split(said):
        runs = _runs([unit(each) for each in cut(written)], in_syllables=in_syllables)
        if whole := sum(piece.weight for run in runs for piece in run):
            clauses.append((whole, _Clause(runs, min(max(whole * SHARE, _WORD), ENOUGH, whole))))
    least = min(_WORD, max((whole for whole, _ in clauses), default=0) - _PART)
    return [clause for whole, clause in clauses if whole > least]


def _runs(units: Sequence[Unit], *, in_syllables: bool) -> list[list[_Piece]]:
    runs: list[list[_Piece]] = [[]]
    for at, each in enumerate(units):
        if each.stop or each.kind in ("break", "placeholder"):
            runs.append([])
            continue
        is_part = each.kind == "han" or (in_syllables and each.kind in ("word", "capital"))
        runs[-1].append(_Piece(_root(each), _weight_of(each, is_part=is_part, is_first=at == 0), is_part))
    return [_light(run) if len(run) == 1 else run for run in runs if run]


def _light(alone: list[_Piece]) -> list[_Piece]:
    """Return a run of one piece; less than a word, it says half as much: it stands in many others."""
    (piece,) = alone
    return [piece._replace(weight=piece.weight / 2)] if piece.is_part else alone


def _weight_of(each: Unit, *, is_part: bool, is_first: bool) -> float:
    if each.kind == "number":
        return _NAME if sum(map(str.isdigit, each.plain)) >= _FIGURE else _WORD
    if is_part:
        return _PART * (_NAME if each.kind == "capital" and not is_first else 1)
    if each.kind == "capital" and not is_first:
        return _NAME
    return _LITTLE if each.alone is not None and _says_little(each.alone) else _WORD


def _says_little(meaning: Meaning) -> bool:
    return bool(meaning.numbers) or meaning.content in _COMMON or not meaning.marks.isdisjoint(_GRAMMAR)


def _windows(text: str) -> list[_Window]:
    parts = [[_root(unit(written)) for written in cut(sentence)] for sentence in sentences(text)]
    joined = [one + other for one, other in pairwise(parts)] or parts
    return [_Window(frozenset(roots), frozenset(pairwise(roots))) for roots in joined]


def _weight(clause: _Clause, window: _Window) -> float:
    """Return how much of a clause is told in a window."""
    return sum(piece.weight for run in clause.runs for at, piece in enumerate(run) if _is_told(run, at, window))


def _is_told(run: Sequence[_Piece], at: int, window: _Window) -> bool:
    piece = run[at]
    if piece.root not in window.roots:
        return False
    if not piece.is_part or len(run) == 1:
        return True
    around = [(run[at - 1].root, piece.root)] if at else []
    around += [(piece.root, run[at + 1].root)] if at + 1 < len(run) else []
    return any(pair in window.pairs for pair in around)


def _root(each: Unit) -> str:
    return _root_of(each.plain) if each.kind in ("word", "capital") else each.plain


@lru_cache(maxsize=50_000)
def _root_of(word: str) -> str:
    return _folded(word)[:_ROOT]


def _folded(text: str) -> str:
    """Return the small letters of a text without their marks, which many leave out in typing."""
    if text.isascii():
        return text.lower()
    return _MARKS.sub("", unicodedata.normalize("NFKD", text).casefold()).replace(
        "\N{LATIN SMALL LETTER D WITH STROKE}", "d"
    )
