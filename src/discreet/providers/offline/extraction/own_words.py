"""Find in a turn what the user says themselves: no quotation, pasted text, play, or text to work on."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from discreet.providers.offline.extraction.rules import Rules, plain
from discreet.state.text import sentences

HOLE: Final = "\ufffc"
"""Stands where something was cut out; what it stands in is not taken."""

_MAX_QUOTED_WORDS: Final = 6
_MAX_LINE: Final = 600
"""Characters; who writes a longer paragraph in a chat has pasted it."""

_QUOTED: Final = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]+`|\"[^\"]*(?:\"|\Z)|“[^”]*(?:”|\Z)|„[^“”]*(?:[“”]|\Z)|«[^»]*(?:»|\Z)|「[^」]*(?:」|\Z)"
    r"|『[^』]*(?:』|\Z)|(?<![\w'])'[^'\n]{12,}?'(?!\w)|(?<!\w)\u2018[^’\n]{12,}?’(?!\w)|《[^》]*(?:》|\Z)",
    re.DOTALL,
)
_PASTED: Final = re.compile(
    r"^\s*(?:[>|#{}\[<$]|[-=*_]{3,}|\d{4}-\d\d-\d\d[ T]|\d\d?:\d\d:\d\d|at \w+\.|[\w.-]+@|https?://\S+$|(?:def|class|import|from|SELECT|INSERT|"
    r"const|let|var|function|public|if|for|return)\b.*[;:{(]\s*$|[\w .'-]{1,24}=|[^,\s][^,\n]*(?:,[^\s,][^,\n]*){2,}$)|\t|\s\|\s|\};?$|\\n"
)
_FIELD: Final = re.compile(r"^\s*[\w .()/'\"*-]{1,28}\s*[:\uff1a]\s*\S|^.*\S\s[—–]\s\S.*\s[—–]\s\S")
_HEADER: Final = re.compile(
    r"^\s*(?:from|to|subject|cc|date|sent|от кого|от|кому|тема|дата|từ|đến|chủ đề|gửi|发件人|收件人|主题|寄件者|收件者|主旨|日期)\s*[:\uff1a]",
    re.IGNORECASE,
)
_SALUTATION: Final = re.compile(
    r"^\s*(?:dear (?:sir|madam|mr|ms|mrs|dr|prof|hiring|all|team|\w+(?: \w+)?,)|уважаем\w+|kính gửi|尊敬的|敬爱的|敬愛的)",
    re.IGNORECASE,
)
_FEW: Final = 2


class Said(NamedTuple):
    """One sentence of the user's."""

    text: str
    asks: bool


def own_sentences(text: str, rules: Rules) -> list[Said]:
    """Return what the user says themselves, as sentences in order; nothing of a turn that is play, irony or a secret."""
    text = _unquoted(text, rules)
    if rules.found("turn", plain(text)):
        return []
    found: list[Said] = []
    for sentence in sentences(_unpasted(text)):
        said = plain(sentence)
        if rules.found("work", said):
            end = max(sentence.rfind(":"), sentence.rfind("\uff1a"))
            if HOLE in text:
                continue
            return found if end > 0 or _goes_on(text, sentence) else []
        if rules.found("rest", said):
            return found
        if rules.begins("serious", said):
            found.clear()
        if rules.found("sentence", said) or (len(sentence) > _MAX_LINE):
            continue
        found.append(Said(sentence, sentence.rstrip("\"'”’»)] ").endswith(("?", "\uff1f", "?!", "?)"))))
    return found


def _goes_on(text: str, sentence: str) -> bool:
    """Whether a line with something on it follows `sentence`: that is what the request is about."""
    return "\n" in text.partition(sentence)[2].strip(" ")


def _unquoted(text: str, rules: Rules) -> str:
    """Return `text` with a hole for each quotation that may be somebody's sentence; a quoted word or name stays."""

    def hole(match: re.Match[str]) -> str:
        inner = match[0].strip("\"“”„«»「」『』'\u2018’《》")
        if match[0][0] != "`" and len(inner.split()) < _MAX_QUOTED_WORDS and not rules.found("speaks", plain(inner)):
            return match[0]
        return HOLE

    return _QUOTED.sub(hole, text)


def _unpasted(text: str) -> str:
    """Return `text` without lines of data, and without a letter from its header or salutation on."""
    lines = text.split("\n")
    fields = sum(_FIELD.match(line) is not None for line in lines)
    kept: list[str] = []
    for line in lines:
        if _HEADER.match(line) or _SALUTATION.match(line):
            break
        label = line.partition(":")[0].strip()
        if (
            (label.isupper() and " " in label and ":" in line)
            or _PASTED.search(line)
            or (fields >= _FEW and _FIELD.match(line))
        ):
            continue
        kept.append(line)
    return "\n".join(kept)
