"""Annotate turns by rules: which language, what about, and whether somebody may be in danger."""

from __future__ import annotations

import asyncio
import re
import tomllib
import unicodedata
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from discreet.ports import AnnotatedTurn
from discreet.providers.extractive import without_headers
from discreet.providers.offline.reading import language_of
from discreet.providers.topics import topic_of
from discreet.redaction import untagged
from discreet.retrieval.stopwords import STOP_WORDS
from discreet.state.media import MediaMeta
from discreet.state.records import Annotation

MAX_INTENT_CHARS = 80

INLINE_CHARS = 2_000
"""Characters that are read on the event loop itself; 20,000 take 60 ms."""

_PLACEHOLDER = re.compile(r"<[A-Z][A-Z0-9_]*>")
_LETTERS = re.compile(r"[^\W\d_]+")
_KANA, _HANGUL = re.compile("[\u3040-\u30ff]"), re.compile("[\uac00-\ud7af]")
_NOT_RUSSIAN = re.compile("[іїєґўјљњћђџәғқңөұүһ]", re.IGNORECASE)  # Ukrainian, Belarusian, Serbian, Kazakh
_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}")


class RuleAnnotator:
    """Needs neither model nor network: letters and common words, the first topic, and a list of emergencies.

    It knows English, Vietnamese, Russian and Chinese. What it does not know has no locale.

    Example:
        >>> import asyncio
        >>> turn = AnnotatedTurn(said="My father has chest pain, what should I do?", answered="Call for help now.")
        >>> asyncio.run(RuleAnnotator().annotate(turn))
        Annotation(locale='en', intent='father chest pain', is_emergency=True)
    """

    async def annotate(self, turn: AnnotatedTurn) -> Annotation:
        """Return the annotation of `turn`; the intent is the first topic of the summary, else of what was said first."""
        texts = (turn.said, turn.heard, turn.summary)
        if sum(map(len, texts)) <= INLINE_CHARS:
            return _annotated(turn)
        return await asyncio.to_thread(_annotated, turn)


def _annotated(turn: AnnotatedTurn) -> Annotation:
    texts = [without_headers(turn.summary), *(each.said for each in turn.earlier), turn.said]
    intent = next(filter(None, (topic_of(_words_of(text)) for text in texts)), "")
    return Annotation(
        locale=_declared(turn.media) or locale_of(turn.heard or turn.said),
        intent=intent[:MAX_INTENT_CHARS] or None,
        is_emergency=may_be_emergency(turn.heard or turn.said),
    )


def locale_of(text: str) -> str | None:
    """Return the BCP 47 tag of the language of `text`; None if its letters and words don't tell one that is known."""
    text = _words_of(text)
    words = _LETTERS.findall(text.casefold())
    if not words:
        return None
    if _KANA.search(text) or _HANGUL.search(text):
        return "ja" if _KANA.search(text) else "ko"
    language = language_of(text)
    if language == "ru":
        return None if _NOT_RUSSIAN.search(text) else "ru"
    if language == "en":
        foreign = [word for word in words if not word.isascii()]
        return "en" if len(foreign) < 2 and not STOP_WORDS.isdisjoint(words) else None  # one "café" is none
    return language


def may_be_emergency(text: str) -> bool:
    """Whether a word or phrase in `text` is of those by which people tell of an emergency, in whichever language."""
    plain = " ".join(unicodedata.normalize("NFC", text).casefold().replace("’", "'").split())
    return any(pattern.search(plain) for pattern in _emergencies())


def _words_of(text: str) -> str:
    """Return `text` without placeholders, whose names are English."""
    return _PLACEHOLDER.sub(" ", untagged(text))


def _declared(media: Sequence[MediaMeta]) -> str | None:
    """Return the language that the caller says a recording or an image is in."""
    return next((said for each in media if _TAG.fullmatch(said := each.get("language", ""))), None)


@cache
def _emergencies() -> tuple[re.Pattern[str], ...]:
    lists = tomllib.loads(files(__package__).joinpath("emergencies.toml").read_text(encoding="utf-8"))
    bodies = {language: "|".join(phrases) for language, phrases in lists.items()}
    return tuple(
        re.compile(body if language == "zh" else rf"(?<!\w)(?:{body})(?!\w)") for language, body in bodies.items()
    )
