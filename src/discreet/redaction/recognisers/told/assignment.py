"""Secrets assigned to a name: `password=…`, `"api_key": "…"`, `DB_PASSWORD: …`, `<token>…</token>`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.told.password import UNIT
from discreet.redaction.recognisers.told.values import ASIDE, looks_random, names_a_value
from discreet.redaction.recognisers.windows import Windows
from discreet.redaction.word_index import Names
from discreet.redaction.word_set import small
from discreet.redaction.words import whole, words
from discreet.state.text import without_marks

NAMES = tuple(
    dict.fromkeys(form for word in words("secret", "password", "weak") for form in (word, without_marks(word)))
)
"""Words for a password, and the same as they are in the names of variables."""
ASSIGNED = Names(
    (*words("secret", "password", "weak", "key", "login"), *map(without_marks, words("secret", "password", "weak"))),
    (
        *("pass", "pwd", "pw", "mk", "key", "api", "secret", "token", "cred", "auth", "jwt", "csrf", "xsrf", "sid"),
        *("sess", "cookie", "otp", "cvv", "pin", "sig", "hash", "salt", "dsn"),
    ),
)
"""How the names of secrets begin."""
DIGIT = lazy("[0-9]")
LEAST_KEY_CHARS = 8
"""No key or token is shorter; values that are, such as `token: 42`, are something else."""
LEAST_PLAIN_KEY_CHARS = 16
"""The same where the name is only "key", which names much else."""
MOST_VALUE_CHARS = 16_000
MOST_LOOKED_AT = 200
"""So much of a value tells whether it is one; a bound, so that many names in a row stay linear."""
LOOKED_AT_BEFORE = 64
LOOKED_AT_BEHIND = 420
"""What tells a value reaches from 60 characters before its name to a name of 90, an operator of 80, a value of
`MOST_LOOKED_AT` and 24 more."""


class AssignmentRecogniser:
    """Finds the value after a telling name and `=`, `:`, `=>` and what else programs and files write between them.

    Walks from name to name: where a name has no value, the search goes on right behind it.
    """

    type = "SECRET"
    NAME = lazy(
        r"(?:"
        r"(?P<password>pass(?:word|wort|wd|phrase|code)s?|(?<![a-z])(?:pass|passw|psw|pw|mk)(?![a-z])"
        r"|(?-i:(?<=[a-z])P(?:ass|w)(?![a-z]))|p(?:s)?wd|(?<![a-z])auth_pass(?![a-z])"
        rf"|{whole(NAMES)})"
        r"|(?P<plain>keys?(?![a-z])|ключ|khóa|(?<![a-z])(?:auth|sig|hash|salt|cookie|cred|dsn)(?![a-z]))"
        r"|secret|token|credentials?|creds|jwt|signature|[cx]srf|(?<![a-z])(?:sid|otp|cvv|pin)(?![a-z])|sess(?:ion)?[ _-]?id|session|(?:php)?sessid"
        r"|токен|секрет|密鑰|密钥|金鑰|令牌|權杖|权杖|私钥|私鑰"
        r")"
        r"(?:s|[0-9]{1,2})?(?P<suffix>(?:[_.-][A-Za-z0-9]{1,20}){0,3}|(?-i:[A-Z][A-Za-z0-9]{1,20})?)(?![a-z])",
        re.IGNORECASE,
    )

    QUALIFIERS = tuple(
        f"{word} "
        for word in (
            *("api", "access", "secret", "private", "auth", "encryption", "signing", "master", "account", "license"),
            *("licence", "app", "deploy", "service", "subscription", "webhook", "секретный", "приватный"),
        )
    )
    """What before "key" says that it is no plain one."""
    OTHER_KEY = lazy(
        r"(?:public|primary|foreign|partition|sort|cache|host|hot|short|idempotency|idem|row|index|group|map|object"
        r"|s3|mon|tur|don|i18n|routing|translation)[ _-]?\Z",
        re.IGNORECASE,
    )

    ABOUT = lazy(
        r"type|field|count|size|name|len|limit|ur[il]|expir|ttl|file|path|polic|reset|format|label|hint|column|min|max|regex|usage"
        r"|placeholder|input|form|url|algorithm|alg|version|rotation|prefix|length|manager|budget|required|enabled"
        r"|valid|strength|stdin|env|datei|fichier|archivo|файл",
        re.IGNORECASE,
    )
    """Ends of names that make them names of something about a secret."""

    OPERATOR = lazy(
        r"(?P<closed>[\\\"'`\])*_]{0,4})(?:(?::[ ]?|[ ])(?:str|string|String|SecretStr|char\*?|text|final|const)(?=[ ]?[=:]))?[ \t]{0,4}"
        r"(?:"
        r"(?P<value>[\"'\s,;/{(>]{0,12}(?:value|default|val|content)[\"']?\s{0,3}[:=]\s{0,3})"
        r"|(?P<block>[:=][ \t]{0,3}[|>][+-]?[ \t]{0,3}\r?\n[ \t]{1,12})"
        r"|(?P<element>>\s{0,20})"
        r"|(?P<strong>=>|->|:{1,3}=|[?+.]=|={1,3}|:(?!:[A-Za-z_]))[ \t]{0,4}"
        r"|(?P<weak>[ \t]{0,3}[,|(][ \t]{0,3}|[ ]{0,3}\t[ \t]{0,3})"
        r"|(?P<space>[ ]{1,3})"
        r")"
    )
    FOLLOWS = frozenset(":=|,(>?+.<-;/{vdcsStfC\n\r\t")
    """What can begin an operator, or a word between it and the name."""
    OPTION = lazy(
        r"(?:(?<![\w-])--?[a-z0-9-]{0,30}|(?<!\w)(?:env|arg|setx?|export|config set) [a-z0-9_.-]{0,30})\Z",
        re.IGNORECASE,
    )
    """What makes a space after the name an assignment: `--password x`, `ENV TOKEN x`."""

    QUOTED = lazy(
        r"(?:\\|N(?='))?(?P<quote>[\"'`])(?P<value>(?:(?!(?P=quote))[^\r\n\0\\]|\\(?!(?P=quote))[^\r\n\0]?){1,16000}+)"
    )
    TYPOGRAPHIC = lazy(r"[“”«„「『‘](?P<value>[^“”»「」『』’\r\n\0]{1,200})[“”»」』’]")
    BARE = lazy(r"(?P<value>[^\s\"'`<>\0\u2000-\u206f\u3000-\u303f\u3400-\u9fff\uff00-\uffef]{1,16000}+)")
    FIELD = lazy(r"[^,|]{1,200}")
    NEXT_PAIR = lazy(r"&(?=[\w.-]{1,40}=)|[;,](?=[\w. -]{0,40}=|[\"']|\Z)|&amp;|[;,]\Z|\\[nrt]")
    """Where a value without quotes ends, because another name follows."""
    END = lazy(r"[ \t]{0,8}(?:[\r\n,;&<|]|\Z)")
    """What follows a value that is the only word: "Password: hunter", not "Password: must be long"."""
    CELL = lazy(r"[ \t]{0,8}(?:[|,](?:[ \t]{0,8}(?:[\r\n]|\Z))?|[\r\n]|\Z)")
    ROW = lazy(r"(?:^|[\r\n])(?:[|][ \t*]{0,8})?[\w.-]{0,30}\Z")
    """Nothing but a name before a comma, a tab or a bar: a row of a table."""
    CLOSING = lazy(r"\s{0,20}</")
    CALLED = lazy(r"\(\s{0,3}[\"'][\w.]{0,40}\Z")
    """A name as first argument: `define('DB_PASS', …)`, unlike one in a list of names."""
    NAME_ITSELF = lazy(r"[A-Za-z]{1,20}(?:[_.-][A-Za-z]{1,20}){0,6}[0-9]{0,2}")

    ADDRESS = lazy(r"(?:user(?:name)?|login|e?mail|account)=[^\s@]{1,64}@[^\s@]{1,80}", re.IGNORECASE)
    """A field that others look at: `credentials: user=ann@x.org`."""
    FAILED = lazy(r"[ ,;|/\t]{1,3}fail", re.IGNORECASE)
    """What follows the number of tests that pass."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all values."""
        spots = ASSIGNED.places(view)
        if not spots:
            return
        text = view.text
        names = Windows(text, self.look, before=LOOKED_AT_BEFORE, behind=LOOKED_AT_BEHIND)
        place = 0
        for spot in spots:
            if spot < place or (seen := names.at(spot)) is None:
                continue
            place = spot + seen[0]
            if seen[1] is None:
                continue
            start, end = spot + seen[1][0], spot + seen[1][1]
            if end - start >= MOST_LOOKED_AT - 2:
                start, end, _ = self.value(text, spot + seen[2], MOST_VALUE_CHARS) or (start, end, False)
            yield start, end
            place = end

    def look(self, text: str, spot: int) -> tuple[int, Span | None, int] | None:
        """Return how long the name at `spot` is, its value's span or None, and where that was looked for, from there on."""
        name = self.NAME.match(text, spot)
        if name is None:
            return None
        end = name.end()
        follows = text[end : end + 8].lstrip(" \"'`\\])*_")[:1]
        if follows and follows not in self.FOLLOWS and not self.is_option(text, name):
            return end - spot, None, 0
        operator = self.OPERATOR.match(text, end)
        if operator is None or not self.is_assignment(text, name, operator):
            return end - spot, None, 0
        value = self.value(text, operator.end(), MOST_LOOKED_AT)
        if value and operator["weak"] and not value[2]:
            cell = self.FIELD.match(text, value[0], value[1])
            value = (value[0], cell.end(), False) if cell else None
        if value is None or not self.is_secret(text, name, operator, value):
            return end - spot, None, 0
        return end - spot, (value[0] - spot, value[1] - spot), operator.end() - spot

    def is_assignment(self, text: str, name: re.Match[str], operator: re.Match[str]) -> bool:
        """Tell from what stands around the operator whether it assigns."""
        if name["suffix"] and self.ABOUT.search(name["suffix"]):
            return False
        return operator["space"] is None or self.is_option(text, name)

    def is_option(self, text: str, name: re.Match[str]) -> bool:
        """Tell whether the name is an option of a command, whose value needs no operator."""
        before = text[max(0, name.start() - 40) : name.start()]
        return before[-1:] in ("-", "_", " ") and self.OPTION.search(before) is not None

    def value(self, text: str, start: int, most: int) -> tuple[int, int, bool] | None:
        """Return start and end of the value at `start`, and whether it is quoted; None if there is none."""
        stop = min(len(text), start + most)
        quoted = self.QUOTED.match(text, start, stop) or self.TYPOGRAPHIC.match(text, start, stop)
        if quoted:
            return *quoted.span("value"), True
        bare = self.BARE.match(text, start, stop)
        if bare is None:
            return None
        value = bare["value"]
        for cut in (self.NEXT_PAIR, ASIDE):
            if found := cut.search(value):
                value = value[: found.start()]
        for opening, closing in ("()", "[]", "{}"):
            if value.endswith(closing) and opening not in value and opening in text[max(0, start - 60) : start]:
                value = value.rstrip(closing)
        value = value.rstrip(".,;:|*") or value
        return (start, start + len(value), False) if value else None

    def is_secret(self, text: str, name: re.Match[str], operator: re.Match[str], found: tuple[int, int, bool]) -> bool:
        """Tell a literal value from prose, a reference, or a number beside the word "token"."""
        start, end, quoted = found
        value = text[start:end]
        if not self.is_literal(text, name, found) or (operator["element"] and not self.CLOSING.match(text, end)):
            return False
        random = looks_random(value)
        if operator["weak"] and not quoted and not (random and len(value) >= LEAST_KEY_CHARS and DIGIT.search(value)):
            return name["password"] is not None and self.is_cell(text, name, end)
        if operator["strong"] in ("==", "===") and not quoted:
            return False
        if not name["password"]:
            least = min(LEAST_PLAIN_KEY_CHARS, max(LEAST_KEY_CHARS, self.least(text, name)))
            return len(value) >= least and " " not in value and self.is_key(value)
        if operator["weak"] and quoted and "(" not in operator["weak"]:
            return random or self.CALLED.search(text, max(0, name.start() - 44), name.start()) is not None
        return quoted or operator["strong"] != ":" or random or self.END.match(text, end) is not None

    def is_literal(self, text: str, name: re.Match[str], found: tuple[int, int, bool]) -> bool:
        """Tell a value from a reference, a count, a comparison or what a template has there."""
        start, end, quoted = found
        value = text[start:end]
        if not names_a_value(value) or value[:1] == "=" or self.ADDRESS.fullmatch(value):
            return False
        if value[-1] == "=" and text.startswith("<", end):  # a name's place: session=<id>
            return False
        if value.isdigit() and (self.FAILED.match(text, end) or UNIT.match(small(text[end : end + 24]))):
            return False
        before = text[max(0, name.start() - 80) : name.start()]
        if before.rfind("{{") > before.rfind("}}"):
            return False  # {{ .Values.password | b64enc }}
        return not (quoted and is_closing(text[max(0, start - 121) : start - 1].rpartition("\n")[2], text[start - 1]))

    def is_cell(self, text: str, name: re.Match[str], end: int) -> bool:
        """Tell whether name and value are a row of a table."""
        return bool(self.CELL.match(text, end) and self.ROW.search(text, max(0, name.start() - 40), name.start()))

    def least(self, text: str, name: re.Match[str]) -> int:
        """Return how long a key or token of that name is at least."""
        if not name["plain"] or re.search("token|secret|key", name["suffix"] or "", re.IGNORECASE):
            return LEAST_KEY_CHARS
        before = text[max(0, name.start() - 24) : name.start()]
        return (
            LEAST_KEY_CHARS
            if self.is_qualified(before) and not self.OTHER_KEY.search(before)
            else LEAST_PLAIN_KEY_CHARS
        )

    def is_qualified(self, before: str) -> bool:
        """Tell whether what stands before "key" makes a name with it."""
        last = before[:-1] if before[-1:] in ("_", "-") else before
        return (last[-1:].isascii() and last[-1:].isalnum()) or before.lower().endswith(self.QUALIFIERS)

    def is_key(self, value: str) -> bool:
        """Tell a key from the name of a column, a function or a file."""
        if self.NAME_ITSELF.fullmatch(value):
            return re.search("[a-z]{24}|(?:[a-z][A-Z]{1,3}){3}|[A-Z]{16}", value) is not None
        return looks_random(value)


def is_closing(before: str, quote: str) -> bool:
    """Tell whether a quote closes what another has opened on its line: read -p "Password: " NAME. Apostrophes don't count."""
    return len(re.findall(rf"(?<![^\W_]){re.escape(quote)}|{re.escape(quote)}(?![^\W_])", before)) % 2 == 1
