"""Addresses of continental Europe and Latin America, with the number after the street or, in French, before it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.address.grammar import (
    BREAK,
    DIGIT,
    UPPER,
    AddressGrammar,
    Core,
    without_ideographs,
    words,
)
from discreet.redaction.recognisers.address.western import AFTER_LAST, CITY, FIRM, LOOSE, WORD, introduced
from discreet.redaction.word_set import word_set

ENDINGS = words(
    "straße strasse strase str. gasse allee platz damm ufer chaussee promenade pfad steig stieg weg brücke "  # German
    "straat laan plein gracht singel steeg dreef "  # Dutch
    "vej gatan vägen gränd stigen veien stræde vænget straede allé torget bakken "  # Danish, Swedish, Norwegian
    "katu kuja polku kaari braut stræti straeti vegur utca utcája körút körútja"  # Finnish, Icelandic, Hungarian
)
"""What ends the name of a street, glued to it or as a word of its own."""

WEAK_ENDINGS = words(
    "alle ring tie gade gate gata vei vegen kade dijk baan markt hof park wei terrasse út u. tér rkp. sokak väg"
)
"""The same, but other names end so, too."""

_ENDINGS, _WEAK_ENDINGS = tuple(ENDINGS), tuple(WEAK_ENDINGS)
_BARE_ENDINGS = tuple(ending.rstrip(".") for ending in (*ENDINGS, *WEAK_ENDINGS))
FRENCH_WORDS = words(
    "rue avenue av bd boulevard chemin ch impasse allée allé rang montée place quai cours route passage square faubourg sentier"
    " villa cité"
)
LEADING_WORDS = words(
    "calle c avenida avda av r praceta plaza pza paseo pº ronda camino carrer carretera ctra travesía glorieta acceso alameda"
    " callejón cañada cuesta pasadizo pasaje rambla urbanización vial jirón carrera calzada rúa via viale piazza piazzale"
    " corso vicolo largo strada borgo contrada incrocio rotonda stretto canale lungomare rua travessa praça estrada rodovia"
    " ul ulica al aleja pl os osiedle rue avenue boulevard chemin str bulevardul bd der dem im zum zur den"
)
"""Without one of them there is no address of the kind."""
_CLOSE = r"(?!\w|[.,:/-][0-9]|[ ]?[%€$£°])"
_HOUSE = r"[0-9]{1,5}(?: ?[a-zA-Z](?!\w))?(?:[/-][0-9]{1,4}[a-zA-Z]?){0,2}"
_NAME = (
    rf"(?:(?:de|la|las|los|el|del|della|delle|degli|dei|dell'|do|da|dos|das|di|du|des|le|les|lo|d'|l'|der|den|of|van|sv\.|św\.|gen\.|"
    rf"ks\.|dr\.?|[{UPPER}]\.|[0-9]{{1,2}}) ?){{0,3}}{WORD}\.?"
)


class EuropeanAddressRecogniser(AddressGrammar):
    """Finds German, Dutch, Scandinavian, French, Spanish, Portuguese, Italian, Polish, Hungarian and Turkish streets.

    The order of street, number and postcode is that of the Universal Postal Union's addressing sheets.
    """

    ENDED = lazy(
        rf"(?<![\w.@/-])(?P<name>{WORD}\.?(?: {WORD}\.?| (?:der|den|dem|des|van|de|von|u\.|utca|út|tér|rkp\.|krt\.)){{0,3}}),? ?"
        rf"(?<=[ .,])(?P<number>{_HOUSE}){_CLOSE}"
    )
    """Name and number; the name's last word decides."""
    SMALL_ENDED = lazy(
        r"(?<![\w.@/-])[a-zäöüß-]{3,24}(?:str\.?|straße|strasse|straat|laan|gracht|gasse|gatan|vägen)[ ,]{1,2}"
        rf"{_HOUSE}{_CLOSE}(?! ?(?:km|m|uhr|euro|meter|min)(?!\w))"
    )
    """The same in small letters, for those that nothing else ends with."""

    FRENCH = lazy(
        r"(?<![\w.$€£%+/-])(?:(?P<number>[0-9]{1,4}(?:[ -]?[A-D](?!\w))?(?: ?(?:bis|ter|quater))?),? )?"
        r"(?P<kind>(?i:rue|avenue|av\.?|bd\.?|boulevard|chemin|ch\.|impasse|allée?|rang|montée|place|quai|cours"
        r"|route|passage|square|faubourg|sentier|villa|cité)) "
        rf"(?:(?:des|du|de la) [^\W\d_A-Z]{{3,15}}+ )?{_NAME}(?:[ -]{_NAME}){{0,4}}"
    )

    LEADING = lazy(
        r"(?<!\w)(?:(?:Calle|CALLE|calle|C/|Avenida|avenida|Avda\.?|Av\.?|R\.|Praceta|Plaza|Pza\.?|Paseo|Pº|Ronda"
        r"|Camino|Carrer|Carretera|Ctra\.?|Travesía|Glorieta|Acceso|Alameda|Callejón|Cañada|Cuesta|Pasadizo|Pasaje"
        r"|Rambla|Urbanización|Vial|C\.|"
        r"Jirón|Carrera|Calzada|Rúa|Via|Viale|Piazza|Piazzale|Corso|Vicolo|Largo|Strada|Borgo|Contrada|Incrocio"
        r"|Rotonda|Stretto|Canale|Lungomare|Rua|rua|Travessa|Praça|Alameda|Estrada|Rodovia|"
        r"[Uu]l\.|[Uu]lica|[Aa]l\.|[Aa]leja|[Pp]l\.|[Oo]s\.|Osiedle|Rue|rue|Avenue|avenue|Boulevard|boulevard|Chemin|Strada|Str\.|Bulevardul|Bd\.|"
        rf"Am|An der|Auf der|Auf dem|Im|In der|Zum|Zur|Unter den|Λεωφόρος|Οδός) ?)(?P<name>{_NAME}(?: {_NAME}){{0,4}}?),? "
        rf"(?:n[ºo°.]{{0,2}} ?|nr\.? ?|č\. ?|s/n )?(?P<number>{_HOUSE}(?: ?[mM]\.? ?[0-9]{{1,4}})?){_CLOSE}"
    )

    TURKISH = lazy(
        rf"(?<!\w)(?:{WORD} ){{1,3}}(?:(?:Mahallesi|Mah\.|Mh\.),? (?:{WORD} ){{1,3}})?(?:Caddesi|Cad\.|Cd\.|Sokak|Sokağı|Sok\.|Sk\.|Bulvarı|Blv\.),? "
        r"(?:No ?[:.]? ?)?[0-9]{1,4}(?:/[0-9A-Z]{1,4})?(?:,? D(?:aire)? ?[:.]? ?[0-9]{1,4})?(?!\w)"
    )

    POLISH = lazy(
        r"(?<!\w)(?:na|przy|do|z|od|u) (?P<name>[A-ZŁŚŻŹĆÓ][a-ząćęłńóśźż]{2,24}(?:iej|ego|ej|ka|cza|skiego|a|i|y|u"
        r"|ów)) (?P<number>[0-9]{1,3}[a-z]?(?:/[0-9]{1,4})?)(?=[,.!?)\n]|\Z)"
    )
    """A street in the case that a preposition asks for."""

    LEADING_WEAK = (
        "Am",
        "An ",
        "Auf",
        "Im",
        "In ",
        "Zum",
        "Zur",
        "Unter",
        "Plaza",
        "Largo",
        "Acceso",
        "Borgo",
        "Canale",
        "Vial",
        "C.",
        "Stretto",
        "Cuesta",
        "Rotonda",
        "Via",
        "Av.",
        "Carrera",
        "Al.",
        "al.",
    )
    """Words that begin a sentence as well; and English ones."""

    FIRM, LOOSE, AFTER_LAST = FIRM, LOOSE, AFTER_LAST
    BEFORE = lazy(
        rf"(?<![\w-])(?:(?:[A-Z]{{1,2}}-)?[0-9]{{4,6}}(?: {CITY})?,? (?:{BREAK})?|[0-9]{{1,6}} |(?i:residencia"
        rf"|edificio|résidence|bâtiment|haus) {WORD}, )\Z"
    )
    REACH = 60

    ALSO_WORDS = frozenset(("place", "cours", "route", "passage", "square", "villa", "cité", "sentier", "ch."))
    """Words of other meanings, and English ones."""

    ARTICLE = lazy("(?:Der|Die|Das|Den|Dem|Ein|Alle|Jede|Auf|Het|De|Mein|Dein|Unser|Top|Kapitel|The) ", re.IGNORECASE)
    NOUN = lazy(
        r" (?!(?:in|im|bei|und|y|en|a|e|et|à|o|i|w|we|and|is|at|on|for|by|to|bitte|por|please|svp|street|st|st\.|road)(?!\w))[^\W\d_A-Z]{2,20}"
    )

    NUMBERED = lazy("(?!(?:19|20)[0-9]{2} )[0-9]{1,6} ")
    YEAR = lazy("(?:19|20)[0-9]{2}")

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses."""
        text = view.derived(without_ideographs)
        if not DIGIT.search(text):
            return
        found = view.derived(word_set)
        cores: list[Core] = []
        if any(word.endswith(_BARE_ENDINGS) for word in found):
            cores.append((self.ENDED, self.judge_ended))
            yield from (match.span() for match in self.SMALL_ENDED.finditer(text))
        if not found.isdisjoint(FRENCH_WORDS):
            cores.append((self.FRENCH, self.judge_french))
        if not found.isdisjoint(LEADING_WORDS) or "Am " in text or "Οδός" in text or "Λεωφόρος" in text or "º" in text:
            cores.append((self.LEADING, self.judge_leading))
        if any(hint in view.lowered for hint in ("cad", "cd.", "sok", "sk.", "bulv", "blv")):
            cores.append((self.TURKISH, self.judge_turkish))
        if not text.isascii() or " na " in text:
            yield from (match.span("name")[:1] + match.span("number")[1:] for match in self.POLISH.finditer(text))
        yield from self.each(text, *cores)

    def judge_ended(self, match: re.Match[str], floor: int) -> Span | None:
        """Return the span of an address whose street has a telling end."""
        name = match["name"].lower()
        ended = name.endswith(_ENDINGS) and name not in ENDINGS
        if name in WEAK_ENDINGS or not (ended or name.endswith(_WEAK_ENDINGS)):
            return None
        return self.judge(
            match, floor, weak=not ended or self.ARTICLE.match(name) is not None, glued=ended and " " not in name
        )

    def judge_leading(self, match: re.Match[str], floor: int) -> Span | None:
        """Return the span of an address whose street begins with its type."""
        return self.judge(match, floor, weak=match[0].startswith(self.LEADING_WEAK), glued=False)

    def judge_french(self, match: re.Match[str], floor: int) -> Span | None:
        """Return the span of a French address, which has its number first or else a postcode."""
        text = match.string
        end, firm = self.closing(text, match.end())
        sure = match["kind"].lower() not in self.ALSO_WORDS or end > match.end() or introduced(text, match.start())
        return (self.opening(text, match.start(), floor), end) if firm or (match["number"] and sure) else None

    def judge_turkish(self, match: re.Match[str], floor: int) -> Span:
        """Return the span of a Turkish address."""
        return match.start(), self.closing(match.string, match.end())[0]

    def judge(self, match: re.Match[str], floor: int, *, weak: bool, glued: bool) -> Span | None:
        """Return the span of the whole address, unless the number counts what comes after it."""
        text, start = match.string, match.start()
        opening = self.opening(text, start, floor)
        end, firm = self.closing(text, match.end())
        if firm or self.NUMBERED.match(text, opening, start) or introduced(text, opening):
            return opening, end
        counted = not glued and self.NOUN.match(text, match.end()) is not None
        return None if weak or counted or self.YEAR.fullmatch(match["number"]) else (opening, end)
