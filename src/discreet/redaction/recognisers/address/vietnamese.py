"""Vietnamese addresses: number, lane, street, ward, district, city, with and without diacritics."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.address.grammar import (
    BREAK,
    DIGIT,
    SEPARATOR,
    UPPER,
    AddressGrammar,
    Core,
    without_ideographs,
    word_before,
    words,
)
from discreet.redaction.word_set import word_set
from discreet.redaction.words import any_of, whole
from discreet.redaction.words import words as words_of

_LETTERS = r"[^\W\d_]"
_NAME = rf"[{UPPER}]{_LETTERS}{{0,7}}+(?: (?!(?:Xã|Phường|Quận|Huyện|Thị (?:xã|trấn|Xã|Trấn)|Thành [Pp]hố|Tỉnh|TP|Tp)(?!\w))[{UPPER}]{_LETTERS}{{0,7}}+){{0,5}}"
_DATED = r"(?:3 ?/ ?2|30 ?/ ?4|2 ?/ ?9|19 ?/ ?8|(?:3|ba) tháng (?:2|hai)|(?:30|19|2|26) tháng (?:4|8|9|3)|(?:số|so) [0-9]{1,3}[A-Z]?|[A-Z]{0,2}[0-9]{1,3}[A-Z]?)"
_HOUSE = r"(?:[A-Z]{1,2}-?)?[0-9]{1,5}[A-Za-z]?(?:[/-][0-9]{1,5}[A-Za-z]?){0,6}"
_NUMBERED = (
    rf"(?<![\w.,/:-])(?P<so>{any_of('số nhà|nhà số|số|so nha|nha so|so|sn', caseless=True)} )?(?P<house>{_HOUSE})"
)
_LANE = any_of("ngõ|ngách|hẻm|kiệt|ngo|ngach|hem|kiet|khóm|khu|xóm|ấp|tổ|lô|lo", caseless=True)
_LANES = rf"(?:,? ?{_LANE} (?:số )?{_HOUSE})"
_STREET = any_of("đường|phố|đ.|duong|pho|đại lộ|dai lo|quốc lộ|tỉnh lộ|street|str.", caseless=True)
_CITIES = (
    "hà nội|ha noi|hanoi|hồ chí minh|ho chi minh|hcm|hcmc|sài gòn|sai gon|saigon|đà nẵng|da nang|hải phòng|hai phong|cần thơ|"
    "can tho|huế|nha trang|đà lạt|da lat|vũng tàu|vung tau|biên hòa|bien hoa|thủ đức|thu duc|bình dương|binh duong|đồng nai|"
    "dong nai|quảng ninh|bắc ninh|hải dương|nghệ an|thanh hóa|khánh hòa|lâm đồng|long an|tiền giang|việt nam|viet nam|vietnam"
)
_AREA = (
    r"(?:phường|phuong|p\.|quận|quan|q\.|huyện|huyen|h\.|thị xã|thi xa|tx\.?|thị trấn|thi tran|tt\.|xã|xa|thành phố|thanh pho|"
    r"tp\.?|tỉnh|tinh|khu phố|khu pho|kp\.?|tổ|ấp|thôn|thon|khu đô thị|kđt|khu dân cư|kdc|chung cư|chung cu|tòa nhà|toà nhà|tòa|"
    r"căn hộ|can ho|tầng|tang|lầu|lau|phòng|block|ward|district|dist\.|city|province|đường|phố|duong|pho)"
)


VIETNAMESE = lazy("[\u1ea0-\u1ef9ăđơưĂĐƠƯ]")
"""Letters that no other language has."""
UNIT = lazy(rf" ?{whole(words_of('code', 'unit'))}")
NAMED_AFTER = lazy(
    r"(?:(?<!\w)(?i:ở|tại|về|tới|đến|ngay|qua|nhà|chỗ|ghé|đường)|[:(]|(?<![0-9]),|^|\n) ?(?:số )?(?P<value>(?!(?:19"
    r"|20)[0-9]{2} )[0-9]{1,4}[A-Za-z]?(?:/[0-9]{1,4}[A-Z]?){0,4} (?:(?:ngõ|hẻm|kiệt|ngách) )?"
    r"(?:Nguyễn|Trần|Lê|Phạm|Bùi|Lý|Phan|Võ|Vũ|Đinh|Hoàng|Huỳnh|Trương|Tôn|Đặng|Hồ|Ngô|Dương|Đỗ|Hai Bà|Điện Biên"
    r"|Cách Mạng|Quang|Hàng|Thổ|Kim|Xuân|Láng|Cầu|Âu|An|Tô|Mai|Lương|Cao|Hùng|Thái|Nam Kỳ|Pasteur|Phùng|Giải"
    rf"|Chùa|Đội|Bạch|Lạc|Tân|Văn|Thanh|Kha|Ông) ?(?:{_NAME})?(?:, {_NAME}){{0,3}})(?!\w)"
)
"""A number and the name of a person or a place that streets are named after."""


class VietnameseAddressRecogniser(AddressGrammar):
    """Finds a house number with a lane, a street or, after the name alone, a ward, district or city."""

    WITH_STREET = lazy(rf"{_NUMBERED}(?P<lanes>{_LANES}{{0,4}}+),? {_STREET} ?(?:{_NAME}|{_DATED}(?![\w/]))")
    WITH_NAME = lazy(rf"{_NUMBERED}(?P<lanes>{_LANES}{{0,4}}+),? (?P<name>{_NAME}|3/2|30/4)(?!\w)")
    WITH_LANE = lazy(rf"{_NUMBERED}(?P<lanes>{_LANES}{{1,4}})(?!\w)")
    SMALL = lazy(
        rf"{_NUMBERED}(?P<lanes>{_LANES}{{0,4}}+),?(?: (?P<street>đường|phố|duong|pho))?(?: (?!và |là |ở |có |cho )[^\W\d_]{{1,7}}){{1,5}}?,? "
        r"(?:(?:phường|phuong|quận|quan|huyện|huyen|xã|tp)[. ]{1,2}(?:[0-9]{1,2}(?!\w)"
        r"|[^\W\d_]{1,7}(?: [^\W\d_]{1,7})?)|[pq][. ]{0,2}[0-9]{1,2}(?!\w))",
        re.IGNORECASE,
    )
    """In small letters, as people type in a hurry."""

    FLAT = lazy(
        r"(?<!\w)(?i:căn hộ|căn|can ho|chung cư|chung cu|tòa nhà|toà nhà|tòa|toà|phòng|tầng|lầu"
        rf"|p\.) ?(?:số )?(?:[A-Z]{{0,2}}-?[0-9]{{1,4}}[A-Z]?(?:[.-][A-Z]?[0-9]{{1,4}}){{0,2}}|{_NAME})"
        r"(?:,? (?:(?i:căn hộ|chung cư|tòa nhà|tòa|toà|block|tầng|lầu|khu đô thị"
        rf"|kđt) )?(?:[A-Z]{{0,2}}[0-9]{{1,4}}[A-Z]?|{_NAME}(?: [A-Z]?[0-9]{{1,3}})?)){{1,4}}+"
        rf"(?=,|{BREAK}| -|[.!?]|\Z)"
    )

    FIRM = lazy(
        rf"{SEPARATOR}(?:- )?(?:(?i:{_AREA}) ?(?:[0-9]{{1,3}}(?!\w)|[A-Z]?[0-9]{{1,4}}[A-Z]?(?!\w)|{_NAME})|(?i:p|q"
        rf"|tp|kp)\.? ?(?:[0-9]{{1,2}}(?!\w)|(?i:hcm|hn)(?!\w))"
        rf"|(?i:{_CITIES})(?!\w)(?: City)?)(?:,? [0-9]{{5,6}}(?![\w.,-]))?"
    )
    LOOSE = lazy(rf"{SEPARATOR}(?:- )?(?P<name>{_NAME})(?!\w|[ ]?:)")
    BEFORE = lazy(
        r"(?:(?i:căn hộ|can ho|chung cư|chung cu|tòa nhà|toà nhà|tòa|phòng|tầng|lầu|block|lô|p\.|ngõ|ngách"
        rf"|hẻm) (?:{_NAME}"
        rf"|[A-Z]{{0,2}}-?[0-9]{{1,4}}[A-Z]?(?:[.-][A-Z]?[0-9]{{1,4}}){{0,2}})(?: [A-Z]?[0-9]{{1,3}})?,? ){{1,4}}\Z"
    )
    LEADING = lazy("căn|can|chung|t[òo][àa]|phòng|tầng|lầu|block|lô|p\\.|ng[õá]|hẻm")
    """What all that `BEFORE` finds has somewhere."""
    INTRODUCED = lazy(
        r"(?:địa chỉ|đ/c|dia chi|(?<!\w)(?:ở|tại|đến|tới|giao|gửi|nhà|sống|sinh sống|ship|về|o|tai|den|nha)(?!\w))[^0-9.!?\n]{0,20}\Z"
    )
    NEARBY = lazy(r"[^0-9.!?\n]{0,38}+")
    """Read backwards: what stands before an address in its sentence."""

    WORDS = frozenset(
        word
        for word in re.findall(
            "[a-z]+", f"{_AREA} {_CITIES} ngo ngach hem kiet khom khu xom ap lo duong pho nha so sn hcm hn tp kp"
        )
        if len(word) > len("th")
    ) - {"city", "block", "long", "street", "province", "can", "ward", "district", "tower", "dist", "thi"} | {
        "p",
        "q",
        "hn",
        "tp",
        "kp",
    }
    """Words of such an address without marks."""
    STREETS = ("đường", "phố", "đ.", "ng", "hẻm", "kiệt", "duong", "pho", "hem", "kiet", "lộ", "lo", "tổ", "str")

    OTHERWISE = words("ngày ngay mùng lễ top lớp năm tháng thứ lúc hạng bài chương khóa tuổi xe tuyến cúp giải vòng")
    """Words after which the number is a date, a rank or the like."""

    RURAL = lazy(
        rf"(?<!\w)(?i:thôn|thon|ấp|ap|xóm|xom|tổ|to|khu phố|bản|buôn|đội|khóm) (?:[0-9]{{1,3}}[A-Z]?|{_NAME})(?=,)"
    )

    NOT_STREETS = lazy(r"Việt Nam|Viet Nam|Vietnam|Tháng|Thế Giới|Châu|Asia|Hà Nội|Sài Gòn|Đông Nam")

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses."""
        text, lowered = view.derived(without_ideographs), view.lowered
        if not DIGIT.search(text):
            return
        if VIETNAMESE.search(text):
            yield from (
                match.span("value") for match in NAMED_AFTER.finditer(text) if not UNIT.match(lowered, match.end())
            )
        if not VIETNAMESE.search(text) and self.WORDS.isdisjoint(view.derived(word_set)):
            return
        cores: list[Core] = []
        if any(hint in lowered for hint in self.STREETS):
            cores += (self.WITH_STREET, self.judge), (self.WITH_LANE, self.judge)
        cores.append((self.WITH_NAME, self.judge))
        if any(hint in lowered for hint in ("p", "q", "huy", "xã")):
            cores.append((self.SMALL, self.judge_small))
        if any(
            hint in lowered for hint in ("thôn", "thon", "ấp", "xóm", "xom", "khu phố", "bản", "buôn", "khóm", "tổ")
        ):
            cores.append((self.RURAL, self.judge_rural))
        if any(hint in lowered for hint in ("căn", "chung c", "tòa", "toà", "can ho", "phòng", "tầng", "lầu", "p.")):
            cores.append((self.FLAT, self.judge_flat))
        yield from self.each(text, *cores)

    def opening(self, text: str, start: int, floor: int) -> int:
        """Return where the address begins; a flat or building before the number ends in a comma."""
        if text[max(0, start - 2) : start] != ", ":
            return start
        flat = self.LEADING.search(text[max(floor, start - self.REACH) : start].lower())
        return super().opening(text, start, floor) if flat else start

    def judge(self, match: re.Match[str], floor: int) -> Span | None:
        """Return the span of an address with a house number."""
        opening = self.opening(match.string, match.start(), floor)
        if word_before(match.string, opening) in self.OTHERWISE:
            return None
        end, firm = self.closing(match.string, match.end())
        return (opening, end) if opening < match.start() or self.holds(match, end, firm=firm) else None

    def judge_small(self, match: re.Match[str], floor: int) -> Span | None:
        """Return the span of an address in small letters."""
        text, start = match.string, match.start()
        telling = match["so"] or match["lanes"] or match["street"] or "/" in match["house"]
        if not telling or word_before(text, start) in self.OTHERWISE:
            return None
        return self.opening(text, start, floor), self.closing(text, match.end())[0]

    def judge_rural(self, match: re.Match[str], floor: int) -> Span | None:
        """Return the span of an address without a house number: hamlet, commune, district, province."""
        end, firm = self.closing(match.string, match.end())
        return (match.start(), end) if firm and match.string.count(",", match.end(), end) > 1 else None

    def judge_flat(self, match: re.Match[str], floor: int) -> Span | None:
        """Return the span of an address that begins with a flat or a building."""
        end, firm = self.closing(match.string, match.end())
        return (match.start(), end) if firm and DIGIT.search(match[0]) else None

    def holds(self, match: re.Match[str], end: int, *, firm: bool) -> bool:
        """Tell an address from an amount, a rank or a player's number."""
        text = match.string
        if match.re == self.WITH_STREET:
            return True
        if match.re == self.WITH_LANE:
            return bool(match["so"]) or firm or self.introduced(text, match.start())
        if self.NOT_STREETS.match(match["name"]):
            return False
        if match["lanes"] or firm:
            return " " in match["name"] or bool(match["lanes"] or match["so"] or "," in text[match.end() : end])
        slashed = "/" in match["house"]
        return (
            (slashed or bool(match["so"]))
            and " " in match["name"]
            and (end > match.end() or self.introduced(text, match.start()))
        )

    def introduced(self, text: str, start: int) -> bool:
        """Tell whether words that introduce an address stand before `start`."""
        nearby = self.NEARBY.match(text[max(0, start - 40) : start][::-1])
        return nearby is not None and self.INTRODUCED.search(nearby[0][::-1].lower()) is not None
