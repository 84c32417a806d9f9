"""What may be kept of a recording without a model: how long it is and a few of its words, none of its sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

from discreet.providers.offline.reading import Language, language_of
from discreet.retrieval.stopwords import STOP_WORDS
from discreet.retrieval.tokens import stem
from discreet.state.media import MediaMeta, Modality

MAX_TOPICS: Final = 8
MIN_LETTERS: Final = 3
"""Shorter words of languages that write them whole say little."""

_TOKEN: Final = re.compile(r"<[A-Z][A-Z0-9_:]*>|[一-鿿぀-ヿ]|[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]")
"""A placeholder, a character of Chinese, a word, or what separates."""

_HAN: Final = re.compile(r"[一-鿿぀-ヿ]")

_FILLER: Final = re.compile(
    r"u+h+|u+h*m+|e+h*r*m+|h+m+|a+h+|o+h+|ờ+|ừ+m*|ưm+|э+(?:-э+)*м*|м+(?:-м+)+|ну|вот|well|yeah|okay|[嗯呃]+"
)

_LINKS: Final = frozenset("从又得再把被还没给让将该去来")
"""Characters of Chinese that link words and begin or end few."""

Topic = tuple[str, ...]


@dataclass(frozen=True)
class _Frame:
    """How a language says what kind of thing it was and how long."""

    kinds: Mapping[Modality, str]
    units: tuple[str, str, str]
    """Hours, minutes, seconds, as they stand behind their number."""
    words: str
    """Length of what has no duration."""
    whole: str = "{kind} ({length})"
    about: str = ": "
    comma: str = ", "
    gap: str = " "


_FRAMES: Final[Mapping[Language, _Frame]] = {
    "en": _Frame({"voice": "Recording", "image": "Image"}, (" h", " min", " s"), "words: {}"),
    "vi": _Frame({"voice": "Bản ghi âm", "image": "Hình ảnh"}, (" giờ", " phút", " giây"), "{} từ"),
    "ru": _Frame({"voice": "Запись", "image": "Изображение"}, (" ч", " мин", " с"), "слов: {}"),
    "zh": _Frame(
        {"voice": "录音", "image": "图片"},
        ("小时", "分", "秒"),
        "{}字",
        "{kind}（{length}）",
        "：",
        "、",
        "",
    ),
}


def describe_recording(transcript: str, modality: Modality, meta: MediaMeta) -> str:
    """Return the length and the topic words of what was said, in its language if that is one of the four.

    A topic is one word, or two syllables of Vietnamese, or two characters of Chinese. They stand by the alphabet, and none
    beside one that it stood beside in the transcript: read forwards or backwards they are no sentence of it. The words
    themselves can be read, so pass the transcript redacted.

    Example:
        >>> describe_recording("My knee hurts. The old pills help since Monday.", "voice", {"durationMs": 80_000})
        'Recording (1 min 20 s): help, hurts, Monday, knee, old, since, pills'
    """
    said = str(meta.get("language", "")).split("-")[0].lower()
    language = next((each for each in _FRAMES if each == said), language_of(transcript))
    frame = _FRAMES[language]
    duration = meta.get("durationMs")
    length = frame.words.format(count_words(transcript)) if duration is None else _duration(duration, frame)
    head = frame.whole.format(kind=frame.kinds.get(modality, modality), length=length)
    topics = topics_of(transcript, in_syllables=language == "vi")
    return frame.about.join([head, *([frame.comma.join(topics)] if topics else [])])


def count_words(text: str) -> int:
    """Return the number of words, in Chinese of characters."""
    return sum(token[0].isalnum() for token in _TOKEN.findall(text))


def topics_of(transcript: str, *, in_syllables: bool = False) -> list[str]:
    """Return the words that are said most often, the first ones among equals, sorted; see `describe_recording`.

    One that could only stand beside a neighbour of its own is left out.
    """
    tokens = _TOKEN.findall(transcript)
    found = _candidates(tokens, in_syllables=in_syllables)
    weights = Counter(map(_key, found))
    chosen: dict[Topic, Topic] = {}
    for topic in sorted(found, key=lambda each: -weights[_key(each)]):
        taken = {token for each in chosen for token in each}
        if taken.isdisjoint(_key(topic)):
            chosen[_key(topic)] = topic
        if len(chosen) == MAX_TOPICS:
            break
    return [("" if _HAN.match(topic[0]) else " ").join(topic) for topic in _apart(chosen.values(), tokens)]


def _apart(topics: Iterable[Topic], tokens: list[str]) -> list[Topic]:
    """Return the topics, each the first by the alphabet of those that did not stand beside the one before it.

    That is the one before of its script, and beside it stands what only words of another script or signs part.
    """
    words = [token for token in tokens if any(map(str.isalnum, token))]
    spoken = {han: f" {' '.join(word for word in words if _is_han(word) is han)} ".casefold() for han in (False, True)}

    def neighbours(one: Topic, other: Topic) -> bool:
        pairs = ((*one, *other), (*other, *one))
        return any(f" {' '.join(pair)} ".casefold() in spoken[_is_han(one[0])] for pair in pairs)

    left = sorted(topics, key=lambda topic: " ".join(topic).casefold())
    told: list[Topic] = []
    last: dict[bool, Topic] = {}
    while fitting := [
        topic for topic in left if (before := last.get(_is_han(topic[0]))) is None or not neighbours(before, topic)
    ]:
        told.append(fitting[0])
        last[_is_han(fitting[0][0])] = fitting[0]
        left.remove(fitting[0])
    return told


def _is_han(word: str) -> bool:
    return _HAN.match(word) is not None


def _candidates(tokens: list[str], *, in_syllables: bool) -> list[Topic]:
    """Return the words in their order, as often as they were said."""
    found: list[Topic] = []
    for kind, run in groupby(tokens, key=_kind):
        words = list(run)
        if kind == "han":
            found += pairwise(words)
        elif kind == "word" and in_syllables:
            found += pairwise(words) if len(words) > 1 else [(words[0],)]
        elif kind == "word":
            found += [(word,) for word in words if len(word) >= MIN_LETTERS]
    return found


def _kind(token: str) -> str:
    """Return "han" or "word" for what may be a topic: no number, no filler, nothing that everybody says."""
    folded = token.casefold()
    if not all(letter.isalpha() or letter in "'’-" for letter in token) or folded in STOP_WORDS or folded in _LINKS:
        return ""
    if _FILLER.fullmatch(folded):
        return ""
    return "han" if _HAN.match(token) else "word"


def _key(topic: Topic) -> Topic:
    return tuple(stem(token.casefold()) for token in topic)


def _duration(milliseconds: int, frame: _Frame) -> str:
    minutes, seconds = divmod(max(1, round(milliseconds / 1_000)), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{number}{unit}" for number, unit in zip((hours, minutes, seconds), frame.units, strict=True) if number]
    return frame.gap.join(parts)
