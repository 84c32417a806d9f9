"""Passwords, keys and tokens that people tell: "my password is …" in English, Vietnamese, Russian and Chinese."""

# ruff: noqa: RUF001 - the words are written in their own letters
# ruff: noqa: C901, PLR0911, PLR0912, PLR0917, PLR2004 - each line of a walk through a sentence rules one kind of it out

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.recognisers.said_first import LEAST_WORD_CHARS, TRAILING, SaidFirst
from discreet.redaction.recognisers.secrecy import looks_random, names_a_value
from discreet.redaction.recognisers.telling import NAMES
from discreet.redaction.recognisers.typed_secret import BRAND, TypedSecret
from discreet.redaction.recognisers.windows import Windows
from discreet.redaction.view import Span, View

MOST_WORDS_BETWEEN = 7
"""Words that stand between "password" and the password at most: "the password for my sister's old laptop is …"."""
LEAST_KEY_CHARS = 12
"""Keys and tokens are longer than passwords."""
LEAST_BARE_KEY_CHARS = 16
"""The same where the sentence doesn't say that the key comes next."""
MOST_QUOTED_WORDS = 10
"""More are a quotation."""
MOST_CLAUSE_CHARS = 160
LEAST_LINE_CHARS = 5
"""A word of that many small letters on the last line is what the line before announces."""
LONGEST_COPULA = 13
LOOKED_AT_BEFORE = 26
LOOKED_AT_BEHIND = MOST_CLAUSE_CHARS + 100
"""What is told depends on so much: a name has 40 characters at most, and so has what may follow the clause."""


class SpokenSecretRecogniser:
    """Looks from a telling word through the words behind it for one that is no word, or that the sentence ends with.

    A word of letters only counts as a password where the sentence says so ("… is opensesame."); what looks random counts
    anywhere near. Also finds the password that stands before: "opensesame is my password".
    """

    type = "SECRET"
    NAME = re.compile(
        r"(?:"
        r"(?P<pair>(?<![a-z])(?:login|sign in(?= with)|creds?|credentials?|log ?in|user(?:name)?)(?: ?(?:/|and|&) ?(?:pass(?:word)?|pwd?))?(?![a-z])|логин(?: ?(?:/|и) ?пароль)?|вход(?=:)|уч[её]тк[аиу]|đăng nhập(?= (?:bằng|với))"
        r"|帳密|账密|[帳账帐][號号戶户]?(?:密碼|密码)|(?:tài khoản|tk|user) ?(?:/|và) ?(?:mật khẩu|mk|pass))"
        r"|(?P<password>(?<![a-z])(?:pass(?:word|wort|wd|code|phrase)s?|pwd|psw)(?:'s)?(?![a-z])|(?<![a-z])(?:pass|mk|pw(?:'s)?)(?![a-z])|(?<![a-z])wpa[23]?(?:[ -](?:psk|personal))? (?:key|psk|pass(?:word|phrase)?)(?![a-z])"
        r"|jelsz[óo]|contraseña|mot de passe|kennwort|senha|hasło|şifre|パスワード|暗証番号|비밀번호|비번|mật khẩu|mat khau|mật mã|(?:кодов|парольн)(?:ая|ую|ой) фраз[аыу]|парол(?:ь|я|ем|ю|и|(?![а-яё]))|пасс(?:ворд\w{0,2})?(?![а-я])"
        r"|(?:密碼|密码)(?:短語|短语)?|口令|暗号|暗號)"
        r"|(?P<token>(?<![a-z])(?:api[ _-]?keys?|keys?|tokens?|secret|credentials?)(?![a-z])"
        r"|kh(?:óa|oá|oa) (?:api|bí mật|riêng|truy cập)|khóa|mã token|ключ(?:ом|а|и)?(?![а-я])|токен(?:ом|а|ы)?(?![а-я])|секрет(?![а-я])"
        r"|金鑰|密钥|密鑰|令牌|權杖|权杖|私钥|私鑰)"
        r")",
        re.IGNORECASE,
    )

    SPOT = re.compile(
        "pass|wpa|wi-?fi|network|jelsz|contrase|mot de|kennw|senha|hasł|şifre|パスワ|暗証|비밀|비번|pwd|psw|pw|mk|log ?in|cred|user|api|key|token|secret|m[ậạ]t|mat khau|kh[oóa]|mã token|парол|пасс|кодов|логин|ключ|токен|секрет|帳|账|帐|密|口令|暗|tài kho|tk"
        "|金鑰|令牌|權杖|权杖|私"
    )
    """What in a word without spaces, as Chinese has them, may be a name."""

    PIECE = re.compile(
        r"[\"'`“”«»「」『』‘’(\[|,;]{0,4}(?P<word>[!#-&*-~\u00c0-\u024f\u1e00-\u1eff][!-~\u00c0-\u024f\u1e00-\u1eff]{0,200}|[^\W0-9A-Za-z_]{1,40}|\S)"
    )
    """A word: of ASCII and Latin letters with marks, which people type, or of another script."""
    GLUED_OPERATOR = re.compile(r"(?:[:=]|->|=>|:=){1,2}[*_]{0,3}(?=[^\s]|\Z)|[*_]{1,3}(?=[:=])|[*_]{2,3}\Z")
    COPULA = re.compile(
        r"(?:is|was|be|are|es|est|ist|é|は|は、|는|은|:|=|->|=>|-|to|as|into|'s|is:|là|là:|thành|это|такой|такая|такой:|теперь|стал|на|будет|будет:"
        r"|[^!-~]{0,12}[是為为成叫即])",
        re.IGNORECASE,
    )
    """Words that say that the next is the password."""
    WEAK_COPULAS = ("to", "as", "into", "-", "на")
    """Those that may lead elsewhere: "the password to my laptop"."""
    COPULA_NEXT = re.compile(
        r"[\"'`*]{0,2} ?(?:(?:is|was|are|là(?! (?:vào|được|ok|xong|mở|đăng|xem))|это)(?![a-z])|[:=]|是|為|为)",
        re.IGNORECASE,
    )
    ADVERB = re.compile(
        r"(?:still|now|actually|just|simply|currently|probably|the|this|one|following|set|called|like|something|like|always|to|mới|đây|nè|như|sau|теперь|вот|такой"
        r"|сейчас|всё|еще|ещё|следующий|простой|очень|новый|這個|这个|如下|目前)[:,]?",
        re.IGNORECASE,
    )
    ABOUT = re.compile(
        r"(?<![a-zа-я])(?:must|should|can|cannot|can't|may|needs?|requires?|requirements?|contains?|has|have|expire[sd]?|managers?|policy|resets?|fields?|protect\w{0,3}|hash\w{0,3}"
        r"|encrypt\w{0,3}|forg\w{1,5}|incorrect|wrong|lost|phải|được|bị|gồm|hết|quên|долж\w{1,3}|нужно|хран\w{1,5}|зашифр\w{1,8}|состо\w{1,4}|забы\w{1,3})(?![a-zа-я])"
        r"|必須|必须|應|应|不要|不能|加密|管理|錯|错|太|過期|过期|忘|長度|长度|至少",
        re.IGNORECASE,
    )
    """Words of sentences about passwords."""
    STOP = re.compile(r"[。!?！？]|\.(?=\s|\Z)|[\r\n]")
    QUOTED = re.compile(
        r"(?:[: ]{1,3}[\"'`]|[: ]{0,3}[“«「『‘])(?P<value>[^\"“”«»「」『』\r\n\0`]{3,100})[\"”»」』’'`]"
    )
    END = re.compile(
        r"[\"'`»”」』’*_)]{0,3}[ ]{0,3}(?:[.,;:?!)。，！？|]|[\r\n]|\Z|(?:nhé|nha|ạ|đó|nhe|nhá|nè|okay?|now|pls|please|thanks|thx|and|but|don't|btw|so|if|yesterday|today|tại|và|nhưng|và"
        r"|и|но|а|если|了|吧|喔|哦|登|来|來|就|謝|谢|請|请|記|记|啊|呢)(?![a-z]))",
        re.IGNORECASE,
    )
    """What follows the last word of a sentence."""
    UNIT = re.compile(
        r",? ?fail| ?(?:[A-Za-z%]{1,3}(?!\w)|characters|digits|minutes|hours|times|days|users|символ|знак|цифр|мин|ký tự|chữ số|phút|lần|位|個|个|字|分|次|天)"
    )
    PREPOSITION = re.compile(
        r"(?:for|to|of|on|at|in|i|we|from|here|here's|that|my|от|для|к|ко|в|из|с|по|у|cho|của|ở|từ|trên|vào)",
        re.IGNORECASE,
    )
    LOST = re.compile(
        r"quên|mất|đổi|lấy lại|đặt lại|reset|забы|сброс|смен|восстанов|измен|忘|重設|重置|找回|更改|修改|forgot",
        re.IGNORECASE,
    )
    ACCOUNT = re.compile(
        rf"(?:{BRAND.pattern}|nick|acc(?:ount)?|portal|site|website|game|tài|điện|máy|zip|file|nhà|почт\w{{1,2}}|wlan)",
        re.IGNORECASE,
    )
    WITH_IT = re.compile(
        r"(?<!\w)(?:để|đặt|dùng|lấy|acc|tk|nick|user|wi-?fi)(?: tên)?(?: [!-~]{1,20})? \Z", re.IGNORECASE
    )
    """What stands before "pass" and a word: a name, or that it's set."""
    OLD = re.compile(r" (?:не|больше|уже) ", re.IGNORECASE)
    """What follows an old password."""
    MIXED = re.compile(r"[А-Яа-яЁё]{2,30}[_@#$%^&*!-]{0,2}[0-9][!-~А-Яа-яЁё]{0,40}")
    """A word of Cyrillic letters with a number."""
    NEXT_LINE = re.compile(
        r"(?: (?:is|là|это))?[ ]?[:=][ \t]{0,3}\r?\n[ \t]{0,4}(?P<value>[!-~]{3,63}[!-+\--9;-~])(?=[ \t]{0,4}(?:[\r\n]|\Z))",
        re.IGNORECASE,
    )
    WEAK_NAMES = frozenset({"pass", "pw", "mk", "пасс"})
    FILE = re.compile(r"[\w./\\-]{1,100}\.[a-z]{2,5}[0-9]?|[/~.][\w./-]{1,100}", re.IGNORECASE)
    PHRASE_NAME = re.compile(
        r"passphrase|(?:кодов|парольн)(?:ая|ую|ой) фраз[аыу]|(?:密碼|密码)(?:短語|短语)", re.IGNORECASE
    )
    PHRASE = re.compile(
        r"(?: is| -)?[: =]{1,3}(?P<value>(?!(?:a|an|the|not|too|very|must|should|is|to|use|never)(?![a-z]))[a-z]{3,12}(?:[ -](?!(?:the|and|for|with|must|that|was|is|to|of|you|your)(?![a-z]))[a-z]{3,12}){2,9})(?=[.,;!]?(?:\s*\Z|\n))"
    )
    """Words of a phrase up to the end of the line."""

    PAIR = re.compile(
        r"(?: details| info)?(?P<by> with| using| bằng| với)?(?: is| are|'s|:|=|為|为|是|là)?[ :]{0,3}(?P<user>[A-Za-z0-9._@+-]{2,60})(?:[ ]{0,2}(?P<sign>[/:|]|,(?= ))[ ]{0,2}|[ ]{1,2}(?:and |with |и |và )?)"
        r"(?:(?:pass(?:word)?|pwd?|пароль|mk|mật khẩu|密碼|密码)[ :=]{1,3}|)(?P<value>[!-~]{4,100})",
        re.IGNORECASE,
    )
    """`bob / hunter2`, after "login" or "creds"."""
    DICTIONARY = re.compile(
        r"(?:page|form|screen|button|and|or|is|was|not|to|the|failed|error|user|name|username|password|at|with|via|for|time|date"
        r"|e-?mail|phone|read|write|role|id|log(?:in|out)|sign(?:in|up|out)|register|google|github|facebook|apple|admin|settings)",
        re.IGNORECASE,
    )
    DETAILS = re.compile(r"details|info|creds?|credentials?", re.IGNORECASE)
    UNUSUAL = re.compile(r"[0-9]|[^\w\s'’/,;:.-]")
    FIELD = re.compile(r"[A-Za-z_]{2,20}=[^=]|[0-9]{1,3}(?:\.[0-9]{1,3}){3}\Z")
    """The next field of a log, or an address: `user=ann action=login`."""

    BEFORE = SaidFirst()
    BETWEEN = TypedSecret()

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all that is told."""
        spots = view.derived(NAMES.places)
        yield from self.BETWEEN.spans(view, named=bool(spots))
        if not spots:
            return
        text = view.text
        starts = frozenset(spots)
        names = Windows(
            text, lambda text, spot: self.look(text, spot, starts), before=LOOKED_AT_BEFORE, behind=LOOKED_AT_BEHIND
        )
        place = 0
        for spot in spots:
            if spot < place or (seen := names.at(spot)) is None:
                continue
            place = spot + seen[0]
            if found := seen[1]:
                yield spot + found[0], spot + found[1]
                place = max(place, spot + found[1])
        yield from self.BEFORE.spans(view)

    def look(self, text: str, spot: int, starts: frozenset[int]) -> tuple[int, Span | None] | None:
        """Return how long the name at `spot` is, and from there on the span of what it tells, or None.

        `starts` has all places where names may begin.
        """
        name = self.NAME.match(text, spot)
        if name is None:
            return None
        told = self.told(text, name, starts)
        return name.end() - spot, told and (told[0] - spot, told[1] - spot)

    def told(self, text: str, name: re.Match[str], starts: frozenset[int]) -> Span | None:
        """Return the span of what the words behind `name` tell; None if they tell nothing."""
        limit = min(len(text), name.end() + MOST_CLAUSE_CHARS)
        if name["pair"]:
            return self.of_pair(text, name.end(), limit)
        place, said = name.end(), ""
        between: list[str] = []
        if (
            name["password"]
            and self.PHRASE_NAME.fullmatch(name[0])
            and (phrase := self.PHRASE.match(text, place, limit))
        ):
            return phrase.span("value")
        if not name["token"] and (quoted := self.quoted(text, place, limit)):
            return quoted
        if name["password"] and (below := self.below(text, place, limit)):
            return below
        if name.string.startswith(("=", "_", "|", ">", "\t", ";", '">', "'>"), place):
            return None  # an assignment, which another recogniser looks at
        while piece := self.PIECE.search(text, place, limit):
            word, start = piece["word"], piece.start("word")
            gap = text[place:start]
            if len(between) > MOST_WORDS_BETWEEN or (gap not in ("", " ") and self.STOP.search(text, place, start)):
                return None
            place = piece.end("word")
            begin = start + 2 if word.startswith("--") else start
            if begin in starts and self.NAME.match(text, begin):
                return None  # which will be looked at by itself
            if not word.isascii() and self.SPOT.search(word):
                return None
            if word.startswith("=="):
                return None  # a comparison
            if "а" <= word[0].lower() <= "ё" and said not in self.WEAK_COPULAS:
                mixed = self.MIXED.match(text, start, limit)
                if mixed and not (between and self.PREPOSITION.fullmatch(between[-1])):
                    return start, start + len(mixed[0].rstrip(TRAILING))
            if word[0] in ":=-*" and (glued := self.GLUED_OPERATOR.match(word)):
                place = start + glued.end()
                said = glued[0].strip("*") or said
                if not name["token"] and (quoted := self.quoted(text, place, limit)):
                    return quoted
                continue
            if len(word) <= LONGEST_COPULA and self.COPULA.fullmatch(word):
                said = word
                if not name["token"] and (quoted := self.quoted(text, place, limit)):
                    return quoted
                continue
            value = word[: len(word) - len(word.lstrip("*_"))] + word.lstrip("*_").rstrip(TRAILING)
            end = start + len(value)
            if self.accepts(text, name, value, end, said, between):
                kept = 1 if text[end : end + 1] in ("!", "?") and looks_random(value) and text[end : end + 1] else 0
                return start, end + kept
            if self.ABOUT.search(word) or (said and said not in self.WEAK_COPULAS and not self.ADVERB.fullmatch(word)):
                return None
            if word[-1] in ".?!;" or self.STOP.match(text, place):
                return None
            if said in self.WEAK_COPULAS:
                said = ""
            if word[-1] in ":=" and len(word) > 1:
                said = word[-1]
            between.append(word)
        return None

    def quoted(self, text: str, place: int, limit: int) -> Span | None:
        """Return the span of a password or phrase in quotes at `place`, if one is there."""
        match = self.QUOTED.match(text, place, limit)
        if match and names_a_value(match["value"]) and len(match["value"].split()) <= MOST_QUOTED_WORDS:
            return match.span("value")
        return None

    def below(self, text: str, place: int, limit: int) -> Span | None:
        """Return the span of a password that is the only word of the next line."""
        match = self.NEXT_LINE.match(text, place, limit)
        if match is None:
            return None
        value = match["value"]
        last = match.end() == len(text) and len(value) >= LEAST_LINE_CHARS and value.islower() and value.isalpha()
        return match.span("value") if names_a_value(value) and (looks_random(value) or last) else None

    def accepts(self, text: str, name: re.Match[str], value: str, end: int, said: str, between: list[str]) -> bool:
        """Tell whether `value` is the password: by its look, or as the last word of a sentence that tells one."""
        if len(value) < 3 or not names_a_value(value) or value.startswith("<"):
            return False
        if not said and self.COPULA_NEXT.match(text, end):
            return False  # the name of something: "my password for 1Password is"
        random = looks_random(value)
        if name["token"]:
            long = len(value) >= LEAST_KEY_CHARS and random and re.search("[0-9]|[a-z][A-Z]", value) is not None
            return (
                long
                and (bool(said) or len(value) >= LEAST_BARE_KEY_CHARS or not between)
                and not self.FILE.fullmatch(value)
            )
        if value.isdigit():
            if name[0].lower() in self.WEAK_NAMES and not said:
                return (
                    (not between or (self.is_account(between) and len(between) < 4))
                    and 6 <= len(value) <= 8
                    and self.END.match(text, end) is not None
                )
            told = said or not between or (6 <= len(value) <= 8 and len(between) < 4 and not name[0].isascii())
            return bool(told) and len(value) > 3 and not self.UNIT.match(text, end)
        weak = name[0].lower() in self.WEAK_NAMES and said not in (":", "=")
        if weak and not said and "/" in value and self.FILE.fullmatch(value):
            return False  # PASS src/app.test.js
        if random:
            return bool(said) or (
                len(between) <= (3 if not weak or self.is_account(between) else 1) + (not weak)
                and (re.search("[0-9]", value) is not None or not between or self.is_strong(value))
            )
        if not value.isascii() or not value[0].isalpha() or BRAND.fullmatch(value):
            return False
        if not self.END.match(text, end):
            return not said and not between and name[0].startswith("парол") and self.OLD.match(text, end) is not None
        if weak and self.is_weak_told(text, name, value, said, between):
            return True
        if said.lower() == "are":
            return False
        if said:
            return not weak and (
                not between
                or self.PREPOSITION.fullmatch(between[0]) is not None
                or not name[0].isascii()
                or self.is_account(between)
            )
        if name[0].isascii() or self.LOST.search(text, max(0, name.start() - 24), name.start()):
            return False
        return len(value) >= LEAST_WORD_CHARS and (
            not between or (len(between) < 4 and not self.PREPOSITION.fullmatch(between[-1]))
        )

    def is_account(self, between: list[str]) -> bool:
        """Tell whether the first word behind a name is what passwords are for."""
        return bool(between) and self.ACCOUNT.fullmatch(between[0].rstrip(":=")) is not None

    def is_strong(self, value: str) -> bool:
        """Tell whether a value has small letters, capitals and something else."""
        return len(value) >= 8 and all(re.search(kind, value) for kind in ("[a-z]", "[A-Z]", "[^A-Za-z/.:-]"))

    def is_weak_told(self, text: str, name: re.Match[str], value: str, said: str, between: list[str]) -> bool:
        """Tell whether the sentence leaves no doubt that a word behind "pass" or "mk" is a password."""
        if not (value.islower() and value.isalpha() and len(value) >= LEAST_WORD_CHARS):
            return False
        if said.lower() in ("is", "'s", "là", "là:"):
            return not between if said.startswith("l") else any(map(self.ACCOUNT.fullmatch, between))
        return (
            not said
            and not between
            and self.WITH_IT.search(text, max(0, name.start() - LOOKED_AT_BEFORE + 1), name.start()) is not None
        )

    def of_pair(self, text: str, start: int, limit: int) -> Span | None:
        """Return the span of the password in `login: bob / hunter2`."""
        pair = self.PAIR.match(text, start, min(limit, start + 120))
        if pair is None:
            return None
        value = pair["value"].rstrip(TRAILING)
        if (
            len(value) < 4
            or not names_a_value(value)
            or pair["user"].lower() in ("http", "https")
            or value.startswith("/")
            or self.FIELD.match(value)
        ):
            return None
        if pair["sign"] == "," and not self.DETAILS.search(text, max(0, start - 12), pair.start("user")):
            return None
        if BRAND.fullmatch(value) or (
            pair["by"] and (pair["sign"] or BRAND.fullmatch(pair["user"]) or not self.UNUSUAL.search(value))
        ):
            return None
        if value.isdigit() and "pass" not in pair[0].lower():
            if not (6 <= len(value) <= 10 and (pair["by"] or pair["sign"] == "/")):
                return None
            return pair.span("value")
        if pair["sign"] == "," and not looks_random(value):
            return None
        if looks_random(value) or (
            pair["sign"]
            and not (self.DICTIONARY.fullmatch(pair["user"]) or self.DICTIONARY.fullmatch(value))
            and self.END.match(text, pair.start("value") + len(value))
        ):
            return pair.start("value"), pair.start("value") + len(value)
        return None
