"""What stands before a value: words that say what it is, and words that say it is something else."""

from __future__ import annotations

import re
from typing import Final

LEAD_CHARS = 48
"""How far before a value words count."""

MOST_GAP = 28
"""Characters between a word and its value, as in `SSN is`, `passport no. `, `паспорт / СНИЛС: {"to": "`."""

LAST_DIGIT = re.compile(r".*[0-9\0]", re.DOTALL)

LETTER = re.compile(r"[^\W\d_]|[#№]")

SENTENCE_END = re.compile(r"(?<!no)(?<!nr)(?<!num)(?<!№)\.|[!?。！？,;]")

ELSEWHERE = re.compile(
    r"(?<![a-z])(?:fees?|costs?|prices?|paid|pay|photos?|office|at|in|since|until|till|within|after|before"
    r"|for|phone|call|tel|of|over|about|than|with"
    r"|phí|giá|tốn|lúc|ngày|năm|gọi|điện thoại|cho|hơn|có)(?![a-z])"
    r"|(?<![а-я])(?:на|за|у|для|более|около)(?![а-я])|получил|купил|плати|заменил"
    r"|стои|цен[аы]|руб|телефон|звон|費|价|價|電話|电话|手機|手机|達|持有|支出|超過|超过|發出|发了|人數|人数"
)
"""Words in the gap after which a number is a price, a time or a telephone number."""


def spaced(text: str) -> str:
    """Return the text in small letters, with spaces for `_` and `-`, as phrases are written; for `View.derived`."""
    return text.lower().replace("_", " ").replace("-", " ")


CORRECTED = re.compile(
    r"(?:,? (?:is|was) )?[, ]*(?:wrong(?:ly)?|incorrect(?:ly)?),? (?:(?:it|that|this|which) )?(?:should (?:be"
    r"|read|have been)|is(?: actually)?|must be)[: ]*\Z"
    r"|[,.;]? (?:the )?(?:correct|right|actual) (?:one|number)(?: is)?[: ]*\Z"
    r"|,? (?:не(?:верн|правильн)\w{1,3},? )?(?:долж(?:ен|н[оаы]) быть|(?:верн|правильн)(?:ый|ое|ая)(?: номер)?"
    r"|(?:исправь|поменяй|замени)(?:те)? на)[: ]*\Z"
    r"|[写寫填输輸]?[错錯]了?[，, ]{1,2}(?:(?:應該|应该|其实|其實)?是|应为|應為)?[: ]?\Z"
    r"|(?P<kept>(?<![^\W\d_])(?:sửa|đổi|cập nhật|chỉnh|nhầm|sai)(?![^\W\d_])[^.!?\n]{1,40}) (?:thành|lại là"
    r"|phải là)[: ]*\Z|,? ?(?:應該|应该|应|應|改成|改为|改為|更正为|更正為|修改为|修改為)是?[: ]?\Z",
    re.IGNORECASE,
)
"""A correction between a word and its value, as in `I typed the passport number wrong, it should be `."""

CORRECTION_ENDS = (
    "be ", "read ", "been ", "is ", "actually ", "one ", "number ", "thành ", "là ", "быть ", "ый ", "ое ", "ая ", "номер ", "на ",
    "成", "是", "为", "為", "了", ", ", "，", ":",
)  # fmt: skip

LINK = re.compile(
    r"[\"'`)\]}>»”」]{0,2}(?:"
    r",? ?(?:(?:is|was|are)(?: also| still)?|=) (?:my|our|his|her|their|your|the|mom's|mum's|dad's) "
    r"|,? (?:that's|that is|it's|this is) (?:my|our|his|her|their|your|the) "
    r"| ?\((?=my |his |her |мой |моя |我的|số |cmnd|cccd|ssn|снилс|инн|паспорт|passport)"
    r"| (?=(?:мой|моя|моё|мое) )| ?(?=我的)"
    r"|,? (?:chính )?là (?:cái )?"
    r"| ?-{1,2} (?:это )?(?:(?:мой|моя|моё|мое|наш|его|её|ее) )?|,? (?:это )(?:(?:мой|моя|моё|мое|наш|его|её|ее) )?"
    r"|,? ?(?:就?是|為|为)(?=[^\W\da-zA-Z_])(?:[我你您他她](?:[們们])?)?(?:老婆|老公|妈妈?|媽媽?|爸爸?|公司)?的?"
    r"|,? ?(?:は|が)(?:私|僕|わたし)?の?"
    r"| (?=(?:паспорт|загран|снилс|инн|cccd|cmnd)[\w]{0,8}(?:[.,!?\n]|\Z))"
    r")",
    re.IGNORECASE,
)
"""What stands between a value and a word behind it."""

CLAUSE = re.compile(r"(?:[^\W\d_]|[ '/#№-]){2,48}+")
NEXT_PHRASE = re.compile(
    r"(?<![^\W\d_])(?:for|at|in|with|and|but|so|please|not|cho|từ|và|không|для|и|а|но|не)(?![^\W\d_])"
)
"""What ends the words that are about the value."""

MOST_WORDS = re.compile(r"[^ ]{1,24} ?(?:[^ ]{1,24} ?){0,4}")


class Lead:
    """What stands right before a value. Looks for the same words once, however many recognisers ask."""

    __slots__ = ("_introduced", "lowered", "spaced", "text")

    def __init__(self, text: str) -> None:
        self.text: Final = text
        """Empty if there is no letter, so that long tables of numbers cost little."""
        self.spaced: Final = text.replace("_", " ").replace("-", " ")
        self.lowered: Final = self.spaced.lower()
        self._introduced: dict[tuple[Words, bool], bool] = {}

    def has(self, words: Words, *, strict: bool = False) -> bool:
        """Tell whether one of `words` introduces the value; if `strict`, with small words between only."""
        if not self.text:
            return False
        known = self._introduced.get((words, strict))
        if known is None:
            known = self._introduced[words, strict] = words.introduce(self, strict=strict)
        return known


NOTHING: Final = Lead("")


class Leads:
    """All leads of one text, for `View.derived`. Values with the same words beside them share one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[str, Lead] = {"": NOTHING}
        self._behind: dict[str, Lead] = {}

    def before(self, start: int) -> Lead:
        """Return what stands right before `start`, back to the last digit: words farther away speak of that one."""
        before = self._text[max(0, start - LEAD_CHARS) : start]
        found = self._known.get(before)
        if found is None:
            number = LAST_DIGIT.match(before)
            words = before[number.end() :] if number else before
            if words.endswith(CORRECTION_ENDS):
                words = CORRECTED.sub(lambda match: (match["kept"] or "") + ": ", words)
            found = self._known[before] = Lead(words) if LETTER.search(words) else NOTHING
        return found

    def behind(self, end: int) -> Lead:
        """Return the words after `end` that say what the value was: `passport number` after `is my`."""
        link = LINK.match(self._text, end)
        clause = link and CLAUSE.match(self._text, link.end())
        words = clause and MOST_WORDS.match(clause[0])
        if not words:
            return NOTHING
        found = self._behind.get(words[0])
        if found is None:
            found = self._behind[words[0]] = Lead(NEXT_PHRASE.split(words[0], maxsplit=1)[0])
        return found


AMOUNT = re.compile(
    r"\.[0-9]{1,2}(?![0-9])|,[0-9]{1,2}(?![0-9,])|[ ]?(?=[$€£¥₫₽%đuevkmdprclntрчлг元円塊块人份本件次萬万億亿])(?:[$€£¥₫₽%]"
    r"|đ(?![^\W\d_])|(?:usd|eur|vnd|km|kg|mg|kcal|mah)(?![a-z])|đồng|dollars?|pounds"
    r"|r(?:o)?ubles|people|users|voters|members|citizens|visas|lines|times|руб(?:л[а-яё]{1,3})?(?![а-яё])"
    r"|человек|людей|россиян|граждан|раз(?![а-я])|lượt|người|lần"
    r"|triệu|tỷ|元(?!旦|宵|月(?:[0-9一二三初中底份]))|円|塊|块|人|份|本(?!人)|件|次|萬|万|億|亿)",
    re.IGNORECASE,
)
"""What follows an amount. The first letters of all words save trying each."""

STRICT_GAP = re.compile(
    r"(?:[\s:=\"'`({\[<>|/#№.-]|(?<![a-z])(?:number|num|no|nr|id|card|code|is|was|của|tôi|em|anh|chị|mình|vợ|chồng|là|số|công dân"
    r"|nhân dân|lái xe)(?![a-z])|номер\w?|серия|серии|и(?![а-я])|мой|моего|моей|это|личности|гражданина|удостоверени\w|прав\w?(?![а-я])"
    r"|号码|號碼|[号號证證是為为的碼码]|档案|檔案)*+"
)
"""Separators and small words only."""

FIELD_ENDINGS = ("number", "num", "no", "nr", "id", "code", "nummer")
"""What may be glued to a whole word, as in `passportNumber`."""


NOWHERE = re.compile(r"\0")
"""For words that nothing in the gap belies: what stands before a value has no NUL."""


class Words:
    """Phrases that introduce a value. Searching for literal text costs a tenth of what a regular expression does."""

    def __init__(
        self,
        whole: str,
        parts: str = "",
        *,
        exact: str = "",
        gap: int = MOST_GAP,
        elsewhere: re.Pattern[str] = ELSEWHERE,
    ) -> None:
        """Take phrases in small letters, separated by `|`; `_` and `-` in the text read as spaces.

        `whole` phrases are whole words; `parts` may be parts of words, as inflected or unspaced text has them; `exact` ones
        are whole words in capitals, which would be ordinary words in small letters. After a phrase there may be `gap`
        characters in which `elsewhere` matches nothing.
        """
        self._whole = tuple(filter(None, whole.split("|")))
        self._parts = tuple(filter(None, parts.split("|")))
        self._exact = tuple(filter(None, exact.split("|")))
        self._all = (*self._whole, *self._parts, *map(str.lower, self._exact))
        self._gap = gap
        self._elsewhere = elsewhere

    def occur(self, lowered: str) -> bool:
        """Tell whether a phrase may stand anywhere in a text of small letters, with spaces for `_` and `-`."""
        for phrase in self._all:  # noqa: SIM110  # a generator takes twice as long
            if phrase in lowered:
                return True
        return False

    def introduce(self, lead: Lead, *, strict: bool = False) -> bool:
        """Tell whether a phrase in `lead` introduces what follows; if `strict`, with small words between only."""
        lowered, spaced = lead.lowered, lead.spaced
        for phrase in self._whole:
            if phrase in lowered and self._ends(lowered, phrase, whole=True, strict=strict):
                return True
        for phrase in self._parts:
            if phrase in lowered and self._ends(lowered, phrase, whole=False, strict=strict):
                return True
        return any(phrase in spaced and self._ends(spaced, phrase, whole=True, strict=strict) for phrase in self._exact)

    def _ends(self, before: str, phrase: str, *, whole: bool, strict: bool) -> bool:
        start = before.rfind(phrase)
        gap = before[start + len(phrase) :].lower()
        if whole and (
            _continues(phrase[0], before[start - 1 : start])
            or (_continues(phrase[-1], gap[:1]) and not gap.startswith(FIELD_ENDINGS))
        ):
            return False
        if strict:
            return STRICT_GAP.fullmatch(gap) is not None
        return (
            len(gap) <= self._gap and not SENTENCE_END.search(phrase.lower() + gap) and not self._elsewhere.search(gap)
        )


def _continues(letter: str, beside: str) -> bool:
    """Tell whether two neighbours can be of one word: both letters, both ASCII or neither."""
    return beside.isalpha() and beside.isascii() == letter.isascii()


OTHER_NUMBERS = Words(
    "order|orders|invoice|invoices|tracking|parcel|shipment|isbn|issn|ean|upc|gtin|sku|serial|part|parts|model|models|build|commit"
    "|line|lines|port|pid|count|limit|rfc|din|norm|norme|standard|status|rows|bytes|max|min|commande|bestellung"
    "|bestellnummer|auftrag|sendung|pedido|ordine|encomenda|bestelling|pesanan|resi|facture|rechnung|factura"
    "|fattura|fatura|faktura|factuur|vuelo|vol|volo|flug|colis|nf|iec|ticket|reference|chapter|section"
    "|paragraph"
    "|flight|booking|product|products|item|items|article|doi|arxiv|rfc|patent|version|timestamp|unix|epoch|lot|batch|po",
    "đơn hàng|mã đơn|hóa đơn|hoá đơn|vận đơn|sản phẩm|lô hàng"
    "|заказ|накладн|трек|фактур|артикул|посылк|товар|верси|рейс"
    "|zamówieni|sipariş|kargo takip|ऑर्डर|طلب رقم|رقم الطلب|注文|주문|송장|คำสั่งซื้อ|追跡"
    "|訂單|订单|單號|单号|發票|发票|物流|快遞|快递|運單|运单|邮编|郵編|郵遞區號|邮政编码|商品|型號|型号|貨號|货号|批號|批号",
    gap=16,
    elsewhere=re.compile(r"\n"),
)
"""Before numbers that are nobody's: of orders, goods, releases."""
