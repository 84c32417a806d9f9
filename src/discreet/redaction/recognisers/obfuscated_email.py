"""E-mail addresses that are written so that programs don't see them, or as somebody says them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import BLANK, Span, View
from discreet.redaction.word_set import small, word_set
from discreet.redaction.words import any_of, words

_TOP = (
    "com|net|org|edu|gov|info|biz|io|ai|dev|app|me|co|agency|shop|online|site|xyz|vn|ru|su|tw|cn|hk|sg|jp|kr|uk|ie|de|at|ch|fr|be|nl"
    "|es|pt|it|pl|cz|eu|us|ca|mx|br|au|nz|in|tr|id|th|ar|cl|gr|se|no|dk|fi|hu|ro|рф|ру|ком|нет|орг|컴|コム|닷컴|by|kz|ua"
)
"""Top-level domains that people name aloud; any two letters after "dot" would be too many."""
PROVIDERS = (
    "gmail|googlemail|yahoo|ymail|hotmail|outlook|live|msn|aol|icloud|protonmail|proton|fastmail|tutanota|zoho|yandex|rambler|mail|bk|inbox|list|qq|163|126|sina|sohu|foxmail"
    "|gmx|web|t-online|freenet|posteo|mailbox|orange|free|laposte|wanadoo|sfr|libero|virgilio|tiscali|alice|uol|bol|terra|naver|daum|hanmail|kakao|nate|docomo|softbank|ezweb"
    "|wp|onet|interia|o2|ziggo|kpn|telenet|rediffmail|telefonica|movistar|comcast|verizon|att|btinternet|sky|shaw"
)
UNMISTAKABLE = "gmail|googlemail|ymail|hotmail|protonmail|fastmail|tutanota|icloud|outlook|yandex|rambler|gmx|posteo|t-online|foxmail|naver|hanmail|rediffmail|laposte|wanadoo|163"
"""Providers that are nothing else, so that they need no domain."""
PROVIDER_WORDS = frozenset(name.rpartition("-")[2] for name in UNMISTAKABLE.split("|"))
_LETTER = r"A-Za-z0-9_\u00c0-\u024f\u0400-\u04ff\u1e00-\u1eff"
"""Of Latin and Cyrillic: Han letters right before an address are prose."""
_WORD = rf"[{_LETTER}+%&-]{{1,64}}"
_LABEL = rf"[{_LETTER}-]{{1,63}}"
AT_WORDS = words("spelled", "at")
DOT_WORDS = words("spelled", "dot")
_at_spaced = any_of((*words("spelled", "at", spaced=True), *words("spelled", "at", spaced=False))).replace(
    "\\ ", "[ -]?"
)
_at_glued = any_of(words("spelled", "at", spaced=False))
_dot_spaced = any_of((*words("spelled", "dot", spaced=True), *words("spelled", "dot", spaced=False)))
_dot_glued = any_of(words("spelled", "dot", spaced=False))
_line = any_of(words("spelled", "line")).replace("\\ ", "[ -]?")
_AT = (
    rf"(?: {{0,2}}[\[({{<*] {{0,2}}(?:{_at_spaced}|@|a) {{0,2}}[\])}}>*] {{0,2}}"
    rf"| {{1,2}}(?:{_at_spaced}) {{1,2}}|[_-]at[_-]|{_at_glued}"
    r"|[ \n]{1,2}@[ \n]{0,2}|[ \n]{0,2}@[ \n]{1,2}|@)"
)
_DOT = (
    rf"(?: {{0,2}}[\[({{<] {{0,2}}(?:{_dot_spaced}|\.) {{0,2}}[\])}}>] {{0,2}}"
    rf"| {{1,2}}(?:{_dot_spaced}) {{1,2}}|[_-]dot[_-]| \. |{_dot_glued}|\.)"
)
_JOIN = rf"(?:{_DOT}| {{1,2}}{_line} {{1,2}})"
CONNECTORS = frozenset(
    word for each in (*AT_WORDS, *DOT_WORDS, *words("spelled", "line"), "@ . 。") for word in each.split()
)
"""The words of both, for who reads a text that is not finished."""

PLACEHOLDER = lazy(
    r"(?:user(?:name)?|usuario|utilisateur|benutzer|utente|usuário|name|nombre|nome|nom|имя|логин|tên) [^\W\d_]{1,10} "
    r"(?:domain|dominio|domínio|domaine|домен|example|ejemplo|host)(?!\w)[^\n]{0,20}",
    re.IGNORECASE,
)
"""`user at domain dot com`, of nobody."""
SPELLED = lazy(
    rf"(?<![{_LETTER}+%&-]){_WORD}(?:{_JOIN}{_WORD}){{0,3}}(?P<at>{_AT})"
    rf"(?P<domain>{_LABEL}(?:{_JOIN}{_LABEL}){{0,3}}{_DOT}(?:{_TOP}))(?![A-Za-z0-9])",
    re.IGNORECASE,
)
BACKWARDS = lazy(
    rf"(?<![A-Za-z0-9])(?:{'|'.join(top[::-1] for top in _TOP.split('|'))})(?:\.[A-Za-z0-9-]{{1,63}}){{1,4}}@[A-Za-z0-9._+-]{{1,64}}",
    re.IGNORECASE,
)
CUT_SHORT = lazy(
    rf"(?<![A-Za-z0-9._+@-])[A-Za-z0-9._+-]{{2,64}}@(?:{UNMISTAKABLE}|yahoo|qq|126|proton)(?![\w@-])", re.IGNORECASE
)
"""With a provider that everybody knows, and without its domain."""
COMMAS = lazy(
    rf"(?<![A-Za-z0-9._+@-])[A-Za-z0-9_+-]{{1,64}}(?:[.,][A-Za-z0-9_+-]{{1,64}}){{0,3}} ?@ ?"
    rf"(?:(?:{PROVIDERS}) ?[,、; .] ?(?:{_TOP})(?: ?[,、;.] ?(?:{_TOP}))?|(?:{UNMISTAKABLE}|yahoo)(?:(?:{_TOP})| ?[.,] ?(?:corn|c0m|con))"
    rf"|[A-Za-z0-9-]{{2,63}}(?:[,、;.][A-Za-z0-9-]{{2,63}}){{0,2}}[,、;](?:{_TOP})(?:[,、;.](?:{_TOP}))?)(?![\w@])",
    re.IGNORECASE,
)
"""A comma where the dot should be; behind a known provider a space too, or nothing."""
HASH = lazy(
    rf"(?<![A-Za-z0-9._+@#/-])(?=[A-Za-z._-]{{0,40}}[0-9._])[A-Za-z][A-Za-z0-9._-]{{2,40}}[#＃&](?:{UNMISTAKABLE}|qq|126|yahoo|sina)\.(?:{_TOP})(?![\w-])",
    re.IGNORECASE,
)
"""Another sign for @, before a provider that everybody knows."""
MASKED = lazy(
    rf"(?<![A-Za-z0-9._+@-])(?=[A-Za-z._+-]{{0,40}}[0-9.])(?P<local>[A-Za-z0-9._+-]{{3,64}}@)"
    rf"(?:{BLANK}|\[[A-Z][A-Z _]{{2,19}}\]|<[A-Z_]{{3,20}}>|[*•]{{3,12}})"
)
"""Who it is, before a domain that somebody masked; `root@` is no name."""
COMMA_BEFORE = lazy(
    r"(?<![A-Za-z0-9._+@,-])[A-Za-z]{2,30},[A-Za-z]{2,30}[0-9]{0,4}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{2,63}){1,3}(?![\w@])"
)
"""A comma where the dot of a name should be."""
NAMED = lazy(
    rf"(?<![{_LETTER}+%&.-])(?P<local>[a-z0-9_+-]{{3,64}}(?:{_JOIN}[a-z0-9_+-]{{1,64}}){{0,3}}) {{1,2}}(?:{_at_spaced}) {{1,2}}(?:{UNMISTAKABLE})(?![\w-])",
    re.IGNORECASE,
)
"""`jsmith at fastmail`, in a text about mail."""
WITHOUT_AT = lazy(
    rf"(?<![{_LETTER}+%&.@-])(?P<local>(?=[a-z0-9._+-]{{0,40}}[0-9._])[a-z][a-z0-9._+-]{{3,40}})(?:,? | @ ?| on "
    rf"| bei | su | en | chez )(?:{UNMISTAKABLE})(?P<top>(?:{_DOT}| )(?:{_TOP}))?(?![\w-])",
    re.IGNORECASE,
)
"""The name of a user, and a provider that everybody knows: `ann.lee gmail.com`."""
MAIL_WORDS = frozenset(
    (
        "mail",
        "mails",
        "email",
        "emails",
        "gmail",
        "inbox",
        "address",
        "write",
        "correo",
        "courriel",
        "adresse",
        "posta",
        "почта",
        "почту",
        "почте",
        "мыло",
        "мейл",
        "имейл",
        "posteingang",
        "mailadresse",
        "邮箱",
        "thư",
    )
)
NO_LOCAL = frozenset(
    (
        *(
            "work",
            "works",
            "worked",
            "working",
            "look",
            "looks",
            "looking",
            "shop",
            "buy",
            "bought",
            "available",
            "meet",
            "find",
            "found",
            "is",
            "are",
            "was",
            "me",
            "us",
            "him",
            "her",
            "them",
            "it",
            "here",
        ),
        *(
            "there",
            "account",
            "accounts",
            "job",
            "staff",
            "team",
            "support",
            "everyone",
            "people",
            "folks",
            "someone",
            "login",
            "register",
            "sign",
            "order",
            "see",
            "check",
            "read",
            "stuff",
            "engineer",
            "page",
            "live",
            "laugh",
            "met",
            "were",
            "been",
            "stay",
            "starts",
            "ends",
            "sold",
            "sale",
        ),
    )
)
"""Words before "at", which are nobody's name."""


class ObfuscatedEmailRecogniser:
    """Finds addresses that spell out @ and the dot, space them out, put commas for dots, cut them short or turn them round.

    Such as `ann [at] example [dot] com`, `ann at example dot com`, `ann arroba example punto com`, `ann@gmail,com`, `ann @ example.com`,
    `ann@gmail`, `moc.elpmaxe@nna`.
    """

    type = "EMAIL"

    SIGNS = (
        "[at",
        "(at",
        "{at",
        "<at",
        "*at",
        "[ at",
        "( at",
        "@ ",
        " @",
        "@\n",
        "\n@",
        "[@",
        "(@",
        "(a)",
        "[a]",
        "_at_",
        "-at-",
        "@at@",
        "[соб",
        "(соб",
    )
    HEADS = frozenset(re.split(r"[ -]", word)[0] for word in AT_WORDS if word.isascii() or word < "\u0530")
    SURE_HEADS = HEADS - {"at", "et", "chez", "a", "ed", "eg"}
    """Those that are no other word."""
    GLUED = tuple(word for word in AT_WORDS if word >= "\u0530" and not word.isascii())
    DOT_HEADS = frozenset(DOT_WORDS)
    DOT_GLUED = tuple(word for word in DOT_WORDS if word >= "\u0530" and not word.isascii())

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses."""
        lowered = view.derived(small)
        found = view.derived(word_set)
        sign = "@" in lowered
        foreign = not lowered.isascii()
        provider = not found.isdisjoint(PROVIDER_WORDS) or "163" in lowered
        at = sign or not found.isdisjoint(self.HEADS) or (foreign and any(word in lowered for word in self.GLUED))
        if at:
            sure = not found.isdisjoint(self.SURE_HEADS) or (foreign and any(word in lowered for word in self.GLUED))
            dot = (
                (sure and "." in lowered)
                or not found.isdisjoint(self.DOT_HEADS)
                or (foreign and any(word in lowered for word in self.DOT_GLUED))
            )
            if dot or any(hint in lowered for hint in self.SIGNS):
                yield from (match.span() for match in SPELLED.finditer(view.text) if is_disguised(match))
            if provider and not found.isdisjoint(MAIL_WORDS):
                yield from (
                    match.span() for match in NAMED.finditer(view.text) if match["local"].lower() not in NO_LOCAL
                )
        elif any(hint in lowered for hint in ("(a)", "[a]")):
            yield from (match.span() for match in SPELLED.finditer(view.text) if is_disguised(match))
        if "#" in lowered or "&" in lowered:
            yield from (match.span() for match in HASH.finditer(view.text))
        if provider:
            mail = not found.isdisjoint(MAIL_WORDS - {"gmail"})
            yield from (match.span() for match in WITHOUT_AT.finditer(view.text) if mail or match["top"])
        if sign:
            for pattern in (BACKWARDS, CUT_SHORT, COMMAS, COMMA_BEFORE):
                yield from (match.span() for match in pattern.finditer(view.text))
            yield from (match.span("local") for match in MASKED.finditer(view.text))


def is_disguised(match: re.Match[str]) -> bool:
    """Reject "meet me at example.com", where a bare word for @ needs a word for the dot too, and what is not disguised."""
    at = match["at"]
    if at == "@":
        return any(sign in match[0] for sign in " ([{<。點点\n") or "_dot_" in match[0] or "-dot-" in match[0]
    if PLACEHOLDER.fullmatch(match[0]):
        return False
    spoken = at.strip().replace(" ", "").isalpha() and at.startswith(" ")
    if spoken and match[0][: match.start("at") - match.start()].lower() in NO_LOCAL:
        return False
    if spoken and match["domain"].split()[0].lower() in ("the", "a", "this", "that", "their", "our", "my"):
        return False
    return (
        not (spoken and "." in match["domain"])
        or "sign" in at
        or not (at.strip().isascii() and at.strip() in ("at", "et"))
    )
