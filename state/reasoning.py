"""Take out of a model's text what it wrote while it reasoned, as models do whose server has no other place for it."""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = r"(?:seed:|ant)?think(?:ing)?|reason(?:ing)?|thoughts?|scratchpad|analysis|reflection|inner_monologue"
_REASONING: Final = {
    "angle": (rf"<(?:{_NAMES})(?:\s[^<>]*)?>", rf"</(?:{_NAMES})\s*>"),
    "triangle": ("◁think▷", "◁/think▷"),
    "bracket": (r"\[THINK\]", r"\[/THINK\]"),
    "token": (r"<\|(?:start_thinking|begin_of_thought)\|>", r"<\|(?:end_thinking|end_of_thought)\|>"),
    "channel": (
        r"<\|channel\|>\s*(?:analysis|commentary)",
        r"<\|channel\|>\s*final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>",
    ),
}
"""What begins and what ends it: DeepSeek, Qwen, Seed and models that are asked to; Kimi; Magistral; Cohere and OpenThinker;
the channels of gpt-oss (https://cookbook.openai.com/articles/openai-harmony)."""

_CODE: Final = {"fence": ("```", "```"), "code": (r"`(?=[^`])", r"`|\n")}
"""Where a tag is only spoken about."""

_NOISE: Final = r"<\|(?:start\|>\s*assistant|(?:end|message|return|call)\|>)"
"""Tokens of gpt-oss between its channels."""

_NEXT: Final = re.compile(
    "|".join(f"(?P<{kind}>{opens})" for kind, (opens, _) in (_REASONING | _CODE).items())
    + f"|(?P<end>{'|'.join(closes for _, closes in _REASONING.values())})|(?P<noise>{_NOISE})",
    re.IGNORECASE,
)
_MARK: Final = re.compile(
    "|".join(mark for marks in _REASONING.values() for mark in marks) + f"|{_NOISE}", re.IGNORECASE
)
_ENDS: Final = {kind: re.compile(closes, re.IGNORECASE) for kind, (_, closes) in (_REASONING | _CODE).items()}

_PERHAPS: Final = re.compile(
    rf"<\|channel\|>[^<]{{0,40}}(?:<\|constrain\|>[^<]{{0,20}})?(?:<[|\w]{{0,12}})?\Z"
    rf"|<\|start\|>\s?[a-z]{{0,9}}\Z|</?(?:{_NAMES})\s[^<>]{{0,80}}\Z|<[/|]?[\w:|]{{0,24}}\Z"
    r"|◁[^▷]{0,8}\Z|\[/?[A-Z]{0,5}\Z|`{1,2}\Z",
    re.IGNORECASE,
)
"""What at the end of a piece may become one of these with the next."""

_LONGEST: Final = 120
"""Characters of the longest of them."""


def without_reasoning(text: str) -> str:
    """Return what of a model's `text` was for the user; empty if it only reasoned.

    What has no end goes to the end of the text, and what has an end alone began with the text: templates of prompts write
    the opening tag for the model. Tags in code (backticks) are left. A text without any is returned as it is.

    Example:
        >>> without_reasoning("<think>They like tea.</think>Green tea, then.")
        'Green tea, then.'
    """
    while _MARK.search(text) is not None:
        stream = SpokenStream()
        spoken = stream.feed(text) + stream.close()
        if not stream.reasoned:
            break
        text = spoken.strip()  # what stood around a mark may make up another one
    return text


class SpokenStream:
    """Takes a model's text in pieces of any size and returns what of it is for the user; `close` returns the rest.

    It differs from `without_reasoning` in one thing: where only the end of the reasoning is marked, what came out before
    can't be taken back.

    Example:
        >>> stream = SpokenStream()
        >>> [stream.feed("<thi"), stream.feed("nk>Tea?</thin"), stream.feed("k> Green"), stream.close()]
        ['', '', 'Green', '']
    """

    def __init__(self) -> None:
        self._held = ""
        self._inside: str | None = None
        """The kind of what began and has not ended."""
        self._begun = False
        """Whether something was said."""
        self.reasoned = False
        """Whether something was left out."""

    def feed(self, piece: str) -> str:
        """Take the next characters; return those that are said."""
        self._held += piece
        said = ""
        while (found := self._pattern().search(self._held)) is not None:
            before, self._held = self._held[: found.start()], self._held[found.end() :]
            said = self._passed(said, before, found)
        return said + self._settled()

    def close(self) -> str:
        """Return the rest."""
        rest, self._held = self._held, ""
        return "" if self._inside in _REASONING else self._spoken(rest)

    def _pattern(self) -> re.Pattern[str]:
        return _NEXT if self._inside is None else _ENDS[self._inside]

    def _passed(self, said: str, before: str, found: re.Match[str]) -> str:
        """Return all that is said up to the end of `found`."""
        kind = self._inside or found.lastgroup
        if kind in _CODE:
            self._inside = None if self._inside else kind
            return said + self._spoken(before + found[0])
        was_inside, self._inside = self._inside, None
        if was_inside is None:
            said += self._spoken(before)
            self._inside = kind if kind in _REASONING else None
        if kind == "end":
            said, self._begun = "", False
        self.reasoned = True
        return said

    def _settled(self) -> str:
        """Return what is held, but for what may be the beginning of a mark."""
        if self._inside in _REASONING:
            self._held = self._held[-_LONGEST:]
            return ""
        perhaps = _PERHAPS.search(self._held)
        cut = len(self._held) if perhaps is None else perhaps.start()
        said, self._held = self._held[:cut], self._held[cut:]
        return self._spoken(said)

    def _spoken(self, text: str) -> str:
        """Return `text`; without the white space that stood between the reasoning and the answer."""
        if self.reasoned and not self._begun:
            text = text.lstrip()
        self._begun = self._begun or bool(text.strip())
        return text
