"""Chinese addresses of Taiwan, Hong Kong and the mainland, in traditional and simplified characters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.address.grammar import AddressGrammar, words
from discreet.redaction.words import any_of

_NUMBER = "(?:[0-9]{1,5}|[一二三四五六七八九十百零〇○]{1,6})[A-Za-z甲乙丙]?"
_NAME = (
    "(?:(?![我你您他她它在到是於于從从住寄送去往址的了給给請请把被將将這这那為为叫說说就也跟條条知])[\u3400-\u9fff])"
)
"""A character of a place's name: not one of those that join it to a sentence."""

_GAP = "[ ,]{0,2}"
_AREA = (
    rf"(?>{_NAME}{{1,7}}?(?:特別行政區|特别行政区|自治區|自治区|自治州|新區|新区|開發區|开发区|高新区|街道|省|市|縣|县|區|区|鄉|乡|鎮|镇|村|里|州|旗){_GAP}"
    rf"|{_NUMBER}[鄰邻]{_GAP})"
)
_ROAD = rf"(?P<road>(?:{_NAME}){{1,8}}?(?P<kind>大道|大街|胡同|公路|路|街|道|巷|弄|里|村|坊|圍|围)){_GAP}(?:[東西南北东中]?{_NUMBER}段)?{_GAP}(?:{_NUMBER}巷)?(?:{_NUMBER}弄)?(?:{_NUMBER}衖)?"
_COMPOUNDS = tuple(
    words(
        "小區 小区 花園 花园 社區 社区 公寓 大廈 大厦 大樓 大楼 家園 家园 苑 城 園 园 庭 府 廣場 广场 中心 新村 宿舍 公館 公馆 國際 国际 邨 閣 阁"
    )
)
_COMPOUND = rf"(?:{_NAME}){{1,9}}?(?:{any_of('|'.join(sorted(_COMPOUNDS)))})"
_COUNTRY = r"(?:(?:中華民國|中华人民共和国|中華人民共和國|中国|中國|台灣|臺灣|台湾|香港|澳門|澳门)(?!大道|[一-鿿]?路)[ ,]{0,2})?"


class ChineseAddressRecogniser(AddressGrammar):
    """Finds a house number (號, 号) or a building and looks back for its road or compound, city and postcode."""

    LEAST_DIGITS = 0  # numbers may be in Han characters

    HOUSE = lazy(
        rf"(?:[0-9]{{1,5}}|(?<![一二三四五六七八九十百零〇○])[一二三四五六七八九十百零〇○]{{1,6}}"
        rf"|(?<=段)[一二三四五六七八九十百零〇○]{{1,6}})[甲乙丙A-Z]?(?:[-之]{_NUMBER})?(?:號|号)(?!線|线|出口|公|車|车|月|選|球|高速|國道"
        rf"|国道)(?:之{_NUMBER})?"
    )
    BUILDING = lazy(
        rf"(?:[0-9]{{1,4}}|[A-Z]|[一二三四五六七八九十]{{1,3}})(?:栋|幢|棟|座|号楼|號樓|期){_GAP}(?:{_NUMBER}(?:单元|單元|門"
        rf"|门))?{_GAP}(?:{_NUMBER}(?:樓|楼|层|層|F))?{_GAP}(?:[A-Z]?{_NUMBER}(?:室|房|户|戶|号|號))?"
    )

    BLOCK = lazy(r"[A-Za-z]座(?:[ ,]?[0-9]{6}(?![0-9]))?")
    BEFORE = lazy(rf"(?:[0-9]{{3,6}}[ ,]{{0,2}})?{_COUNTRY}(?P<area>{_AREA}{{0,5}}){_ROAD}{_GAP}\Z")
    BEFORE_BUILDING = lazy(
        rf"(?:[0-9]{{3,6}}[ ,]{{0,2}})?{_COUNTRY}(?P<area>{_AREA}{{0,4}})(?>{_ROAD}(?:{_NUMBER}(?:號|号))?)?{_GAP}{_COMPOUND}{_GAP}\Z"
    )
    COMPOUNDS = _COMPOUNDS
    ROADS = ("道", "街", "胡同", "公路", "路", "巷", "弄", "里", "村", "坊", "圍", "围", "段", "衖")
    """What stands right before a number of a building or a house, a space or comma apart."""
    ROAD_OF_HONG_KONG = lazy(r"[^\W\d_]{2}(?<![我你他她都不也])[^知頻频隧渠味通赤管跑車车軌轨報报行難难街頁页]道\Z")
    """皇后大道中, 牛頭角道: but not 知道, 頻道."""
    REACH = 60
    AMBIGUOUS = ("里", "村", "道", "坊", "圍", "围")
    """Ends of other words as well, so that a city or district has to stand before them."""

    FIRM = lazy(
        rf"{_GAP}(?:(?:地下|B)?{_NUMBER}(?:樓|楼|层|層|F|f|室|房|戶|户|座|栋|幢|棟|号楼|號樓|单元|單元|号|號|門|门)(?:[-之]{_NUMBER})?(?![A-Za-z])"
        rf"|(?:{_NAME}){{2,10}}(?:大廈|大厦|大樓|大楼|廣場|广场|花園|花园|小區|小区|公寓|中心|家园|苑){_GAP}(?=[A-Z0-9一二三四五六七八九十,.\n]|\Z)"
        rf"|(?:{_NAME}){{1,6}}?[A-Z]?[0-9]{{2,4}}(?:室|號房|号房)"
        r"|之[0-9一二三四五六七八九十]{1,3}|-[0-9]{1,3}(?![0-9])|[A-Z]?[0-9]{3,4}(?![\w.,/:-])|[A-D]座|\([^()\n]{2,20}\))"
    )

    ESTATE = lazy(
        rf"(?:(?!喺){_NAME}){{2,8}}?[邨苑](?:{_NAME}){{1,6}}?[樓楼閣阁座軒轩](?:{_NUMBER}[樓楼])?[0-9]{{1,4}}(?:室|號|号)"
    )
    """Of Hong Kong's public housing."""
    ROMANISED = lazy(
        r"(?<!\w)(?:[0-9]{1,3}F\.?(?:-[0-9]{1,2})?,? )?No\.? ?[0-9]{1,5}(?:-[0-9]{1,3})?, ?(?:(?:Aly\.?|Alley|Ln\.?"
        r"|Lane|Sec\.?|Section) ?[0-9]{1,4}, ?){0,3}"
        r"(?:[A-Z][\w'.-]{1,20} ){1,4}(?:Rd|Road|St|Street|Blvd|Ave|Avenue|Boulevard)\.?(?:,? ?(?:Sec\.?"
        r"|Section) ?[0-9]{1,2})?(?:, ?(?:[A-Z][\w'.-]{1,20} ){0,2}"
        r"(?:Dist\.?|District|City|County|Township|[A-Z][\w'-]{2,20})){0,4}(?:,? ?[0-9]{3,6}(?![\w-]))?(?:, ?(?:Taiwan|China)(?: \(R\.O\.C\.\))?)?"
    )

    ROMAN_NUMBER = lazy(r"no\.? ?[0-9]")

    HINTS = ("號", "号", "栋", "幢", "棟", "座", "期")

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses."""
        text, lowered = view.text, view.lowered
        if self.ROMAN_NUMBER.search(lowered):
            yield from (match.span() for match in self.ROMANISED.finditer(text))
        if text.isascii():
            return
        yield from self.estates(text)
        if not any(hint in lowered for hint in self.HINTS):
            return
        done = 0
        for match in self.HOUSE.finditer(text):
            if match.start() < done:
                continue
            start = self.road_start(text, match.start(), floor=done)
            done = match.end()
            if start is not None:
                done = self.closing(text, done)[0]
                yield start, done
        if any(hint in lowered for hint in ("栋", "幢", "棟", "座", "期", "楼", "樓")):
            done = 0
            for match in self.BUILDING.finditer(text):
                if match.start() >= done:
                    found = self.judge_building(match, done)
                    done = found[1] if found else match.end()
                    yield from (found,) if found else ()
        yield from self.blocks(text)

    def estates(self, text: str) -> Iterator[Span]:
        """Return the spans of flats of public housing."""
        if "邨" in text or "苑" in text:
            yield from (match.span() for match in self.ESTATE.finditer(text))

    def blocks(self, text: str) -> Iterator[Span]:
        """Return the spans of addresses that end in a block with a letter after the name of a road."""
        done = 0
        for match in self.BLOCK.finditer(text) if "座" in text else ():
            start = self.road_start(text, match.start(), floor=done, within_area=True)
            done = match.end()
            if start is not None:
                yield start, done

    def judge_building(self, match: re.Match[str], floor: int) -> Span | None:
        """Return the span of an address with a building's number after the name of a compound."""
        text = match.string
        window = text[max(floor, match.start() - self.REACH) : match.start()]
        before = self.BEFORE_BUILDING.search(window) if window.rstrip(" ,").endswith(self.COMPOUNDS) else None
        if before is None or not (before["area"] or len(match[0]) > 5):  # more than a building's number
            return None
        return match.start() - len(window) + before.start(), self.closing(text, match.end())[0]

    def road_start(self, text: str, end: int, *, floor: int, within_area: bool = False) -> int | None:
        """Return where the address begins whose road ends at `end`, not before `floor`; None if there is no road."""
        window = text[max(floor, end - self.REACH) : end]
        before = self.BEFORE.search(window) if window.rstrip(" ,").endswith(self.ROADS) else None
        if before is None:
            return None
        short = len(before["road"]) < 3  # one character and the kind of road
        ambiguous = before["kind"] in self.AMBIGUOUS and not self.ROAD_OF_HONG_KONG.search(before["road"])
        if not before["area"] and (within_area or short or ambiguous):
            return None
        return end - len(window) + before.start()
