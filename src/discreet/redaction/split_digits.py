"""What was cut into pieces: `0,9,1,2`, `[8491][2345]`, `a n n @ …`, a number on two lines; and digits that a scanner took for letters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from discreet.redaction.normalized_text import View

_SIGN = r"[^0-9A-Za-z\u00c0-\u024f\u0400-\u04ff\u1e00-\u1eff\u4e00-\u9fff\0]"
_JOINT = rf"(?P<joint>(?:<[a-z/! -]{{1,12}}>|{_SIGN}){{1,5}}?)"

ONES = re.compile(rf"(?<![0-9])[0-9]{_JOINT}[0-9](?:(?P=joint)[0-9]){{3,17}}(?![0-9])")
THREES = re.compile(
    rf"(?<![0-9])[0-9]{{3}}{_JOINT}[0-9]{{3}}(?:(?P=joint)[0-9]{{3}}){{0,5}}(?:(?P=joint)[0-9]{{1,2}})?(?![0-9])"
)
FOURS = re.compile(
    rf"(?<![0-9])[0-9]{{4}}{_JOINT}[0-9]{{4}}(?:(?P=joint)[0-9]{{4}}){{0,4}}(?:(?P=joint)[0-9]{{1,3}})?(?![0-9])"
)
"""Pieces of one, three or four digits, the last one shorter, with the very same between them."""

LEAST_DIGITS = 9
"""Shorter ones are more often lists."""
LEAST_ONES = 6
"""The same of single digits, of which codes may be made."""

CARD_JOINTS = frozenset("*·•_~–—‐:")
"""Signs between groups of four that stay groups: neither those of lists and tables nor those of dates."""

USUAL = re.compile(r"[ .()-]*|[ .()-]*\n[ ]*")
"""What may stand in numbers anyway, see `recognisers.digits`."""

MIXED = re.compile(
    r"(?<![0-9])[0-9]{1,4}(?P<joint>(?:[^\w\s\0.,:;/()+-]{1,2}|\.{2,3}) ?)[0-9]{1,4}(?:(?P=joint)[0-9]{1,4}){2,8}(?![0-9])"
)
"""Pieces of any size with a sign between them that nothing else is divided by."""
SINGLES = re.compile(
    r"(?<![^\W_])[\w@](?P<joint>[ _·・、*|/-]{1,2})[\w@.!#$%](?:(?P=joint)[\w@.!#$%+]){5,60}(?![^\W_])"
)
"""Letters and signs one by one: `a n n @ m a i l . c o m`."""

LETTERS_FOR_DIGITS = str.maketrans("OoОоQlI|ZzЗзSsбGBg", "000001112233556689")
_LIKE = "OoОоQlIЗзSsбGB"
DISGUISED = re.compile(
    r"(?<![^\W_])(?<![0-9][.,])(?=[0-9OoОоlIZSB]*[0-9])(?=[0-9]*[OoОоlIZSB])[0-9OoОоlIZSB]{3,19}(?![^\W_])"
)
"""A word of digits and of letters that look like them."""
_GROUP = rf"(?:(?=[{_LIKE}]*[0-9])[0-9{_LIKE}]{{1,19}}|[OoОоlI]{{1,4}})"
SCANNED = re.compile(rf"(?<![^\W_])\(?{_GROUP}(?:[ ()./-]{{1,3}}{_GROUP}){{1,7}}(?![^\W_])")
"""Groups of such words, as a scanner reads a number."""
SCANNED_CARD = re.compile(r"(?<![^\W_])(?=[^\d\n]{0,12}[0-9])[0-9OoIlZSBGAT]{4}(?:[ -][0-9OoIlZSBGAT]{4}){3}(?![^\W_])")
FOURS_IN_CARDS = str.maketrans("OoIlZSBGAT", "0011258647")
BYTES = re.compile("[0-9A-F]{2}(?: [0-9A-F]{2})+")
SCANNED_IBAN = re.compile(
    r"(?<![A-Za-z0-9])[A-Z]{2}[0-9OlIZSBб]{2}(?: ?[0-9A-Zlo]{4}){2,7}(?: ?[0-9A-Zlo]{1,4})?(?![A-Za-z0-9])"
)
AT_SCANNED = re.compile(r"(?<=[A-Za-z0-9])©(?=[A-Za-z0-9-]{2,40}[.,][a-z])")
LEAST_SCANNED = 6
"""Digits that were read as such."""

WRAP = re.compile(r"(?<=[0-9A-Za-z@._=/+-])[ \t]{0,2}\r?\n[ \t>|]{0,12}(?=[0-9A-Za-z.@])")
"""Where a line ends and the next one begins, with marks of quotation."""
ENDS_NUMBER = re.compile(
    r"(?:^|[\s(+A-Z]|[^\x00-\x7f]|[0-9]-|[:：] ?(?<![0-9][:：]))[0-9]{1,15}\Z(?<![A-Z]{2} [0-9]{5})"
)
"""But a postcode behind its state."""
BEGINS_NUMBER = re.compile(r"(?!(?:19|20)[0-9]{2}[-/.])(?!(?:[0-9]{2}|[0-9]{4})-[0-9]{2}-)[0-9]{1,15}(?![:0-9A-Za-z.])")
NUMBERS_ONLY = re.compile(r"[\s>|0-9.,;:/()+-]*")
ENDS_ADDRESS = re.compile(r"[\w.+-]{1,64}@[A-Za-z0-9.-]{0,63}\Z")
BEGINS_DOMAIN = re.compile(r"[A-Za-z0-9-]{0,63}\.[A-Za-z]{2,10}(?![\w@])")
ENDS_TOKEN = re.compile(r"(?=[^\n]*[0-9])(?=[^\n]*[A-Za-z])(?<![.\w-])[A-Za-z0-9+/_=-]{16,}\Z|[\w!#$%&]{4,30}-\Z")
BEGINS_TOKEN = re.compile(r"(?=[A-Za-z0-9+/_-]*[0-9])[A-Za-z0-9+/_-]{4,80}={0,2}(?![^\s,;.\"')])")
MOST_LINE_CHARS = 200

RAISED = re.compile("[⁰¹²³⁴-⁹₀-₉]")
"""Digits above or below the line; the 2 of m² is read as one here only."""

LEAST_SIGNS = re.compile(
    r"[0-9](?:[ .()-]{0,4}(?:<|[^0-9A-Za-z\u00c0-\u024f\u0400-\u04ff\u1e00-\u1eff\u4e00-\u9fff\0\s.()-])|\.{2}|[OoОоQlIZSBЗбA]| [SOIB]{4} |\)? - ?[0-9]|(?<=[OoОоQlISBЗб].))"
)
"""All begin with a digit, which `re` skips to."""
SEVERAL_RAISED = re.compile("[₀-₉⁰-⁹²³¹]{3}")
SPACED = re.compile(r"[ _·・、*|/-]{1,2}[\w@.][ _·・、*|/-]{1,2}[\w@.][ _·・、*|/-]{1,2}[\w@.](?![^\W_])")


def joined(view: View) -> View | None:
    """Return the view with such numbers and words put together; None if there are none."""
    whole = view
    if LEAST_SIGNS.search(view.text) or (not view.text.isascii() and SEVERAL_RAISED.search(view.text)):
        whole = view if view.text.isascii() else view.replaced(RAISED, lambda match: str(unicodedata.digit(match[0])))
        for pattern in (ONES, THREES, FOURS, MIXED):
            whole = whole.replaced(pattern, _digits)
        whole = whole.replaced(SCANNED_IBAN, _scanned_iban)
        whole = whole.replaced(SCANNED_CARD, _scanned_card)
        whole = whole.replaced(SCANNED, _scanned)
        whole = whole.replaced(DISGUISED, lambda match: match[0].translate(LETTERS_FOR_DIGITS))
    if "©" in whole.text:
        whole = whole.replaced(AT_SCANNED, lambda _: "@")
    if SPACED.search(whole.text):
        whole = whole.replaced(SINGLES, _word)
    if "\n" in whole.text:
        whole = whole.spliced(_wraps(whole.text))
    return None if whole is view or whole.text == view.text else whole


def _digits(match: re.Match[str]) -> str:
    joint = match["joint"]
    if match.re == FOURS and joint.strip() in CARD_JOINTS:
        return match[0].replace(joint, " ")
    digits = "".join(filter(str.isdigit, re.sub("<[^>]*>", "", match[0])))
    least = LEAST_ONES if match.re == ONES else LEAST_DIGITS
    return match[0] if USUAL.fullmatch(joint) or len(digits) < least else digits


def _scanned(match: re.Match[str]) -> str:
    """Return a number with digits for the letters that look like them, if enough of it was read as digits."""
    enough = sum(map(str.isdigit, match[0])) >= LEAST_SCANNED and not BYTES.fullmatch(match[0])
    return match[0].translate(LETTERS_FOR_DIGITS) if enough else match[0]


def _scanned_card(match: re.Match[str]) -> str:
    """Return the same of four groups of four, which cards are printed in."""
    enough = sum(map(str.isdigit, match[0])) > LEAST_SCANNED
    return match[0].translate(FOURS_IN_CARDS) if enough else match[0]


def _scanned_iban(match: re.Match[str]) -> str:
    """Return the same of an IBAN, but for its country and for groups of letters, which banks have."""
    country, rest = match[0][:2], match[0][2:]
    letters = [char for char in rest if char.isalpha() and char not in _LIKE]
    if sum(map(str.isdigit, rest)) < LEAST_SCANNED or len(letters) > 1:
        return match[0]
    groups = re.split("( )", rest)
    return country + "".join(
        group.translate(LETTERS_FOR_DIGITS) if any(map(str.isdigit, group)) or not group.strip("OolI") else group
        for group in groups
    )


def _word(match: re.Match[str]) -> str:
    """Return the letters without what is between them, if they make an address or have digits: others are just spelled."""
    word = match[0][:: 1 + len(match["joint"])]
    return word if "@" in word or any(map(str.isdigit, word)) else match[0]


def _wraps(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the edits that put together what a line break cut in two: numbers, addresses and tokens."""
    for wrap in WRAP.finditer(text):
        start, end = wrap.span()
        first = max(text.rfind("\n", 0, start) + 1, start - MOST_LINE_CHARS)
        last = text.find("\n", end, end + MOST_LINE_CHARS)
        left, right = text[first:start], text[end : last if last >= 0 else end + MOST_LINE_CHARS]
        if left[-1].isdigit() and right[0].isdigit():
            cut = ENDS_NUMBER.search(left) and BEGINS_NUMBER.match(right)
            if cut and not (NUMBERS_ONLY.fullmatch(left) and NUMBERS_ONLY.fullmatch(right)):
                yield start, end, ""
        elif (ENDS_ADDRESS.search(left) and BEGINS_DOMAIN.match(right)) or (
            (token := ENDS_TOKEN.search(left)) and not token[0].startswith("-") and BEGINS_TOKEN.match(right)
        ):
            yield start, end, ""
