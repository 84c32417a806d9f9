"""Japanese and Korean addresses."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.address.grammar import DIGIT, AddressGrammar

_PREFECTURES = (
    "東京都|北海道|京都府|大阪府|(?:青森|岩手|宮城|秋田|山形|福島|茨城|栃木|群馬|埼玉|千葉|神奈川|新潟|富山|石川|福井|山梨|長野|岐阜|"
    "静岡|愛知|三重|滋賀|兵庫|奈良|和歌山|鳥取|島根|岡山|広島|山口|徳島|香川|愛媛|高知|福岡|佐賀|長崎|熊本|大分|宮崎|鹿児島|沖縄)県"
)
_KANA = "[\u3400-\u9fff\u3041-\u3096\u30a1-\u30fa\u30fc\u3005]"
_DIGITS = "[0-9一二三四五六七八九十]{1,4}"
_BLOCK = (
    rf"(?:{_DIGITS}丁目[ ]?)?(?:[0-9]{{1,4}}(?:番地?の?|-)[0-9]{{1,4}}(?:号|番地?|-[0-9]{{1,4}})?(?:-[0-9]{{1,4}})?|{_DIGITS}番地?(?:[0-9]{{1,4}}号)?)"
    rf"|{_DIGITS}丁目[0-9]{{1,4}}(?:番|-)?(?:[0-9]{{1,4}})?号?"
)
_CITIES = "서울|부산|대구|인천|광주|대전|울산|세종|경기|강원|충북|충남|충청북도|충청남도|전북|전남|전라북도|전라남도|경북|경남|경상북도|경상남도|제주"


class EastAsianAddressRecogniser(AddressGrammar):
    """Finds Japanese blocks (丁目, 番地, 4-10-16) and Korean roads or lots, both after the name of a city or ward."""

    LEAST_DIGITS = 0  # numbers may be in Han characters

    JAPANESE = lazy(
        rf"(?:〒?[0-9]{{3}}-[0-9]{{4}}[ \n,]{{0,2}})?(?:{_PREFECTURES})[ ]?(?:(?!から|まで|です|には)(?:{_KANA}|[ ])){{1,24}}?[ ]?(?:{_BLOCK})"
    )
    JAPANESE_CITY = lazy(
        r"(?:〒?[0-9]{3}-[0-9]{4}[ \n]{0,2})?(?<![\u3400-\u9fff])[\u3400-\u9fff]{1,4}[市区][\u3400-\u9fff\u3041-\u3096\u30a1-\u30fa\u30fc\u3005]{1,10}[ ]?"
        rf"(?:[0-9]{{1,3}}-[0-9]{{1,3}}-[0-9]{{1,4}}|{_DIGITS}丁目[0-9]{{1,4}}(?:番|-)[0-9]{{1,4}}号?)"
    )
    BLOCK_NUMBER = lazy("[0-9]-[0-9]|丁目|番|(?<=[0-9])号")
    """In all of them."""
    JAPANESE_BLOCK = lazy(
        r"(?:[\u3400-\u9fff]{2,4}[市区町村])?[\u3400-\u9fff\u30a1-\u30fa\u30fc]{1,6}(?:町|丁目|村|台|ヶ丘|が丘|通|本町|条"
        r"|番町)[ ]?[0-9]{1,2}-[0-9]{1,3}(?:-[0-9]{1,4}){0,2}(?![0-9-])"
    )
    JAPANESE_HOUSE = lazy(
        r"(?<![\u3400-\u9fff])(?!平成|令和|昭和|大正|電話|品番|型番)[\u3400-\u9fffヶケが々]{2,5}(?:[0-9]{1,2}丁目[0-9]{1,3}-[0-9]{1,3}"
        r"|[0-9]{1,2}-[0-9]{1,3}-[0-9]{1,3})(?![0-9-])"
    )
    """A quarter with three numbers."""
    JAPANESE_TAIL = lazy(
        r"(?:-[0-9]{1,4})?(?:[ ](?:[\u3400-\u9fff\u30a1-\u30fa\u30fc\u3041-\u3096A-Za-z]{2,20}[ ]?){1,2}(?:[0-9]{1,4}(?:号室"
        r"|号|階|F)?)|[ ]?[0-9]{1,4}(?:号室|階))?(?![0-9-])"
    )

    KOREAN = lazy(
        rf"(?:\(?[0-9]{{5}}\)? )?(?:대한민국 )?(?<![가-힣])(?:(?:{_CITIES})(?:특별시|광역시|특별자치시|특별자치도|시|도)?|[가-힣]{{1,4}}(?:시|구|군))[ ,]"
        r"(?:[가-힣]{1,6}(?:시|군|구)[ ,]{1,2}){0,3}(?:[가-힣0-9]{1,8}(?:읍|면|동|가|리)[ ,]{1,2}){0,2}"
        r"(?:[가-힣0-9·]{1,12}(?:대로|로|길|거리|가)(?:[0-9]{1,4}번?길)?(?: ?[0-9]{1,4}(?:번|번가"
        r"|가)?길)? ?(?:지하 ?)?[0-9]{1,5}(?:-[0-9]{1,4})?|(?<=[동리가] )산?[0-9]{1,4}(?:-[0-9]{1,4})(?:번지)?"
        r"|(?<=[동리가] )[0-9]{1,4}번지)"
        r"(?![0-9]|시|분|명|개|년|월|일|원|번 |번째|km)"
    )
    KOREAN_ROAD = lazy(
        r"(?<![가-힣])[가-힣]{1,8}(?:대로|로) ?[0-9]{1,4}(?:번|가)?길 ?[0-9]{1,4}(?:-[0-9]{1,4})?(?![0-9]|시|분|명|개|년|월|일|원)"
    )
    """A side street with the number of a house, wherever it is."""
    KOREAN_TAIL = lazy(
        r"(?:[, ]{0,2}(?:[가-힣A-Za-z]{2,12}(?:아파트|빌딩|타워|오피스텔|빌라|하우스|맨션)|\([가-힣0-9, ]{2,24}\)|(?:지하 ?|지층 ?)?[0-9A-Z]{1,5}(?:동|호|층)(?![가-힣]{2}))){1,5}"
    )

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses."""
        text = view.text
        if text.isascii() or not DIGIT.search(text):
            return
        if self.BLOCK_NUMBER.search(text):
            for pattern in (self.JAPANESE, self.JAPANESE_CITY, self.JAPANESE_BLOCK, self.JAPANESE_HOUSE):
                for match in pattern.finditer(text):
                    tail = self.JAPANESE_TAIL.match(text, match.end())
                    yield match.start(), tail.end() if tail else match.end()
        if "로" in text or "길" in text or "동" in text or "리" in text:
            for pattern in (self.KOREAN, self.KOREAN_ROAD):
                for match in pattern.finditer(text):
                    tail = self.KOREAN_TAIL.match(text, match.end())
                    yield match.start(), tail.end() if tail else match.end()
