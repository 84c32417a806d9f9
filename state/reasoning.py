"""Take out of a model's text what it wrote while it reasoned, as models do whose server has no other place for it."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

_WORDS: Final = r"reason|thoughts?|scratchpad|analysis|reflection"
"""Names of tags that an answer may also speak of."""

_NAMES: Final = (
    r"(?:[\w-]{1,24}[:_-])?(?:(?:ant)?think(?:ing)?|thoughts?|reasoning)(?:[:_-](?:content|process|steps?|opensource))?"
    rf"|inner_monologue|{_WORDS}"
)
"""Names of tags: DeepSeek, Qwen, Seed, MiniMax, LongCat, Hunyuan, and what models are asked to write."""

_MORE: Final = r"\s[^<>\n]{0,400}"
"""Attributes."""


def _tag(name: str) -> str:
    """Return a tag as a model writes it and as HTML shows it. Each begins with a character: that makes the search fast."""
    return f"<{name}>|&lt;{name}&gt;"


_REASONING: Final = {
    "word": (_tag(rf"(?:{_WORDS})(?:{_MORE}?)?"), _tag(rf"/(?:{_WORDS})\s{{0,9}}")),
    "tag": (_tag(rf"(?:{_NAMES})(?:{_MORE}?)?"), _tag(rf"/(?:{_NAMES})\s{{0,9}}")),
    "triangle": ("◁think▷", "◁/think▷"),
    "bracket": (r"(?-i:\[THINK\])", r"(?-i:\[/THINK\])"),
    "token": (r"<\|(?:start|begin)_(?:of_)?(?:thinking|thought)\|>", r"<\|end_(?:of_)?(?:thinking|thought)\|>"),
    "think": (r"<\|think(?:ing)?\|>", r"<\|content\|>|<\|/think(?:ing)?\|>"),
    "inner": (r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),
    "unused": ("<unused94>", "<unused95>"),
    "thought": (r"<\|channel>", r"<channel\|>"),
    "channel": (
        r"<\|channel\|>\s*(?:analysis|commentary)",
        r"<\|channel\|>\s*final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>",
    ),
    "details": (rf"<details(?=\s[^<>]{{0,400}}type=\W?reasoning\b){_MORE}>", r"</details\s{0,9}>"),
}
"""What begins and what ends it: tags; Kimi; Magistral; Cohere and OpenThinker; Solar; Apertus; MedGemma; Gemma 4; the channels
of gpt-oss (https://cookbook.openai.com/articles/openai-harmony); Open WebUI."""

_PAIRED: Final = frozenset({"details"})
"""Kinds whose end says nothing if it stands alone."""

_ANSWER: Final = r"\[BEGIN FINAL RESPONSE\]"
"""What Apriel ends it with, whose template begins it in plain words."""

_CODE: Final = {
    "long_fence": (r"(?<!`)`{4,}(?=[^`])", "````"),
    "fence": (r"```(?=[^`])", "```"),
    "tildes": (r"(?<!~)~{3,}(?=[^~])", "~~~"),
    "code": (r"`(?=[^`])", r"`|\n"),
}
"""Where a tag is only spoken about, if the code has an end."""

_NOISE: Final = (
    r"<\|(?:(?:start|begin)\|>\s*assistant|(?:end|message|return|call|start_response|end_response)\|>)"
    r"|<\|(?:begin|end)_of_solution\|>|\[END FINAL RESPONSE\]"
)
"""Tokens of templates around the answer: gpt-oss, Solar, Cohere, OpenThinker, Apriel."""

_ALONE: Final = "|".join([*(closes for kind, (_, closes) in _REASONING.items() if kind not in _PAIRED), _ANSWER])
_NEXT: Final = "|".join(
    [
        *(f"(?P<{kind}>{opens})" for kind, (opens, _) in (_REASONING | _CODE).items()),
        f"(?P<end>{_ALONE})|(?P<noise>{_NOISE})",
    ]
)
_SIGNS: Final = "<&[◁"
"""What begins each mark."""
_SIGN: Final = re.compile(f"[{_SIGNS}]")
_MARK: Final = "|".join([*(opens for opens, _ in _REASONING.values()), _ALONE, _NOISE])
_ENDS: Final = {kind: closes for kind, (_, closes) in (_REASONING | _CODE).items()}
_IN_CODE: Final = {kind: f"(?P<close>{closes})|(?:{_MARK})" for kind, (_, closes) in _CODE.items()}

_PERHAPS: Final = (
    rf"<\|channel\|>[^<]{{0,40}}(?:<\|constrain\|>[^<]{{0,20}})?(?:<[|\w]{{0,12}})?\Z"
    rf"|<\|(?:start|begin)\|>\s?[a-z]{{0,9}}\Z|(?:<details|(?:<|&lt;)/?(?:{_NAMES})){_MORE}\Z|<[/|]?[\w:|-]{{0,48}}\Z"
    r"|&(?:l(?:t(?:;/?[\w:-]{0,48}(?:&g?t?)?)?)?)?\Z|◁[^▷]{0,8}\Z|\[(?:/?[A-Z]{0,5}|(?:BEGIN|END)[A-Z ]{0,16})\Z|(?:`{1,9}|~{1,9})\Z"
)
"""What at the end of a piece may become one of these with the next."""

_LONGEST: Final = 120
"""Characters of the longest end."""

PASSES: Final = 8
"""One leaves out what is marked, the next what only came to light by it. Of a text that needs more nothing is left."""

_SAID: Final = re.compile(r"\w")


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    """Compile at first use: all of them take 30 ms."""
    return re.compile(expression, re.IGNORECASE)


def without_reasoning(text: str) -> str:
    """Return what of a model's `text` was for the user; empty if it only reasoned.

    What has no end goes to the end of the text, and what has an end alone began with the text: templates of prompts write
    the opening tag for the model. Tags in code (backticks) are left, and so are those without an end that are words
    (`<analysis>`) in the middle of a line. A text without any is returned as it is.

    Example:
        >>> without_reasoning("<think>They like tea.</think>Green tea, then.")
        'Green tea, then.'
    """
    if not any(map(text.__contains__, _SIGNS)):
        return text  # most of a history, which every turn asks about: the expressions take four times as long
    for _ in range(PASSES + 1):
        if not any(_compiled(_MARK).match(text, sign.start()) for sign in _SIGN.finditer(text)):
            return text
        stream = SpokenStream()
        spoken = stream.close(text)
        if not stream.reasoned:
            return text
        text = spoken.strip()  # what stood around a mark may make up another one
    return ""


class SpokenStream:
    """Takes a model's text in pieces of any size and returns what of it is for the user; `close` returns the rest.

    What may be reasoning is held back until that is known. It differs from `without_reasoning` in one thing: where only the
    end of the reasoning is marked, what came out before can't be taken back.

    Example:
        >>> stream = SpokenStream()
        >>> [stream.feed("<thi"), stream.feed("nk>Tea?</thin"), stream.feed("k> Green"), stream.close()]
        ['', '', 'Green', '']
    """

    def __init__(self) -> None:
        self._held = ""
        self._sought = 0
        """How far into what is held the end was sought of what it begins with."""
        self._inside: str | None = None
        """The kind of what began and has not ended."""
        self._begun = False
        """Whether something was said."""
        self._in_line = False
        """Whether something was said in this line."""
        self._endless = False
        """Whether all of the text is there, and no end of a word's tag is in what is held."""
        self.reasoned = False
        """Whether something was left out."""

    def feed(self, piece: str) -> str:
        """Take the next characters; return those that are said."""
        return self._taken(piece, last=False)

    def close(self, piece: str = "") -> str:
        """Take the last characters; return the rest that is said."""
        return self._taken(piece, last=True)

    def _taken(self, piece: str, *, last: bool) -> str:
        self._held += piece
        said = ""
        while (found := self._pattern().search(self._held)) is not None:
            if found.lastgroup == "end":
                self._leave_out(found.end())
                said, self._begun = "", False
            elif self._inside in _REASONING:
                self._leave_out(found.end())
                self._inside = None
            else:
                said += self._say(found.start())
                known = self._at_mark(found.lastgroup, len(found[0]), last=last)
                if known is None:
                    return said
                said += known
        return said + self._settled(last=last)

    def _pattern(self) -> re.Pattern[str]:
        if self._inside is None:
            return _compiled(_NEXT)
        return _compiled(_IN_CODE.get(self._inside) or _ENDS[self._inside])

    def _at_mark(self, kind: str | None, length: int, *, last: bool) -> str | None:
        """Return what is said of what is held up to its next mark or further, which begins it; None if that is not known yet."""
        if self._inside is not None:
            return self._in_code(kind, length, last=last)
        if kind in _CODE:
            self._inside = kind
            return self._say(length)
        if kind == "word":
            if not self._in_line:
                kind = "tag"
            elif self._endless or self._end(_compiled(_ENDS[kind]), length) is None:
                self._endless = last
                return self._say(length) if last else None
        self._leave_out(length)
        self._inside = kind if kind in _REASONING else None
        return ""

    def _in_code(self, kind: str | None, length: int, *, last: bool) -> str | None:
        """Return as `_at_mark` does what is said in code: a mark too, unless the code has no end."""
        if kind == "close":
            self._inside = None
            return self._say(length)
        end = self._end(_compiled(_ENDS[str(self._inside)]), 1)
        if end is None and not last:
            return None
        self._inside = None
        return self._say(end.end()) if end is not None and end[0] != "\n" else ""

    def _end(self, pattern: re.Pattern[str], start: int) -> re.Match[str] | None:
        """Return where what is held matches first behind `start`."""
        found = pattern.search(self._held, max(start, self._sought))
        if found is None:
            self._sought = max(0, len(self._held) - _LONGEST)
        return found

    def _settled(self, *, last: bool) -> str:
        """Return what is held, but for what may be the beginning of a mark."""
        if self._inside in _REASONING:
            self._held = "" if last else self._held[-_LONGEST:]
            return ""
        perhaps = None if last else _compiled(_PERHAPS).search(self._held)
        return self._say(len(self._held) if perhaps is None else perhaps.start())

    def _leave_out(self, length: int) -> None:
        self._held = self._held[length:]
        self._sought = 0
        self._in_line = False
        self.reasoned = True

    def _say(self, length: int) -> str:
        """Return the first of what is held; without the white space that stood between the reasoning and the answer."""
        text, self._held = self._held[:length], self._held[length:]
        self._sought = 0
        if self.reasoned and not self._begun:
            text = text.lstrip()
        self._begun = self._begun or bool(text.strip())
        line = text.rfind("\n") + 1
        self._in_line = _SAID.search(text, line) is not None or (self._in_line and not line)
        return text
