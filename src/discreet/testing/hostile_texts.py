"""Texts made to exhaust whatever searches them, for the tests of recognisers."""

# ruff: noqa: RUF001  # scripts are mixed on purpose

from __future__ import annotations

import base64
import random
import sys
import unicodedata
from collections.abc import Mapping

BEGIN = "BEGIN"
"""Apart from the rest of its line, so that no scanner of code takes it for a key."""

LETTERS_AND_DIGITS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

REPEATED: Mapping[str, str] = {
    # Runs of one character of each class: a pattern that may begin anywhere in one reads the rest each time.
    "small letters": "a",
    "capital letters": "A",
    "hex digits": "f",
    "digits": "9",
    "zeros": "0",
    "spaces": " ",
    "newlines": "\n",
    "tabs": "\t",
    "dots": ".",
    "dashes": "-",
    "underscores": "_",
    "colons": ":",
    "slashes": "/",
    "backslashes": "\\",
    "equals signs": "=",
    "plus signs": "+",
    "percent signs": "%",
    "ampersands": "&",
    "at signs": "@",
    "less-than signs": "<",
    "asterisks": "*",
    "tildes": "~",
    "quotes": '"',
    "apostrophes": "'",
    "open brackets": "([{",
    "Cyrillic letters": "я",
    "Han": "路",
    "Han digits": "三",
    "spelt Han digits": "三 ",
    "Vietnamese letters": "ệ",
    "combining marks": "\u0301",
    "zalgo": "a\u0301\u0316\u0489\u20dd",
    "zero-width spaces": "\u200b",
    "zero-width spaces between digits": "4\u200b",
    "right-to-left marks": "\u200f",
    "bidi overrides": "1\u202e2\u202c",
    "tag characters": "\U000e0041",
    "variation selectors": "1\ufe0f",
    "soft hyphens": "a\u00ad",
    "fullwidth digits": "\uff19",
    "fullwidth letters": "\uff41",
    "circled digits": "\u2460",
    "mathematical digits": "\U0001d7ce",
    "characters that grow": "\ufdfa",
    "bracketed digits": "\u2474",
    "emoji joined": "\U0001f468\u200d\U0001f469\u200d\U0001f467 ",
    "mixed scripts": "раss",
    # E-mail addresses.
    "a@": "a@",
    "a.": "a.",
    "a-": "a-",
    "a@a.": "a@a.",
    "almost addresses": "a@a ",
    "addresses": "ann@example.com ",
    "addresses in Han": "信箱test@example.com謝謝",
    "at in words": "ann at example dot com ",
    "at in brackets": "a [at] b [dot] ",
    # Numbers.
    "digits with spaces": "1 ",
    "digits with dashes": "1-",
    "digits with dots": "1.",
    "digits with commas": "1,",
    "digits on lines": "1\n",
    "pairs of digits": "12 34 ",
    "Russian trunk prefix": "8 912 ",
    "plus and digits": "+1",
    "area codes": "(202) ",
    "telephone numbers": "+1 202 456 1111, ",
    "mobile numbers in a row": "0912345678 ",
    "cards": "4111 1111 1111 1111 ",
    "almost cards": "4111 1111 1111 1112 ",
    "IBAN prefixes": "GB82",
    "IBAN groups": "GB82 WEST ",
    "IBANs": "GB82 WEST 1234 5698 7654 32 ",
    "social security numbers": "123-45-6789 ",
    "identity numbers": "11010519491231002X,",
    "versions": "1.2.3.",
    "IPv4": "1.2.3.4 ",
    "IPv6 groups": "f:",
    "IPv6 colons": "::1",
    "MAC addresses": "aa:bb:cc:dd:ee:ff ",
    "dates": "2024-01-31 12:34:56 ",
    # Secrets.
    "password=": "password=",
    "password is": "password is ",
    "password is followed": "my password is a ",
    "mật khẩu là": "mật khẩu là ",
    "пароль": "пароль: ",
    "密碼是": "密碼是",
    "key names": "api_key_secret_token_",
    "key: ": 'key: "',
    "Bearer": "Bearer ",
    "Authorization": "Authorization: Basic ",
    "JWT heads": "eyJ",
    "JWT": "eyJhbGciOiJIUzI1NiJ9.",
    "vendor prefixes": "sk-",
    "vendor prefixes of GitHub": "ghp_",
    "vendor prefixes of AWS": "AKIA",
    "PEM BEGIN": f"-----{BEGIN} PRIVATE KEY-----\n",
    "PEM BEGIN and a line": f"-----{BEGIN} RSA PRIVATE KEY-----\n" + "A" * 64 + "\n",
    "PEM END": "-----END PRIVATE KEY-----\n",
    "PEM edges": "-----BEGIN ",
    # URLs and connection strings.
    "://": "://",
    "http://": "http://",
    "http://a:": "http://a:",
    "http://a:b@": "http://a:b@",
    "postgres://": "postgres://a:b",
    "query": "https://a.b/?token=",
    "query parts": "&a=b",
    "www.": "www.",
    # Escapes, once and over and over.
    "%25": "%25",
    "%41": "%41",
    "%40 between letters": "a%40a.",
    "%2525": "%252525",
    "HTML numbers": "&#97;",
    "HTML names": "&amp;",
    "HTML unclosed": "&#",
    r"\u0061": r"\u0061",
    r"\x61": r"\x61",
    r"\n": r"\n",
    "quoted-printable": "=61",
    # Addresses.
    "streets": "12 Main St, ",
    "streets alone": "Street ",
    "house numbers": "No. 12 ",
    "ул.": "ул. ",
    "ул. и дом": "г. Москва, ул. Ленина, д. ",
    "đường": "đường ",
    "số nhà": "số 12 đường Lê Lợi, quận ",
    "路號": "路 號",
    "市區路": "台北市信義區",
    "address labels": "Address: 1 ",
    "address labels on lines": "Address: 1\n",
    "улица": "улица 1 ",
    "дом и квартира": "дом 1 кв ",
    "đường 1": "đường 1 ",
    "شارع": "شارع 1 ",
    "rue, calle, via": "rue 1 calle 2 via 3 ",
    "flats and floors": "flat 1 floor ",
    "號樓": "1號2樓",
    "sokak": "Lale Sokak No ",
    # What a word beside it names.
    "VIN words": "VIN: 1 ",
    "VINs": "1M8GDM9AXKP042788 ",
    "almost VINs": "1M8GDM9A1KP042788 ",
    "pairs of MAC addresses": "aa:bb:",
    "fours of MAC addresses": "aabb.ccdd.",
    "IMEI words": "IMEI 1 ",
    "IMEIs": "35-209900-176148-1 ",
    "number plate words": "biển số 1 ",
    "number plates": "51F-482.19 К482ВТ77 京AF4821 ",
    "almost number plates": "license plate AB 1 ",
    "births": "born 1 ",
    "birth dates": "ngày sinh 1/1/",
    "account words": "account number 1 ",
    "account numbers": "stk 1234 5678 90 ",
    "passport words": "паспорт 1 ",
    "patient words": "MRN 1 病历号1 ",
    # What is told.
    "password words": "password ",
    "password words of many languages": "пароль mật khẩu 密码 Passwort senha hasło şifre 비밀번호 ",
    "password words and tokens": "password a1!b2 ",
    "said first": "kite44 is my ",
    "typed": "use kite44 as ",
    "code 1": "code 1 ",
    "codes": "code 482113 ",
    "codes of doors": "door press 4829 ",
    "security answers": "security answer: a ",
    "logins": "login: a / ",
    "logins on lines": "login: a b1\n",
    "credential list": "a@b:c\n",
    "credential list with domains": "a@b.co:c1\n",
    "fields between colons": "a:1:a:a:",
    "table headings": "user,password\n",
    "table rows": "| user | password |\n| bob | dragon |\n",
    "Wi-Fi codes": "WIFI:S:a;P:",
    "INSERT": "INSERT INTO t (a, password) VALUES ",
    "INSERT rows": "INSERT INTO t (password) VALUES ('a'),('b');\n",
    # Numbers in words.
    "spoken English": "one two ",
    "spoken German": "ein zwei ",
    "spoken French": "un deux ",
    "spoken Spanish": "uno dos ",
    "spoken Turkish": "bir iki ",
    "spoken Vietnamese": "một hai ",
    "spoken Russian": "один два сто ",
    "spoken languages": "one hai три vier cinq sei siedem sekiz ",
    "spoken and doubled": "double triple ",
    # What was masked in part, wrapped, scanned or spaced out.
    "half-redacted": "0912 xxx ",
    "half-redacted by asterisks": "12 ** ",
    "half-redacted in a run": "1xx",
    "half-redacted beside numbers": "xx 4111111111111112 ",
    "half-redacted by words": "1234[HIDDEN]",
    "placeholders and digits": "<CARD> 1 ",
    "placeholders between digits": "card 12<CARD>34 ",
    "wrapped numbers": "1234 1234\n> 1234-\n",
    "scanned numbers": "41ll O1IO ",
    "spaced out": "a n n @ ",
    # Markup, and what stands for values.
    "placeholders": "<EMAIL>",
    "placeholders with tags": "<EMAIL:7K2QX3MD>",
    "placeholders unclosed": "<EMAIL",
    "placeholders nested": "<EMAIL<",
    "tags": "<b>",
    "tags in digits": "1<b>2</b>",
    "emphasis": "1**",
    "code": "`a`",
    # What programs write.
    "CSV": "7,ann,0912345678,2024-01-31,\n",
    "number table": "0.123 456.7 -8.9e-10 1,234 ",
    "log lines": "2024-01-31T12:34:56.789Z INFO [a.b.C] id=9f8e7d6c took=12ms\n",
    "JSON open": '{"a":',
    "JSON lists": "[" * 7 + "]" * 6,
    "JSON with escaped quotes": '{\\"token\\": \\"',
    "JSON records": '{"id":12345678,"name":"ann","key":null},',
    "minified JavaScript": "function(e,t){var n=e.k[t];return n=n||{a:1},n.b?e:t}",
    "YAML": "password:\n  value: ",
}
"""Kind -> what is repeated until the text is long enough."""


def hostile_texts(size: int, *, seed: int = 0) -> dict[str, str]:
    """Return texts of `size` characters each, by the name of what is hostile about them; the same for the same `seed`.

    Every search should be linear in them, and `Redactor.redact` take less than a second for 100,000 characters.

    Example:
        >>> hostile_texts(6)["a@"]
        'a@a@a@'
    """
    chance = random.Random(seed)  # noqa: S311  # texts to search, not keys
    texts = {kind: _repeat(unit, size) for kind, unit in REPEATED.items()}
    texts |= {
        "a@ and labels": "a@" + _repeat("a.", size - 2),
        "one PEM without END": f"-----{BEGIN} PRIVATE KEY-----\n" + _repeat("A" * 64 + "\n", size),
        "one placeholder without end": "<EMAIL:" + _repeat("A", size),
        "one long URL": "https://example.com/?token=" + _repeat("a%41", size),
        "one long user name": "http://" + _repeat("a", size - 20) + ":" + "b" * 9 + "@c",
        "one long address": _repeat("a", size - 12) + "@example.com",
        "one INSERT with many rows": _begun("INSERT INTO t (a, password) VALUES ", "('a', 'b'), ", size),
        "one INSERT without end": _begun("INSERT INTO t (password) VALUES (", "'a', ", size),
        "one table": _begun("user,password\n", "bob,dragon\n", size),
        "one word for a password": _begun("password ", "a1-", size),
        "one word for an address": _begun("Address: ", "1 a, ", size),
        "one number half redacted": _begun("1234", "x ", size),
        "base64 of base64": _nested_base64(size),
        "hex": "".join(chance.choices("0123456789abcdef", k=size)),
        "letters and digits": "".join(chance.choices(LETTERS_AND_DIGITS, k=size)),
        "random digits": "".join(chance.choices("0123456789", k=size)),
        "random digits and separators": "".join(chance.choices("0123456789 -.()+/", k=size)),
        "random punctuation": "".join(chance.choices("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", k=size)),
        "random ASCII": "".join(chance.choices([chr(code) for code in range(32, 127)], k=size)),
        "random Unicode": "".join(_any_char(chance) for _ in range(size)),
        "random tokens": " ".join("".join(chance.choices(LETTERS_AND_DIGITS, k=32)) for _ in range(size // 33 + 1)),
        "random kinds": "".join(chance.choices(list(REPEATED.values()), k=size)),
    }
    return {kind: text[:size].ljust(size, ".") for kind, text in texts.items()}


def _repeat(unit: str, size: int) -> str:
    return (unit * (max(0, size) // len(unit) + 1))[: max(0, size)]


def _begun(start: str, unit: str, size: int) -> str:
    return start + _repeat(unit, size)


def _nested_base64(size: int) -> str:
    """Return what has to be decoded again and again: each time a quarter of it is gone."""
    text = b"ann@example.com "
    while len(text) < size:
        text = base64.b64encode(text * 2)
    return text.decode()


def _any_char(chance: random.Random) -> str:
    """Return a character of any plane that is assigned, no surrogate."""
    while True:
        char = chr(chance.randrange(1, sys.maxunicode))
        if unicodedata.category(char) not in ("Cs", "Cn", "Co"):
            return char
