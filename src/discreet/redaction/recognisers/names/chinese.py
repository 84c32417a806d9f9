"""Chinese names: a surname and one or two characters, where somebody is introduced, addressed or named in a form."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.names.introduced import Introduced
from discreet.redaction.recognisers.names.known import words
from discreet.redaction.words import any_of

HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_SURNAME = rf"(?:{'|'.join(words('zh', 'compound'))}|[{''.join(words('zh', 'families'))}])"
_NEVER = "".join(words("zh", "never_given"))
_KINDS = "".join(words("zh", "kinds"))
_GIVEN = rf"[{HAN}](?<![{_NEVER}])"
_NAME = rf"{_SURNAME}{_GIVEN}(?:{_GIVEN})?"
_TITLES = any_of(words("zh", "titles"))
_EDGE = rf"(?![{HAN}])"
_END = rf"(?:{_EDGE}|(?={'|'.join(words('zh', 'followed'))}))"
_FAMILY = any_of(words("zh", "relations"))
_LABELS = any_of(words("zh", "labels"))

PATTERNS = (
    re.compile(rf"(?:我叫|名叫|名字是|名字叫|名是|全名是|姓名是|我是叫|本名|真名是?|中文名[叫是]|叫做|在下) ?(?P<value>{_NAME}){_END}"),
    re.compile(rf"(?:{_LABELS})(?:姓名|名字|名称)?(?: ?[:|=] ?|是| |\t)(?P<value>{_NAME}){_END}"),
    re.compile(rf"(?:收件人|联系人|聯絡人|本人|寄给|寄給|转交给?) ?(?P<value>{_NAME}){_END}"),
    re.compile(rf"我(?:的)?(?:{_FAMILY})(?:的名字)?(?:叫|是|名叫)? ?(?P<value>{_NAME}){_END}"),
    re.compile(rf"(?:我是|这是|這是|叫我)(?:[{HAN}]{{1,6}}的)?(?P<value>{_NAME})(?<![{_KINDS}])"
               rf"(?:{_EDGE}|(?=的(?:{_FAMILY}|家长|家長|助理|秘书|秘書))|(?=就好|就行|吧))"),
    re.compile(rf"(?<![{HAN}])(?P<value>{_SURNAME}(?:{_GIVEN}){{0,2}}?)(?:{_TITLES})"),
    re.compile(rf"(?:请问|請問|找|问|寄给|寄給|感谢|謝謝|谢谢|联系|聯絡|跟|和|给|給|是|叫)"
               rf"(?P<value>{_SURNAME}(?:{_GIVEN}){{0,2}}?)(?:{_TITLES})"),
    re.compile(rf"(?:发给|發給|转给|轉給|打给|打給|联系|聯繫|通知|介绍|介紹)(?P<value>{_NAME}){_END}"),
    re.compile(rf"[给給](?P<value>{_NAME})(?=打电话|打電話|发|發|写信|寫信|留言|回电|回電)"),
    re.compile(rf"(?:我|免贵|免貴)姓 ?(?P<value>{_SURNAME}){_EDGE}"),
    re.compile(rf"(?:此致\s{{0,3}}敬[礼禮]|敬上|谨上|謹上|祝好)[!。]?\s{{1,4}}(?P<value>{_NAME})(?=\s|\Z)"),
)  # fmt: skip
NO_NAMES = re.compile(any_of(words("zh", "no_names")))
"""Words that begin like a name."""


class ChineseNameRecogniser(Introduced):
    """Finds a surname, which come from a short list, and a given name behind words that introduce people."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all names."""
        text = view.text
        if text.isascii():
            return
        for pattern in PATTERNS:
            for match in pattern.finditer(text):
                if NO_NAMES.match(match["value"]) is None:
                    yield match.span("value")
