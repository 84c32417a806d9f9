"""Russian names by Slovnet, with the weights that come in Natasha's package: nothing is downloaded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from discreet.errors import MissingDependencyError
from discreet.redaction.normalized_text import BLANK, Span, View
from discreet.redaction.recognisers.names.known import phrases, words

MISSING = "Russian names need weights: pip install 'slovnet>=0.6,<0.7' && pip install --no-deps 'natasha>=1.6,<2'."
NETWORK = "model/slovnet_ner_news_v1.tar"
EMBEDDING = "emb/navec_news_v1_1B_250K_300d_100q.tar"
MOST_CHARS = 1000
"""How much of a text is looked at together."""

LINE = re.compile(rf"[^\n]{{1,{MOST_CHARS}}}(?:(?<=\s)|(?=\n|\Z))|[^\n]{{1,{MOST_CHARS}}}")
INTRODUCED = re.compile(
    r"(?:(?:меня|мою|моего|его|её|их|нас) (?:\w{2,12} )?зовут|(?:здравствуйте|привет|доброе утро|добрый (?:день|вечер)),?"
    r"|это) "
    r"(?P<given>[А-Яа-яЁё]{2,20})(?: (?P<family>[А-Яа-яЁё]{2,24}))?",
    re.IGNORECASE,
)
FAMILY = re.compile(
    r"[а-яё-]{2,20}(?:[оеё]в|[иы]н|(?:[оеё]в|[иы]н)(?:а|у|ой|ым|е)"
    r"|[сц]к(?:ий|ая|ого|ому|им|ой|ую)|енко|[чнл]ук|[тн]юк|ян|дзе|швили)"
)
"""Small letters of a family name."""

CAPITAL = re.compile("[А-ЯЁ][а-яё]")


def _stems(entries: tuple[str, ...]) -> str:
    """Return a pattern of words that go on by an ending, where `*` tells."""
    return "|".join(re.escape(entry).replace(r"\*", "[а-яё]{0,4}").replace(r"\ ", " ") for entry in entries)


FAMOUS = re.compile(rf"(?:{'|'.join(words('ru', 'famous'))})[а-яё]{{0,4}}|{_stems(phrases('ru', 'famous_full'))}")
"""Names that are hardly ever those of people who are spoken with, if they stand alone."""

NAMED_AFTER = re.compile(rf"(?<![а-яё])(?:{_stems(words('ru', 'streets'))})[ «\"]{{1,2}}\Z", re.IGNORECASE)
"""What stands before a name that is a street's, a book's or a theorem's."""


class RussianNameRecogniser:
    """Finds names of people in Russian, wherever they stand.

    Of Natasha only files are read, so what it depends on need not be there. A text costs a millisecond or two.

    Raises, when it is first used:
        MissingDependencyError: A package is not installed.
    """

    type = "PERSON"

    @cached_property
    def _tagger(self) -> Any:
        try:
            from navec import Navec  # optional
            from slovnet import NER
        except ImportError as error:
            raise MissingDependencyError(MISSING) from error
        data = self._data
        tagger = NER.load(str(data / NETWORK))
        tagger.navec(Navec.load(str(data / EMBEDDING)))
        return tagger

    @cached_property
    def _data(self) -> Path:
        natasha = find_spec("natasha")
        if natasha is None or not natasha.submodule_search_locations:
            raise MissingDependencyError(MISSING)
        return Path(natasha.submodule_search_locations[0]) / "data"

    @cached_property
    def _given_names(self) -> frozenset[str]:
        return self._listed("first.txt")

    @cached_property
    def _ambiguous_names(self) -> frozenset[str]:
        """Given names that are other words too."""
        return self._listed("maybe_first.txt")

    def _listed(self, name: str) -> frozenset[str]:
        lines = (self._data / "dict" / name).read_text("utf-8").splitlines()
        return frozenset(line.partition("#")[0].strip() for line in lines)

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all names."""
        tagger, text = self._tagger, view.text.replace(BLANK, " ")
        pieces = [match for match in LINE.finditer(text) if CAPITAL.search(match[0])]
        for piece, markup in zip(pieces, tagger.map(match[0] for match in pieces), strict=True):
            for each in markup.spans:
                start, end = piece.start() + each.start, piece.start() + each.stop
                if each.type == "PER" and self._is_somebody(text, start, end):
                    yield start, end
        for match in INTRODUCED.finditer(text):
            given = match["given"].lower()
            if given in self._given_names or (given in self._ambiguous_names and match["given"][0].isupper()):
                family = match["family"] and FAMILY.fullmatch(match["family"].lower())
                yield match.start("given"), match.end("family" if family else "given")

    def _is_somebody(self, text: str, start: int, end: int) -> bool:
        """Tell whether a name that the model found is one, and that of somebody who may be known."""
        if FAMOUS.fullmatch(text, start, end) or NAMED_AFTER.search(text, max(0, start - 24), start):
            return False
        return any(map(self._is_name, text[start:end].lower().split()))

    def _is_name(self, word: str) -> bool:
        """Tell whether a word, in some case, is a given name or has the ending of a family name."""
        if FAMILY.fullmatch(word) or word in self._given_names:
            return True
        stems = (word[:-count] for count in (1, 2) if len(word) > count + 1)
        return any(stem + end in self._given_names for stem in stems for end in ("", "а", "я", "й", "ь"))
