"""What a model or a chat template could take for the end of a block or the beginning of somebody else's words."""

# ruff: noqa: RUF001, RUF002  # look-alikes are what this is about

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

FACTS_TAG = "known_facts"
PAST_TAG = "past_conversations"
SUMMARY_TAG = "conversation_summary"
ROUNDS_TAG = "earlier_rounds"
"""The delimiters of our own blocks."""

_LEFT = "＜﹤‹⟨〈〈❮❬⧼ᐸ≺˂❰⟪«《⪡≪⦑⟬⧏˱"
_RIGHT = "＞﹥›⟩〉〉❯❭⧽ᐳ≻˃❱⟫»》⪢≫⦒⟭⧐˲"
_LOOK_ALIKES = (
    dict.fromkeys(map(ord, _LEFT), "<")
    | dict.fromkeys(map(ord, _RIGHT), ">")
    | dict.fromkeys(map(ord, "［【〔〖⟦❲⁅"), "[")
    | dict.fromkeys(map(ord, "］】〕〗⟧❳⁆"), "]")
    | dict.fromkeys(map(ord, "｜│┃∣¦‖ǀ❘"), "|")
    | dict.fromkeys(map(ord, "：﹕︰ː∶꞉։׃˸⦂∷⁚᠄܃ꓽ︙⁝⁞፡፥፦᛬⸬"), ":")
    | dict.fromkeys(map(ord, "！？；｡।۔؟"), "。")
    | dict.fromkeys(map(ord, "∕⁄⧸／"), "/")
    | dict.fromkeys(map(ord, "＃﹟♯"), "#")
    | dict(zip(map(ord, "аеорсухіјѕһкмтвнοαινρυτκ"), "aeopcyxijshkmtbhoaivputk", strict=True))
    | dict(zip(map(ord, "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"), "abezhikmnoptyx", strict=True))
    | dict(zip(map(ord, "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɑɡı"), "abcdefghijklmnoprstuvwyzagi", strict=True))
)
"""One character for one: brackets, bars and letters that pass for ASCII ones (Unicode Technical Standard 39)."""


class _Fold(dict[int, str]):
    """For `str.translate`: character -> the one ASCII character that it reads as, else its small letter."""

    def __missing__(self, code: int) -> str:
        plain = unicodedata.normalize("NFKD", chr(code))[0].lower()[0]
        self[code] = folded = _LOOK_ALIKES.get(code) or _LOOK_ALIKES.get(ord(plain), plain)
        return folded


_FOLD = _Fold()
_NO_LETTER = re.compile(r"[\W_]+")


def fold(text: str) -> str:
    """Return `text` as it reads: as long as it is, in small letters without marks, ASCII where something looks like it.

    Example:
        >>> fold("＜Known‗Fаcts›")
        '<known facts>'
    """
    return text.translate(_FOLD)


def bare(folded: str) -> str:
    """Return the letters and digits of a folded text."""
    return _NO_LETTER.sub("", folded)


OWN_TAGS = tuple(bare(tag) for tag in (FACTS_TAG, PAST_TAG, SUMMARY_TAG, ROUNDS_TAG))

TEMPLATE_WORDS = (
    *OWN_TAGS,
    *("imstart", "imend", "imsep", "startheaderid", "endheaderid", "eotid", "eomid", "pythontag", "endoftext"),
    *("beginof", "endof", "startof", "toolcall", "tooluse", "toolresult", "toolresponse", "tooloutput", "toolsprefix"),
    *("functioncall", "functionresult", "functionresponse", "systemprompt", "systemmessage", "availabletools"),
)
"""What the names of chat templates' tokens begin with: ChatML, Llama 2 to 4, Mistral, Gemma, Qwen, DeepSeek, Phi, Command
R, gpt-oss, and the tags of tool calls."""

ROLES = (
    *("system", "sys", "assistant", "user", "human", "developer", "ai", "bot", "model", "chatbot", "tool", "function"),
    *("admin", "administrator", "operator", "inst", "instruction", "instructions", "prompt", "ipython", "environment"),
    *("system prompt", "system message", "system instruction", "system instructions", "new instructions", "tool call"),
    *("tool result", "tool output", "function call", "response", "input", "output", "action", "action input"),
    *("observation", "thought", "final answer"),
    *("hệ thống", "trợ lý", "người dùng", "lập trình viên", "chỉ dẫn", "công cụ"),
    *(
        "система",
        "системное сообщение",
        "ассистент",
        "помощник",
        "пользователь",
        "разработчик",
        "инструкция",
        "инструмент",
    ),
    *(
        "系统",
        "系統",
        "系统提示",
        "系统消息",
        "系统指令",
        "系統指令",
        "系統提示",
        "助手",
        "用户",
        "用戶",
        "使用者",
        "开发者",
        "人类",
        "指令",
        "工具",
    ),
)
"""Whose words may follow, in English, Vietnamese, Russian and Chinese."""

_TAG_ROLES = frozenset(map(bare, map(fold, ROLES))) | {
    *("s", "bos", "eos", "pad", "unk", "mask", "sep", "cls", "invoke", "parameter", "message", "messages", "channel"),
    *("userfact", "preference", "event", "conversationinsight", "importantmoment", "turn", "memory"),
    *("think", "thinking", "reasoning", "analysis", "commentary", "final", "start", "end", "call", "return"),
}

_ROLE = "|".join(
    re.sub(r"\\?\s+", r"[\\W_]{1,3}", re.escape(fold(role))) for role in sorted(ROLES, key=len, reverse=True)
)
_ROLE = rf"(?:{_ROLE})(?:[\W_]{{1,3}}(?:override|note|notice|update|alert|command|directive|reminder|log))?"
_MARKS = r"(?:[\W_]{0,3}[\[(]\d{1,3}[\])])?(?:\s*|(?:(?![:\n])[\W_]){0,6})"
"""What may stand between a role and its colon, a number in brackets too."""
ROLE_COLON = re.compile(rf"(?:(?<![^\W_])|(?<=[\da-fnrtv])){_ROLE}{_MARKS}:")
"""In a folded text. Before the role may stand the last letter of a line break that is spelt out: see `begins_line`."""
_ROLE_CHARS = 80
"""More than one of these is long."""
ROLE_HEADING = re.compile(rf"(?P<lead>#{{2,9}}|(?<!\S)#)[^\w\n]{{0,6}}{_ROLE}(?![^\W_]){_MARKS}(?P<colon>:?)")
"""A role as a heading, wherever it stands: `### Instruction:`."""
_QUOTES = r"[\\\"'`“”„«»‘’]{0,4}"
ROLE_KEY = re.compile(rf"(?<![^\W_])role{_QUOTES}\s*(?P<colon>:)\s*{_QUOTES}{_ROLE}")
"""The key of a message in JSON or YAML, whatever the quotation marks, which may be escaped."""


def role_colons(folded: str) -> Iterator[int]:
    """Return where in a folded text a colon stands behind a role that begins a line or a sentence."""
    before, colon = -1, folded.find(":")
    while colon >= 0:
        match = ROLE_COLON.search(folded, max(before + 1, colon - _ROLE_CHARS), colon + 1)
        while match is not None and not begins_line(folded, match.start()):
            match = ROLE_COLON.search(folded, match.start() + 1, colon + 1)
        if match is not None:
            yield colon
        before, colon = colon, folded.find(":", colon + 1)


def is_template_name(inside: str, *, real: bool) -> bool:
    """Whether what stands in brackets, folded, is a name of ours, of a chat template's token or of a role.

    A role may have attributes after it where the brackets are `real` ones: `《System Design》` is the title of a book.
    """
    letters = bare(inside)
    first_word = bare(inside.strip("/|!?\\ ").partition(" ")[0]) if real else letters
    return letters.startswith(TEMPLATE_WORDS) or letters in _TAG_ROLES or first_word in _TAG_ROLES


_BEGINNING = re.compile(r"[\n>。」』•]|[!?]{2}|[.!?;)\]][\"'”’»)\]*_`]*\s")
"""What ends a line, a tag or a sentence."""
_SPELT_BREAK = re.compile(
    r"(?:\\(?:[nrvf]|x0[a-d]|01[2-5]|u\{?0*[a-d]\}?|u0085|u202[89])|%(?:25)*0[a-d])(?:\\t|[\W_])*\Z"
)


def begins_line(folded: str, at: int) -> bool:
    """Whether a line, a tag's content or a sentence begins at a word, but for marks before it. A line break may be spelt out."""
    start = at
    while start and not folded[start - 1].isalnum():
        start -= 1
    spelt = _SPELT_BREAK.search(folded, max(0, at - _ROLE_CHARS), at)
    return not start or spelt is not None or _BEGINNING.search(folded, start, at) is not None
