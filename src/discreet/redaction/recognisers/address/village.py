"""Addresses of villages without streets: the village, its commune, its district, its province."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.address.grammar import UPPER

_NAME = rf"[{UPPER}0-9][\w'’-]{{0,20}}(?: [{UPPER}0-9][\w'’-]{{0,20}}){{0,3}}"
_HAN = r"(?:(?![在是到住去从從寄给給])[\u3400-\u9fff])"
_HINDI = r"[\u0900-\u097f]{2,20}(?: [\u0900-\u097f]{2,20})?"
CHAINS = (
    (
        ("thôn ", "xóm ", "ấp ", "bản ", "buôn ", "tổ dân phố "),
        lazy(
            rf"(?<!\w)(?i:thôn|xóm|ấp|bản|buôn|tổ dân phố) {_NAME}, ?(?i:xã|phường|thị trấn) {_NAME}"
            rf"(?:, ?(?i:huyện|quận|thị xã|thành phố|tp\.?|tỉnh) {_NAME}){{1,3}}"
        ),
    ),
    (
        ("村",),
        lazy(
            rf"(?:{_HAN}{{2,8}}?(?:省|自治区))?{_HAN}{{2,7}}?[市州盟]{_HAN}{{1,6}}?[区县縣區旗市]{_HAN}{{1,6}}?[镇乡鎮鄉]{_HAN}{{1,6}}?村"
            rf"(?:(?:{_HAN}|[0-9]){{1,6}}?[组組队社屯])?"
        ),
    ),
    (
        ("ग्राम ", "गाँव ", "गांव "),
        lazy(
            rf"(?:ग्राम|गाँव|गांव) {_HINDI},? ?(?:(?:पोस्ट|पोस्ट ऑफिस|थाना|तहसील|ब्लॉक) {_HINDI},? ?){{0,3}}(?:जिला|ज़िला) {_HINDI}"
            rf"(?:,? (?:उत्तर प्रदेश|मध्य प्रदेश|बिहार|राजस्थान|झारखंड|हरियाणा|पंजाब|गुजरात|महाराष्ट्र|छत्तीसगढ़|उत्तराखंड))?"
        ),
    ),
    (
        ("дер", "д. ", "сел", "с. ", "пос", "хутор", "станица"),
        lazy(
            rf"(?<!\w)(?i:дер\.|деревн[яеи]|д\.|сел[оае]|с\.|пос\.|пос[её]л(?:ок|ке)|хутор|станица) ?{_NAME}, ?"
            rf"(?:{_NAME} (?:район|р-н)|(?:р-н|район) {_NAME}), ?{_NAME} (?:область|обл\.?|край)"
        ),
    ),
    (
        ("dusun ", "desa "),
        lazy(
            rf"(?<!\w)(?i:dusun|kampung|desa) {_NAME}, ?(?:(?i:desa|kel\.?|kelurahan) {_NAME}, ?)?(?i:kec\.?|kecamatan) {_NAME}"
            rf"(?:, ?(?i:kab\.?|kabupaten|kota|provinsi) {_NAME}){{0,2}}"
        ),
    ),
)
"""What a text with one holds, and the village with all that it lies in. The last one is of plain letters."""


class VillageAddressRecogniser:
    """Finds addresses of Vietnamese, Chinese, Indian, Russian and Indonesian villages, which have no numbers."""

    type = "ADDRESS"
    LEAST_DIGITS = 0

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all such addresses."""
        for hints, chain in CHAINS[-1:] if view.text.isascii() else CHAINS:
            if any(hint in view.lowered for hint in hints):
                yield from (match.span() for match in chain.finditer(view.text))
