"""Parts of addresses in Latin letters: units, places, postcodes, states and countries."""

from __future__ import annotations

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.recognisers.address.grammar import SEPARATOR, UPPER
from discreet.redaction.words import any_of

WORD = rf"[{UPPER}][\w'\u2019-]{{0,30}}+"
"""A word with a capital letter."""

_LINK = (
    "(?:(?:de|la|las|le|les|los|el|del|della|do|da|dos|das|di|du|des|der|den|am|an der|im|ob|pod|nad|na|sur|sous|en|of|upon|"
    "van|het|l')[ -]){1,2}"
)

_NO_PLACES = any_of(
    "I|I'm|I've|We|He|She|They|It|You|The|This|That|But|And|So|My|Our|Your|His|Her|Please|Phone|Mobile|Tel|Fax|Email|"
    "E-mail|Date|Thanks|Then|When|Where|What|How|Is|Are|Can|Do|Desk|Office|Call"
)

CITY = (
    rf"(?!{_NO_PLACES}(?![\w-]))"
    rf"(?:(?:St|Ste|Mt|Ft)\. ?)?{WORD}(?:[ ](?:{_LINK})?(?:St\. )?{WORD}|[ -](?:{_LINK}){WORD}){{0,4}}"
)
"""The name of a place: up to five words with capital letters. Words that begin a sentence or a field are none."""

STATES = any_of(
    "AL|AK|AZ|AR|CA|CO|CT|DE|FL|GA|HI|ID|IL|IN|IA|KS|KY|LA|ME|MD|MA|MI|MN|MS|MO|MT|NE|NV|NH|NJ|NM|NY|NC|ND|OH|OK|OR|PA|RI|SC|"
    "SD|TN|TX|UT|VT|VA|WA|WV|WI|WY|DC|PR|AB|BC|MB|NB|NL|NS|NT|NU|ON|PE|QC|SK|YT|NSW|VIC|QLD|TAS|ACT"
)
"""Abbreviated states and provinces of the United States (USPS Publication 28, appendix B), Canada and Australia."""

STATE_NAMES = any_of(
    "Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Georgia|Hawaii|Idaho|Illinois|Indiana|"
    "Iowa|Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan|Minnesota|Mississippi|Missouri|Montana|Nebraska|"
    "Nevada|New Hampshire|New Jersey|New Mexico|New York|North Carolina|North Dakota|Ohio|Oklahoma|Oregon|Pennsylvania|"
    "Rhode Island|South Carolina|South Dakota|Tennessee|Texas|Utah|Vermont|Virginia|Washington|West Virginia|Wisconsin|"
    "Wyoming|Alberta|British Columbia|Manitoba|New Brunswick|Newfoundland|Nova Scotia|Ontario|Quebec|Saskatchewan|"
    "New South Wales|Victoria|Queensland|South Australia|Western Australia|Tasmania"
)

COUNTRIES = any_of(
    "USA|U.S.A.|US|United States|United States of America|UK|U.K.|United Kingdom|Great Britain|England|Scotland|Wales|Northern Ireland|"
    "Ireland|Canada|Australia|New Zealand|South Africa|India|Singapore|Malaysia|Philippines|Hong Kong|Taiwan|China|Japan|"
    "South Korea|Korea|Vietnam|Viet Nam|Thailand|Indonesia|Russia|Ukraine|Belarus|Kazakhstan|Germany|Deutschland|Austria|"
    "Österreich|Switzerland|Schweiz|Suisse|France|Belgium|Belgique|België|Netherlands|The Netherlands|Nederland|Luxembourg|"
    "Spain|España|Portugal|Italy|Italia|Greece|Cyprus|Malta|Poland|Polska|Czechia|Czech Republic|Slovakia|Hungary|Romania|"
    "Bulgaria|Serbia|Croatia|Slovenia|Bosnia|Albania|Estonia|Latvia|Lithuania|Finland|Sweden|Norway|Denmark|Iceland|"
    "Greenland|Turkey|Türkiye|Israel|Egypt|Morocco|Tunisia|Algeria|Nigeria|Kenya|Ghana|Brazil|Brasil|Argentina|Chile|Peru|"
    "Colombia|Uruguay|Paraguay|Bolivia|Ecuador|Venezuela|Mexico|México|Cuba|Pakistan|Bangladesh|Sri Lanka|Nepal|Iran|Iraq|"
    "Saudi Arabia|United Arab Emirates|UAE|Qatar|Kuwait"
)

END = r"(?![\w]|[-/:.,][0-9])"
"""A number that goes on is no postcode."""

_UNITS = any_of(
    "apartment|apt|apto|suite|ste|unit|flat|floor|room|rm|level|studio|building|bldg|lot|box|po box|p.o. box|piso|puerta|"
    "appartamento|piano|scala|étage|appt|wohnung|whg|interno|interior|int|edif|edificio|depto|dpto|oficina|bloque|esc|"
    "portal|planta|lokal|lok|m",
    caseless=True,
)

UNIT = (
    rf"(?:(?=[^0-9]{{1,24}}+[0-9]){_UNITS}\.?[ ]?"
    r"(?:(?i:no)\.?[ ]?|#[ ]?)?(?:[A-Za-z]-?)?[0-9]{1,5}[A-Za-z]?(?:-[0-9A-Z]{1,4})?"
    rf"|{any_of('apartment|apt|suite|ste|unit|flat', caseless=True)}\.?[ ][A-Z]"
    r"|#[ ]?[0-9]{1,5}[A-Z]?|[0-9]{1,2}(?:st|nd|rd|th) (?i:floor|fl)\.?"
    r"|[0-9]{1,2}(?:er|e|ème)? étage|[0-9]{1,2}\.? ?[ºª°](?: ?(?:[A-Z]|izda|izq|dcha|puerta [0-9]{1,2}))?"
    r")(?![\w])"
)

ZIP = r"[0-9]{5}(?:-[0-9]{4})?"
ROYAL = r"(?:[A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9][A-Z]{2}|[A-Z][0-9][A-Z][ -]?[0-9][A-Z][0-9])"
"""Postcodes of the United Kingdom (BS 7666) and of Canada."""

STATE = rf"(?:{STATES}|{STATE_NAMES})"

_ZIP_CITY = (
    r"(?:[A-Z]{1,2}-)?(?:[0-9]{4} ?[A-Z]{2}(?![A-Za-z])|(?!(?:19|20)[0-9]{2}(?![0-9]))[0-9]{4,5}"
    r"|[0-9]{3} [0-9]{2}|[0-9]{2}-[0-9]{3}|[0-9]{4,5}-[0-9]{3}|[0-9]{8})"
    rf"(?:[ ,]{{1,2}}|,?\r?\n){CITY}(?: ?/ ?[A-Z]{{2}}| [A-Z]{{2}})?(?!\w)"
)
_REGION_ZIP = (
    rf"(?:(?:[A-Z]{{1,5}}|nan|{STATE_NAMES})(?:[., ]|{SEPARATOR}){{1,2}}(?:{ZIP}|{ROYAL})|{ROYAL}"
    r"|(?:NSW|VIC|QLD|SA|WA|TAS|ACT|NT)[ ,]{1,2}[0-9]{4})"
)

_COMING = r"(?=[^0-9]{1,120}+(?:[0-9]{4}|(?<=[A-Z])[0-9][0-9A-Z]{0,2} ?[0-9A-Z]))"
"""What every region with its postcode has: letters, then four digits or a digit glued to a letter."""

FIRM = lazy(
    rf"(?:\.(?=[,\r\n]|[ ]{{1,3}}(?i:apt|suite)))?{SEPARATOR}(?:{UNIT}"
    rf"|(?P<last>(?P<strong>{_COMING}(?:(?:{CITY}[ ]{{0,2}}(?:{SEPARATOR}){{0,2}})?{_REGION_ZIP}{END}"
    rf"|[{UPPER}][A-Za-z ]{{1,30}}[-][0-9]{{6}}{END})|(?=[0-9]|[A-Z]{{1,2}}-[0-9]){_ZIP_CITY})"
    rf"|{_COMING}{CITY}[ ](?:\([A-Z][a-z]{{2,12}}\) )?[0-9]{{4,6}}{END}"
    rf"|[0-9]{{5,6}}(?:-[0-9]{{4}})?{END})"
    rf"|(?=[{UPPER}])(?:{CITY} )?(?:{STATE}|{COUNTRIES})(?![\w']))"
)

LOOSE = lazy(rf"{SEPARATOR}(?P<name>{CITY}(?: [0-9]{{1,2}}(?![\w/:.%-]))?)(?!\w|[ ]?:)")

SMALL_PLACES = lazy(
    r"(?:[, \n]{1,3}[^\W\d_]{2,20}+){1,5}[, ]{1,2}[0-9]{4,6}(?![\w-])"
    r"|(?:, [^\W\d_]{1,20}+(?: [^\W\d_]{1,20}+)?){1,2}(?=[.!?\n]|\Z)"
)
"""City, state and postcode in small letters, as people type in a hurry."""

AFTER_LAST = lazy(rf"{SEPARATOR}(?:{COUNTRIES})(?![\w'])|{SEPARATOR}\([A-Z]{{2}}\)")

_CONTEXT = lazy(
    any_of(
        "address|addresses|addressed|live|lives|lived|living|reside|resides|resided|residing|located|location|situated|stay|"
        "stays|stayed|staying|moved|office|home|house|restaurant|store|shop|station|meet|arrive|arrived|arrives|drop you off|"
        "drop me off|drop us off|drop him off|drop her off|drop them off|drops you off|drops me off|drops us off|"
        "drops him off|drops her off|drops them off|delivered|deliver|ship|shipped|sent|send|mail|return|stop|residence|"
        "adresse|dirección|indirizzo|wohne|habite|vivo|adres|straße"
    )
    + "(?![a-z])"
)
"""Words after which a street is somebody's address rather than a place talked about."""

_NEARBY = lazy(r"(?:[ \t>?]{0,8}\n)?[^0-9\n.!?]{0,40}+")
"""Read backwards: what stands before an address in its sentence, or at the end of the line before."""


def introduced(text: str, start: int) -> bool:
    """Tell whether words that introduce an address stand before `start`."""
    before = text[max(0, start - 50) : start]
    nearby = _NEARBY.match(before[::-1])
    return nearby is not None and mentions_address(before, len(before) - nearby.end())


def mentions_address(text: str, start: int = 0) -> bool:
    """Tell whether a word that introduces an address stands in `text` after `start`."""
    lowered = text.lower()
    return any(
        word[0].startswith("address") or not "a" <= lowered[word.start() - 1 : word.start()] <= "z"
        for word in _CONTEXT.finditer(lowered, start)
    )
