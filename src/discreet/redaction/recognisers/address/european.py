"""Addresses of continental Europe and Latin America, with the number after the street or, in French, before it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.recognisers.address.grammar import BREAK, DIGIT, UPPER, AddressGrammar, without_ideographs
from discreet.redaction.recognisers.address.western import AFTER_LAST, CITY, FIRM, LOOSE, WORD, introduced
from discreet.redaction.recognisers.base import Span, View

ENDINGS = (
    "straße strasse strase str. gasse allee platz damm ufer chaussee promenade pfad steig stieg weg brücke "  # German
    "straat laan plein gracht singel steeg dreef "  # Dutch
    "vej gatan vägen gränd stigen veien stræde vænget straede allé torget bakken "  # Danish, Swedish, Norwegian
    "katu kuja polku kaari braut stræti straeti vegur utca utcája körút körútja"  # Finnish, Icelandic, Hungarian
).split()
"""What ends the name of a street, glued to it or as a word of its own."""

WEAK_ENDINGS = "alle ring tie gade gate gata vei vegen kade dijk baan markt hof park wei terrasse út u. tér rkp. sokak väg".split()
"""The same, but other names end so, too."""

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

    ENDED = re.compile(
        rf"(?<![\w.@/-])(?P<name>{WORD}\.?(?: {WORD}\.?| (?:der|den|dem|des|van|de|von|u\.|utca|út|tér|rkp\.|krt\.)){{0,3}}),? ?"
        rf"(?<=[ .,])(?P<number>{_HOUSE}){_CLOSE}"
    )
    """Name and number; the name's last word decides."""

    FRENCH = re.compile(
        r"(?<![\w.$€£%+/-])(?:(?P<number>[0-9]{1,4}(?:[ -]?[A-D](?!\w))?(?: ?(?:bis|ter|quater))?),? )?"
        r"(?P<kind>(?i:rue|avenue|av\.?|bd\.?|boulevard|chemin|ch\.|impasse|allée|place|quai|cours|route|passage|square|faubourg|sentier|villa|cité)) "
        rf"{_NAME}(?:[ -]{_NAME}){{0,4}}"
    )

    LEADING = re.compile(
        r"(?<!\w)(?:(?:Calle|CALLE|calle|C/|Avenida|avenida|Avda\.?|Av\.|Plaza|Pza\.?|Paseo|Pº|Ronda|Camino|Carrer|Carretera|Ctra\.?|Travesía|Glorieta|Acceso|Alameda|Callejón|Cañada|Cuesta|Pasadizo|Pasaje|Rambla|Urbanización|Vial|C\.|"
        r"Jirón|Carrera|Calzada|Rúa|Via|Viale|Piazza|Piazzale|Corso|Vicolo|Largo|Strada|Borgo|Contrada|Incrocio|Rotonda|Stretto|Canale|Lungomare|Rua|rua|Travessa|Praça|Alameda|Estrada|Rodovia|"
        r"[Uu]l\.|[Uu]lica|[Aa]l\.|[Aa]leja|[Pp]l\.|[Oo]s\.|Osiedle|Rue|rue|Avenue|avenue|Boulevard|boulevard|Chemin|Strada|Str\.|Bulevardul|Bd\.|"
        rf"Am|An der|Auf der|Auf dem|Im|In der|Zum|Zur|Unter den|Λεωφόρος|Οδός) ?)(?P<name>{_NAME}(?: {_NAME}){{0,4}}?),? "
        rf"(?:n[ºo°.]{{0,2}} ?|nr\.? ?|č\. ?|s/n )?(?P<number>{_HOUSE}(?: ?[mM]\.? ?[0-9]{{1,4}})?){_CLOSE}"
    )

    TURKISH = re.compile(
        rf"(?<!\w)(?:{WORD} ){{1,3}}(?:(?:Mahallesi|Mah\.|Mh\.),? (?:{WORD} ){{1,3}})?(?:Caddesi|Cad\.|Cd\.|Sokak|Sokağı|Sok\.|Sk\.|Bulvarı|Blv\.),? "
        r"(?:No ?[:.]? ?)?[0-9]{1,4}(?:/[0-9A-Z]{1,4})?(?:,? D(?:aire)? ?[:.]? ?[0-9]{1,4})?(?!\w)"
    )

    LEADING_WEAK = ("Am", "An ", "Auf", "Im", "In ", "Zum", "Zur", "Unter", "Plaza", "Largo", "Acceso", "Borgo", "Canale", "Vial", "C.", "Stretto", "Cuesta", "Rotonda", "Via", "Av.", "Carrera", "Al.", "al.")
    """Words that begin a sentence as well; and English ones."""

    FIRM, LOOSE, AFTER_LAST = FIRM, LOOSE, AFTER_LAST
    BEFORE = re.compile(
        rf"(?<![\w-])(?:(?:[A-Z]{{1,2}}-)?[0-9]{{4,6}}(?: {CITY})?,? (?:{BREAK})?|[0-9]{{1,6}} |(?i:residencia|edificio|résidence|bâtiment|haus) {WORD}, )\Z"
    )
    REACH = 60

    ALSO_WORDS = frozenset(("place", "cours", "route", "passage", "square", "villa", "cité", "sentier", "ch."))
    """Words of other meanings, and English ones."""

    ARTICLE = re.compile("(?:Der|Die|Das|Den|Dem|Ein|Alle|Jede|Auf|Het|De|Mein|Dein|Unser|Top|Kapitel|The) ", re.IGNORECASE)
    NOUN = re.compile(r" (?!(?:in|im|bei|und|y|en|a|e|et|à|o|i|w|we|and|is|at|on|for|by|to|bitte|por|please|svp|street|st|st\.|road)(?!\w))[^\W\d_A-Z]{2,20}")

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses."""
        text = view.derived(without_ideographs)
        if not DIGIT.search(text):
            return
        for match in self.ENDED.finditer(text):
            name = match["name"].lower()
            ended = name.endswith(tuple(ENDINGS)) and name not in ENDINGS
            if ended or name.endswith(tuple(WEAK_ENDINGS)):
                glued = ended and " " not in name
                yield from self.judge(match, weak=not ended or self.ARTICLE.match(name) is not None, glued=glued)
        for match in self.LEADING.finditer(text):
            yield from self.judge(match, weak=match[0].startswith(self.LEADING_WEAK))
        for match in self.FRENCH.finditer(text):
            end, firm = self.closing(text, match.end())
            known = match["kind"].lower() not in self.ALSO_WORDS or introduced(text, match.start()) or end > match.end()
            if firm or (match["number"] and known):
                yield self.opening(text, match.start()), end
        if "no" in view.lowered or "cad" in view.lowered or "sok" in view.lowered:
            for match in self.TURKISH.finditer(text):
                yield match.start(), self.closing(text, match.end())[0]

    def judge(self, match: re.Match[str], *, weak: bool, glued: bool = False) -> Iterator[Span]:
        """Yield the span of the whole address, unless the number counts what comes after it."""
        text, start = match.string, match.start()
        opening = self.opening(text, start)
        end, firm = self.closing(text, match.end())
        numbered = re.match("[0-9]{1,6} ", text[opening:start]) is not None
        certain = firm or introduced(text, opening) or (numbered and not re.match("(?:19|20)[0-9]{2} ", text[opening:start]))
        year = re.fullmatch("(?:19|20)[0-9]{2}", match["number"]) is not None
        if certain or not (weak or year or (not glued and self.NOUN.match(text, match.end()))):
            yield opening, end
