"""Russian addresses: postcode, region, city, street, house, block, flat."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.address.grammar import DIGIT, AddressGrammar, without_ideographs, words
from discreet.redaction.words import any_of

CYRILLIC = lazy("[\u0400-\u04ff]")

_WORD = r"[А-ЯЁІЇЄҐӘҒҚҢӨҰҮ][\w'\u2019-]{0,30}+"
_TYPE = any_of(
    "улица|улице|улицу|улицы|ул|ул.|вулиця|вулиці|вул.|проспект|проспекта|проспекте|пр-т|пр-т.|пр-кт|пр-кт.|пр.|просп.|"
    "переулок|переулка|переулке|пер.|набережная|набережной|набережную|наб.|шоссе|ш.|бульвар|бульвара|бульваре|бул.|б-р|б-р.|"
    "площадь|площади|пл.|проезд|проезда|проезде|пр-д|аллея|аллею|аллеи|аллее|аллей|алл.|ал.|тупик|тупика|тупике|туп.|линия|линии|"
    "микрорайон|микрорайона|микрорайоне|мкр|мкр.|мкрн|мкрн.|м-н|тракт|тракта|тракте|квартал|квартала|квартале|кв-л|спуск|"
    "спуска|спуске|узвіз|площа|шосе|провулок|набережна|в'їзд|парк|просек|просека|просеки|дорога|жилой комплекс|жк",
    caseless=True,
)
_BEFORE_NAME = r"(?:[0-9]{1,3}-?(?:я|й|ая|ый|ой|го|е)?|[А-ЯЁ]\.(?: ?[А-ЯЁ]\.)?|им\.|имени|акад\.|академика|ген\.|генерала|маршала|адмирала|проф\.|лет|героев|космонавта)"
_NAME = rf"(?:{_BEFORE_NAME} ?){{0,3}}[«\"]?{_WORD}(?: {_WORD}){{0,3}}[»\"]?"
_HOUSE = r"[0-9]{1,4}(?: ?[а-яА-Яa-zA-Z](?![\w.]))?(?:[/ксКС-][0-9]{1,4}[а-я]?){0,3}(?!\w|[:.,][0-9]|[ ]?%)"
_MARK = r"(?:д\.?|дом[ае]?|домовладение|влад\.?|вл\.|зд\.|здание|№|буд\.)"
_PLACE = (
    r"(?:г\.|город[ае]?|гор\.|г|пос\.|пос[её]лок|п\.|пгт|с\.|село|дер\.|деревня|д\.|к\.|клх|ст\.|ст-ца|станица"
    rf"|хутор|м\.|місто) ?{_WORD}(?: {_WORD})?(?: \([^()\n]{{2,20}}\))?"
    rf"|{_WORD} (?:обл\.?|области|область|край|края|р-н|район|АО|г\.|город)|(?:Респ\.|Республика|обл\.|р-н) {_WORD}"
    r"|Россия|РФ|Российская Федерация|Украина|Беларусь|Казахстан|Україна"
)
_PART = (
    r"(?:корп(?:ус|\.)?|к\.?|стр(?:оение|\.)?|лит(?:ера|ер|\.)?|кв(?:артира|\.)?|под(?:ъезд|\.)?|эт(?:аж|\.)?|оф(?:ис|\.)?|ком(?:ната|н\.|\.)?|"
    r"пом(?:ещение|\.)?|домофон|секция|блок|бокс|д\.?|дом|а/я|пав(?:ильон|\.)?)"
)


class RussianAddressRecogniser(AddressGrammar):
    """Finds a house number after a street, which has its type before or after its name.

    Abbreviations: order 171н of the Ministry of Finance (05.11.2015), on elements of addresses.
    """

    TYPE_FIRST = lazy(rf"(?<!\w){_TYPE} ?(?P<name>{_NAME}),? ?(?:(?P<mark>(?i:{_MARK})) ?)?(?P<house>{_HOUSE})")
    NAME_FIRST = lazy(
        rf"(?<!\w)(?P<name>(?:[0-9]{{1,2}}-?(?:я|й) )?{_WORD}(?: {_WORD}){{0,2}}),? {_TYPE},? ?(?:(?P<mark>(?i:{_MARK})) ?)?(?P<house>{_HOUSE})"
    )
    SMALL = lazy(
        rf"(?<!\w){_TYPE} (?P<name>(?:[\w-]{{2,20}} ){{0,3}}[\w-]{{2,20}}),? (?P<mark>{_MARK}) ?(?P<house>{_HOUSE})",
        re.IGNORECASE,
    )
    ROAD = lazy(
        rf"(?<!\w)(?P<name>[а-яё-]{{4,24}}(?:ское|ского|ском|цкое|цкого|цком)),? (?P<mark>)ш(?:оссе|\.)?,? ?(?P<house>{_HOUSE})"
    )
    UNTYPED = lazy(
        rf"(?<!\w)(?P<name>{_NAME}),? (?:(?P<mark>(?i:{_MARK})) ?)?(?P<house>{_HOUSE}),? ?(?i:корп(?:ус|\.)?|к\."
        rf"|стр\.|кв(?:артира|\.)?) ?№?[0-9]{{1,4}}(?!\w|[.,]?[0-9]|[ ]?(?:м|руб|тыс|%))"
    )
    HOUSE_AND_FLAT = lazy(
        rf"(?<!\w)(?P<name>)(?P<mark>д\.?|дом) ?(?P<house>{_HOUSE}),? ?(?:(?:корп(?:ус|\.)?|к\."
        rf"|стр\.) ?[0-9]{{1,3}},? ?)?(?:кв(?:артира|\.)?) ?№?[0-9]{{1,4}}(?!\w|[.,]?[0-9]|[ ]?м)",
        re.IGNORECASE,
    )
    MARKED = lazy(rf"(?<!\w)(?P<name>{_NAME}), (?P<mark>(?i:д\.|дом|буд\.)) ?(?P<house>{_HOUSE})")
    TOLD = lazy(
        r"(?i:адрес[уа]?(?: доставки| проживания| регистрации)?|прописан[аы]?(?: по)?|доставьте на|жив[уёе]т?м? на"
        rf"|прожива[юе]т? (?:на|по))(?: ?[:-])? ?(?:(?:{_PLACE}|{_WORD}), ?)?"
        rf"(?P<name>{_WORD}(?: {_WORD}){{0,2}}),? (?:(?P<mark>(?i:{_MARK})) ?)?(?P<house>{_HOUSE})"
    )

    ON_STREET = lazy(
        r"(?<!\w)(?i:на|по|возле|около|у|с|от|до"
        r"|напротив) (?P<name>(?:[0-9]{1,2}-?(?:й|ой|я|го) )?(?:[А-ЯЁ][а-яё-]{2,24} )?(?:[А-ЯЁ][а-яё-]{2,24}(?:ой|ого|ая|ую|ом|ем|ей|ова|ева|ина|ра"
        r"|на|ца|ки|ды|ов|зе|ы|и)|[а-яё]{4,24}(?:ской|ского|ная|ной|ина|ова|ева)(?=,? [0-9]{1,3}(?:[а-я](?!\w)"
        r"|[/-][0-9]))),? "
        r"(?P<mark>)(?P<house>[0-9]{1,3}(?:[а-я](?!\w))?(?:[/кс-][0-9]{1,4})*(?: (?:к|корп|стр)\.? ?[0-9]{1,3})?))(?!\w|[.,:][0-9])"
        r"(?=(?<=[а-я])|(?<=[/-][0-9])|(?<=[/-][0-9]{2})|[,.!?)\n]|\Z| (?:опять|вчера|сегодня|завтра|уже|там|где|и|а"
        r"|за|до|в|под|третий|второй|первый|четвёртый|квартира|кв|же)(?!\w))"
    )
    """A street in the case that a preposition asks for, and its house at the end of a clause."""
    HOUSE_FIRST = lazy(
        rf"(?<!\w)(?P<mark>д\.|дом[ае]?) ?№? ?(?P<house>{_HOUSE}) (?:по|на) (?:улице |ул\. ?)?(?P<name>[А-ЯЁ][а-яё-]{{2,24}}(?:ой|ей|ого|ва|на|ы|и))(?!\w)"
    )
    """дом 5 по Садовой."""
    PARTNERSHIP = lazy(
        rf"(?<!\w)(?P<name>(?:СНТ|ДНТ|ДНП|КП|ТСН|ГСК) [«\"]?{_WORD}(?: {_WORD})?[»\"]?)(?:, ?[0-9]{{1,2}}-?я (?:линия|улица))?,? (?P<mark>участок|уч\.?|дом|д\.|гараж|бокс) ?№? ?(?P<house>{_HOUSE})"
    )
    """Of gardeners, of cottages, of garages."""
    NUMBERS_FIRST = lazy(
        r"(?<![\w.,/-])(?P<name>(?:[0-9]{1,3} (?:микрорайон|мкр\.?|квартал),? )?)(?P<house>[0-9]{1,3}) (?P<mark>дом),? [0-9]{1,4} кв(?:артира)?(?!\w)"
    )
    FIRM = lazy(
        rf"[ \t]{{0,2}},?[ \t]{{0,2}}(?:\r?\n[ \t>|]{{0,8}})?(?:(?i:{_PART}) ?№? ?(?:[0-9]{{1,5}}[а-яА-Яa-zA-Z]?(?:[/-][0-9]{{1,4}})?"
        rf"|[А-ЯA-Z])(?!\w|[.,]?[0-9])|[0-9]{{1,3}}(?:-?(?:й|м|ый))? (?i:этаж[е]?|подъезд[е]?|корпус)(?!\w)"
        rf"|(?i:{_PART})(?=\s?[0-9])[0-9 ]{{1,5}}|(?<=[, \n])(?:{_PLACE})(?!\w)|(?<=[,\n ])[0-9]{{6}}(?![\w-]))"
    )
    LOOSE = lazy(rf"[ \t]?,[ \t]{{0,2}}(?P<name>(?!Я |Мы |Он |Она |Они |Это |Тел|Моб){_WORD}(?: {_WORD})?)(?!\w| ?:)")
    BEFORE = lazy(
        rf"(?<!\w)(?:(?:(?:[0-9]{{6}}|{_PLACE}|(?!Да,|Нет,|Привет,){_WORD}(?: {_WORD})?)(?:,? ?\n|, ?)|[0-9]{{6}} |г\. ?{_WORD} ){{1,5}})\Z"
    )
    REACH = 110

    FOLLOWED = lazy(
        r" (?!(?:в|во|на|с|со|и|к|ко|у|по|до|от|за|из|что|где|а|но|или|если|когда|пожалуйста|кв|корп|под|подъезд|этаж|офис|оф|стр|рядом|возле|"
        r"около|напротив|есть|завтра|сегодня|после|мне|нам|это|вот|живу|тел)(?!\w))[а-яё]{2,20}"
    )
    """A noun that the number counts: "на улице Ленина 3 кафе"."""

    TYPES = words(
        "ул просп пр- пр. пер набер наб. шос ш. бульв бул. б-р пл проезд туп алл ал. лини мик мкр м-н тракт кварт кв-л спуск узв"
        " пров в'їзд парк просек доро жил жк"
    )
    FLATS = ("корп", "к.", "стр.", "кв")
    CORES = (
        (TYPE_FIRST, TYPES),
        (NAME_FIRST, TYPES),
        (SMALL, TYPES),
        (HOUSE_FIRST, ("дом", "д.")),
        (PARTNERSHIP, ("снт", "днт", "днп", "кп ", "тсн", "гск")),
        (NUMBERS_FIRST, ("кв",)),
        (ROAD, ("кое ш", "кого ш", "ком ш")),
        (UNTYPED, FLATS),
        (HOUSE_AND_FLAT, ("кв",)),
        (MARKED, ("д.", "дом", "буд.")),
        (ON_STREET, ("на ", "по ", "возле", "около", "у ", "с ", "от ", "напротив")),
        (TOLD, ("адрес", "пропис", "достав", "жив")),
    )
    """The cores, each with hints of which its text has one."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses."""
        text, lowered = view.derived(without_ideographs), view.lowered
        if not DIGIT.search(text) or text.isascii() or not CYRILLIC.search(text):
            return
        cores = [(core, self.judge) for core, hints in self.CORES if any(hint in lowered for hint in hints)]
        yield from self.each(text, *cores)

    def judge(self, match: re.Match[str], floor: int) -> Span | None:
        """Return the span of the whole address, unless its number is that of something else."""
        text = match.string
        end, firm = self.closing(text, match.end())
        if not firm and match["mark"] not in ("д.", "буд.") and self.counts(match):
            return None
        return self.opening(
            text, match.start("name") if match.re in (self.TOLD, self.ON_STREET) else match.start(), floor
        ), end

    def counts(self, match: re.Match[str]) -> bool:
        """Tell whether the number counts what comes after it, or is a year."""
        house = match["house"]
        year = len(house) == 4 and house.startswith(("19", "20"))  # a year
        return year or ("-" not in house and self.FOLLOWED.match(match.string, match.end()) is not None)
