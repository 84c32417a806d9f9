"""Tell a password or key from an ordinary word."""

from __future__ import annotations

import re
from functools import cache

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.words import words

BRAND = lazy(
    r"(?:g(?:oogle|mail|ithub|itlab)|facebook|fb|zalo|e?-?mail|icloud|apple|win(?:dows)?|netflix|insta(?:gram)?"
    r"|tiktok|telegram|wechat|weixin|line|qq|vpn|ssh|root|admin|mysql|postgres"
    r"|wi-?fi|router|laptop|iphone|ipad|mac|android|outlook|yahoo|yandex|vk|steam|spotify|paypal|bitwarden"
    r"|lastpass|keepass|server|app|web|online|id|api|twitter|discord|slack|zoom|skype|viber|whatsapp|excel|word"
    r"|pdf|zip|database|db"
    r"|youtube|linkedin|openai|chatgpt|dropbox|onedrive|playstation|chrome|firefox|safari|touch|face|login|username|phone)",
    re.IGNORECASE,
)
"""What passwords are for."""

TOOLS = frozenset(
    word
    for words in (
        "python java javascript typescript rust golang kotlin swift scala ruby perl matlab julia haskell cobol fortran bash zsh",
        "linux ubuntu debian fedora centos alpine docker podman kubectl helm nginx apache redis kafka celery gunicorn ansible",
        "terraform jenkins gitlab github grep curl wget cron regex json yaml html http https localhost postgres mysql sqlite",
        "mongodb pandas numpy pytorch pytest django flask fastapi react angular vite vitest webpack node npm yarn flexbox",
        "list tuple dict array string index range join left inner outer group order select insert update delete commit branch",
        "merge rebase push pull fetch import export const func return async await null true false print test build deploy",
        "excel word powerpoint photoshop canva notion figma zoom teams slack skype outlook chrome firefox safari edge android",
        "offer deal sale online offline team leader manager deadline meeting email check list file folder link link website",
        "ollama qwen llama claude gemini chatgpt openai copilot midjourney tesla iphone ipad macbook samsung xiaomi oppo vivo",
    )
    for word in words.split()
)
"""What people of all languages call programs and what they do with them."""
LEAST_WORD_CHARS = 6
"""An ASCII word of that many letters at the end of a Vietnamese, Russian or Chinese sentence is not the name of a thing."""
ASIDE = lazy(r"[(\[{](?=[^\x00-\x7f])")
"""Where something is said about a value right behind it: `hunter2（改过）`."""
TRAILING = ".,;:!?)]}\"'`»”」』’*|>"
"""What stands behind a value and isn't part of it."""

NOT_A_VALUE = frozenset(
    [
        *("a", "admin/", "also", "always", "an", "and", "any", "anything", "are", "as", "at", "available", "bad"),
        *("basic", "be", "bearer", "being", "best", "better", "blank", "bool", "broken", "but", "by", "bytes"),
        *("can", "case", "case-sensitive", "changed", "changeme", "characters", "complex", "correct", "default"),
        *("deprecated", "different", "digits", "easy", "email", "empty", "encrypted", "everything", "example"),
        *("expired", "false", "field", "fine", "for", "forgotten", "from", "gone", "good", "great", "hard", "hash"),
        *("hashed", "her", "here", "hidden", "his", "how", "i", "if", "important", "in", "incorrect", "int"),
        *("invalid", "is", "it", "its", "just", "leaked", "letters", "login", "long", "lost", "manager", "managers"),
        *("masked", "may", "me", "missing", "more", "must", "my", "n/a", "needed", "never", "new", "nil", "no"),
        *("none", "not", "nothing", "now", "null", "of", "off", "ok", "okay", "old", "on", "only", "optional", "or"),
        *("our", "passwd", "password", "passwords", "policy", "private", "protected", "protection", "public", "pwd"),
        *("random", "ready", "redacted", "required", "reset", "right", "safe", "same", "saved", "secret", "secure"),
        *("sent", "set", "shared", "short", "should", "shown", "simple", "so", "something", "still", "stolen"),
        *("stored", "str", "string", "strong", "stuff", "tbd", "text", "than", "that", "the", "their", "there"),
        *("they", "this", "to", "todo", "token", "too", "true", "undefined", "unique", "unknown", "unset", "used"),
        *("user", "username", "using", "valid", "very", "visible", "was", "we", "weak", "what", "when", "where"),
        *("which", "who", "why", "with", "working", "wrong", "yes", "you", "your"),
        *("await", "confirm", "continue", "forgot", "print", "raise", "return", "throw"),
    ]
)
"""Words that stand where a password would, and say something about it."""

REFERENCE = lazy(
    r"\$[A-Za-z_]{1,80}|\$\{?(?-i:[A-Z_][A-Z0-9_]{0,80})\}?|\$[({]{1,2}[\w. :?-]{1,80}[)}]{0,2}"  # $TOKEN, ${API_KEY}, ${{ secrets.TOKEN }}
    r"|%[A-Za-z_]{1,80}%|\{\{?[\w .$-]{0,80}\}{0,2}|\[[\w .-]{0,80}\]?|\([\w .-]{0,80}\)?|<[^<>]{0,80}>?"  # %T%, {{ t }}, [t]
    r"|[A-Za-z_][\w.]{0,80}\((?:[\"'][^\0]{0,80}|[\w.,: '\"=-]{0,80}\)[^\0]{0,80})?"  # get_token(user)
    r"|[A-Za-z_][\w.]{0,60}\([A-Za-z_][\w.]{0,60}\([^\0]{0,80}"  # str(uuid.uuid4())
    r"|[A-Za-z_][\w.]{1,60}\([a-z_]{2,40}=.{0,80}|%\([\w.]{1,60}\)[sdr]?|[#$@]\{.{0,80}"
    r"|\$_?[A-Za-z]{2,20}\[.{0,80}"  # Field(min_length=8, %(password)s, #{password}
    r"|password@localhost.{0,60}|[A-Za-z_-]{2,40}=[\"'].{0,80}|![a-z_]{2,30}(?: .*)?|/(?:etc|var|run|home"
    r"|usr|opt|tmp|root|mnt|srv|app|data|dev|proc)/.{0,200}|.{0,80}\{[a-z_][\w.:]{0,40}\}.{0,120}|[\"']\$\{?[A-Za-z_]\w{0,80}\}?[\"']?"
    r"|[A-Za-z_]\w{0,40}(?:\.\w{1,40}){1,5}\(.{0,200}|[A-Za-z_]\w{2,40}\([0-9]{1,6},?|[0-9]{1,4}\)\.\w.{0,100}"
    r"|[%}{<>/p\[\]()]{2,12}|@[A-Za-z0-9.-]{1,80}(?::[0-9]{1,5})?(?:/.{0,80})?"  # placeholder="…, @localhost:5432/db
    r"|\.[A-Za-z_][\w.]{1,60}(?:\(.{0,200})?|[A-Za-z_$][\w$]{0,40}(?:(?:::|->|\?\.)[A-Za-z_]\w{0,40}){1,6}.{0,200}"  # .stream(), std::env::var(
    r"|(?=[^()_]*[()_]|.{0,60}(?-i:[a-z][A-Z]))[A-Za-z_]\w{0,40}(?:\.[A-Za-z_]\w{0,40}){1,5}[)\]};,(]{0,6}"
    r"|[A-Za-z_][\w.]{1,60}\([$@&*]\w.{0,80}"  # user.passwordHash)
    r"|[a-z][a-z0-9-]{1,40}:[0-9]{1,4}(?:\.[0-9]{1,5}){1,3}|HTTP/[0-9.]{1,4}|[a-z_]{2,30}=-?[0-9]{1,4}"
    r"|[a-z_-]{2,20}=[a-z]{1,15}"  # jjwt-api:0.12.3, retry=3
    r"|(?:[A-Z]-[A-Z]|[0-9]-[0-9]){2,6}|%[A-Za-z_()]{1,80}%|\[\^?[^\]]{1,40}\][+*?]?.{0,20}"  # A-Za-z0-9, [^&\s]+
    r"|[A-Za-z_.]{4,60}\([a-z_.]{0,40},?"  # HTTPBasicAuth(user,
    r"|[\[{(]{1,3}\\?[\"'][\w$@-]{0,60}"  # {"type"
    r"|[A-Za-z_]\w{0,40}(?:\.\w{1,40}){0,4}\[.{0,80}"  # request.headers["x"]
    r"|(?:os|process|env|config|settings|self|this|secrets?|vars?|params?|args|options|req|request|response|data|local|input|kwargs|ctx)"
    r"\.[A-Za-z_.]{1,80}[(\[]?.{0,80}"  # os.environ[
    r"|[*.…•x#_?X-]{2,80}"  # a mask
    r"|(?:your|my|insert|enter|put|the|some|replace|example|sample|dummy|test|placeholder)[_ -][A-Za-z_ -]{2,60}(?:here)?"  # YOUR_API_KEY
    r"|(?:[A-Za-z]{1,30}[_.]){0,5}(?:password|passwd|pwd|secret|token|apikey|api_key|key|hash|salt)(?:[_.][A-Za-z]{1,30}){0,3}",  # user.password
    re.IGNORECASE,
)
"""A variable, a call or a mask in the place of a value."""

NAMED_AFTER = lazy(r"[a-z]{2,20}(?:Password|Passwd|Passphrase|Token|Secret|Key)[A-Za-z0-9]{0,20}")
"""The name of a variable: `setPassword`."""

NAMED_THING = lazy(
    r"(?i:sha|md|aes|rsa|des|wpa|wep|wps|pbkdf|argon|bcrypt|scrypt|base|crc?|iso|gb|iec|din|utf|rfc|cve|http"
    r"|html|css|mp|ipv?|usb|gpt|rtx|gtx|covid|nist|fips|fido|webauthn|pkcs|oauth|tls|ssl|ed|secp|curve|x|ax|ac)"
    r"[ -]?[0-9]{1,5}(?:[-/][A-Za-z0-9]{1,6}){0,2}|(?i:wpa[23]?-[a-z]{2,4})|[A-Z]{1,5}-?[0-9]{1,5}[A-Z]{0,2}"
    r"|[A-Z]{3,8}[0-9]{1,3}|[0-9]{1,4}[A-Z]{1,3}"
)
"""A standard, an algorithm or a model: SHA-256, ISO 27001, CR2032, WR841N. Codes mix letters and digits more."""
YEAR = lazy(r"(?:19|20)[0-9]{2}")
FAMOUS = lazy(
    r"0{4,8}|1{4,8}|1234(?:5(?:6(?:7(?:89?)?)?)?)?|qwert[yz][0-9]{0,4}|(?:password|passwort|admin|test|abc|parola|senha|hunter)[0-9]{1,4}|iloveyou"
)
"""Passwords that are talked about as examples."""

HEX_COLOUR = lazy(r"#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})")
"""CSS Color Module Level 4, section 5.2."""

OTHERWISE = lazy(
    r"[a-z][a-z0-9+.-]{1,20}://.{0,4000}"  # an address
    r"|[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}(?:T.{0,30})?|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:am|pm)?"  # a date, a time
    r"|v?[0-9]{1,4}(?:\.[0-9]{1,6}){1,3}|[0-9]{1,3}(?:[.,][0-9]{3}){1,4}"  # a version, an amount
    r"|[0-9]{1,12}(?:[.,][0-9]{1,4})?(?:%|°|x|px|em|k|kb|mb|gb|ms|s|sec|m|min|h|d|day|days|cm|mm|km|kg|g|ml|l|pm|am|st|nd|rd|th|\$|€|₫|đ|mah)"
    r"|[$€£¥₫][0-9][0-9.,]{0,15}k?",
    re.IGNORECASE,
)
"""Something with digits that is no password."""

UNLIKE_WORDS = lazy(r"[0-9]|[a-z][A-Z]|[A-Z]{2}[a-z]|[^\w\s'’/,;:-]")
"""What words lack."""


NAMES = frozenset({"password", "passwd", "pwd", "secret", "token", "apikey", "key"})
"""The references that have letters only."""

NUMERIC = frozenset("0123456789vV$€£¥₫")
"""What dates, amounts and versions begin with."""


@cache
def words_about() -> frozenset[str]:
    """Return words of all languages that stand where a secret would, and say something about it."""
    told = (*words("telling", "states", "lost", "filler"), *words("secret", "password", "login"))
    return NOT_A_VALUE | {word for word in told if "*" not in word}


def names_a_value(text: str) -> bool:
    """Tell whether `text` can be a literal secret at all, rather than a word about it or a reference to it."""
    if len(text) < 2 or (word := text.rstrip(".,;!?").lower()) in words_about():  # no secret is a letter
        return False
    if not any(map(str.isalnum, text)) or text[0] == "?":
        return False
    if text.isalnum() and text.isascii() and not NAMED_AFTER.fullmatch(text):
        return word not in NAMES and (len(word) > 80 or word.strip("x") != "")  # as long as a mask gets
    return not REFERENCE.fullmatch(text) and not NAMED_AFTER.fullmatch(text)


def looks_random(text: str) -> bool:
    """Tell whether `text` has digits, symbols inside, or capitals among small letters, and is no date, amount or address."""
    text = text.rstrip(".,;:!?)\"'")
    if UNLIKE_WORDS.search(text) is None or BRAND.fullmatch(text):
        return False
    return not (
        ((text[0] in NUMERIC or "://" in text) and OTHERWISE.fullmatch(text))
        or (text[0] == "#" and HEX_COLOUR.fullmatch(text))
    )
