"""Answers to security questions, which are words like any other."""

# ruff: noqa: RUF001 - the words are written in their own letters

from __future__ import annotations

import re

from discreet.redaction.recognisers.base import PatternRecogniser
from discreet.redaction.recognisers.secrecy import names_a_value


class SecurityAnswerRecogniser(PatternRecogniser):
    """Finds the rest of the clause after "my security answer is"."""

    type = "SECRET"
    HINTS = ("answer", "trả lời", "ответ", "答案", "maiden", "девичья", "кодов")

    CODE_WORD = re.compile(
        r"(?<!\w)кодов(?:ое|ым) слово(?:м)?(?: (?:для|по|от) \w{2,12})?(?P<told> ?[:=-]| (?:это|будет))? [\"«]?(?P<value>[\w-]{3,30})[\"»]?(?=[.,;!]?(?:\s{0,3}\Z|\n))",
        re.IGNORECASE,
    )

    NAME = re.compile(
        r"(?:(?:security|secret)(?: question)?(?:'s)? answer|answer (?:to|for|of) (?:my |the |your |our )?(?:security|secret) question|(?:security|secret) question[^\r\n\0]{3,100}answer"
        r"|câu trả lời (?:bảo mật|bí mật)|câu hỏi (?:bảo mật|bí mật)[^\r\n\0]{3,100}trả lời|ответ на (?:секретн|контрольн)\w{2,3} вопрос|секретн\w{2,3} ответ|секретн\w{2,3} вопрос[^\r\n\0]{3,100}ответ"
        r"|(?:密保|安全|密碼|密码)(?:問題|问题)?的?答案|(?:安全|密保)(?:問題|问题)[^\r\n\0]{2,60}答案|mother's maiden name|девичья фамилия (?:моей )?(?:матери|мамы))",
        re.IGNORECASE,
    )

    PATTERNS = (
        re.compile(
            rf"{NAME.pattern}"
            r"(?: của (?:tôi|mình|em|anh))?(?: ?(?:is|was|là|это|-|:|=|是|為|为)){1,2}[ \"'“«「]{0,3}(?P<value>(?:[^\s,.;:?!\"'”»」。，]|[!.?](?=\w)){2,30}(?: [^\s,.;:?!\"'”»」。，]{1,30}){0,3})(?=[\s\"'”»」]{0,3}(?:[.,;!。，]|\Z|\n))",
            re.IGNORECASE,
        ),
        CODE_WORD,
    )

    VERB = re.compile(r"\w{0,30}(?:л|ла|ло|ли|ть|ет|ит|ят|ют|но|на|ое|ым|ный|ся|сь|шь|жу|ю)", re.IGNORECASE)
    """How words that say something about a word end."""

    def validate(self, match: re.Match[str]) -> bool:
        """Reject words about an answer."""
        if "told" in match.re.groupindex and not match["told"] and self.VERB.fullmatch(match["value"]):
            return False
        return names_a_value(match["value"])
