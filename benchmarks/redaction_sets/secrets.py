"""Labelled rows with secrets, made at run time: `rows(seed, per_kind)`; and rows that only look so: `near_misses()`.

Run as a script it prints the leak by kind and language: in `benchmarks`: `python -m redaction_sets.secrets [-v] [kind ...]`.
"""

from __future__ import annotations

import base64
import collections
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from redaction_sets import near_misses as misses
from redaction_sets import secret_sentences as told
from redaction_sets.secret_forms import FORMS, NOT_TELLING, fill

LANGUAGES = ("en", "vi", "ru", "zh")
WORDS = [
    "sunshine",
    "monkey",
    "dragon",
    "summer",
    "football",
    "princess",
    "shadow",
    "winter",
    "flower",
    "tiger",
    "orange",
    "banana",
    "silver",
    "coffee",
    "rocket",
    "purple",
    "guitar",
    "castle",
    "marble",
    "window",
    "hammer",
    "planet",
    "ocean",
    "forest",
    "mirror",
    "pepper",
    "ginger",
    "cookie",
    "thunder",
    "lantern",
]
LOCAL_WORDS = ("matkhau", "saigon", "hanoi", "anhyeuem", "privet", "parol", "moskva", "taipei", "woaini", "qwerty")
BIP39 = [
    "abandon",
    "ability",
    "able",
    "about",
    "above",
    "absent",
    "absorb",
    "abstract",
    "absurd",
    "abuse",
    "access",
    "accident",
    "account",
    "accuse",
    "achieve",
    "acid",
    "acoustic",
    "acquire",
    "across",
    "act",
    "action",
    "actor",
    "actress",
    "actual",
    "adapt",
    "zebra",
    "zero",
    "zone",
    "zoo",
    "yellow",
    "young",
    "youth",
    "wrong",
    "yard",
    "year",
    "wrestle",
    "wrist",
    "write",
    "wool",
    "word",
    "work",
    "world",
    "worry",
    "worth",
    "wrap",
    "wreck",
    "window",
    "wine",
    "wing",
    "wink",
    "winner",
    "winter",
    "wire",
    "wisdom",
    "wise",
    "wish",
    "witness",
    "wolf",
    "woman",
    "wonder",
    "wood",
    "valley",
    "valve",
    "van",
    "vanish",
    "vapor",
    "various",
    "vast",
    "vault",
    "vehicle",
    "velvet",
    "vendor",
    "venture",
    "venue",
    "verb",
    "verify",
]
Row = dict[str, Any]
Parts = tuple[str, str]
"""A text with `{v}` put in already, and the value."""


def password(rng: random.Random) -> str:
    """Return a password of one of the styles that people use."""
    word, other = rng.choice(WORDS), rng.choice(WORDS)
    return rng.choice(
        (
            lambda: f"{word}{rng.randint(1, 9999)}",
            lambda: f"{word.title()}{rng.randint(10, 2030)}{rng.choice('!@#$%&*?')}",
            lambda: f"{word}{rng.choice('_-.@')}{other}{rng.randint(1, 99)}",
            lambda: word.replace("o", "0").replace("e", "3").replace("i", "1").title() + rng.choice("!#$%^&"),
            lambda: fill("{a12}", rng),
            lambda: (
                "".join(rng.choices("abcdefghjkmnpqrstuvwxyzABCDEFGHJKMN23456789!@#$%^&*()_+-=[]{}|;:,.<>?~", k=14))
                + "x"
            ),
            lambda: f"{rng.choice(LOCAL_WORDS)}{rng.randint(1, 2030)}",
            lambda: f"{rng.choice(LOCAL_WORDS).title()}@{rng.randint(1, 2030)}",
            lambda: fill("{d8}", rng),
            lambda: f"{word}-{other}-{rng.choice(WORDS)}",
            lambda: f"{word}{other}",
            lambda: f"!{word.upper()}{rng.randint(1, 99)}",
        )
    )()


def plain_password(rng: random.Random) -> str:
    """Return a password without what would end a shell word, a URL part or a string literal."""
    return rng.choice(
        (
            lambda: f"{rng.choice(WORDS)}{rng.randint(1, 9999)}",
            lambda: fill("{a14}", rng),
            lambda: f"{rng.choice(WORDS).title()}_{rng.randint(1, 999)}!",
            lambda: rng.choice(WORDS) + rng.choice(WORDS),
        )
    )()


def token(rng: random.Random) -> str:
    """Return a key or token that says nothing about its vendor."""
    return fill(
        rng.choice(
            (
                "{x32}",
                "{x40}",
                "{x64}",
                "{a24}",
                "{a32}",
                "{a40}",
                "{u43}",
                "{b40}",
                "{b86}==",
                "{l20}",
                "{U32}",
                "{232}",
                "{x16}",
                "{a16}",
                "{x8}-{x4}-4{x3}-b{x3}-{x12}",
                "{d8}{l10}",
            )
        ),
        rng,
    )


def put(template: str, value: str, **names: str) -> Parts:
    """Return the template with the value at `{v}`, and the value."""
    return template.format(v=value, **names), value


def _assigned(form: str, rng: random.Random) -> Parts:
    telling = rng.random() < 0.5
    name = rng.choice(told.PASSWORD_NAMES if telling else told.TOKEN_NAMES)
    value = plain_password(rng) if telling else token(rng)
    if form == "header":
        value = token(rng)
    words = name.lower().split("_")
    camel = words[0] + "".join(map(str.title, words[1:])) if len(words) > 1 else name
    return put(
        rng.choice(told.ASSIGNED[form]),
        value,
        n=name,
        N=name.upper(),
        k=name.replace("_", "-"),
        c=camel,
        C=camel[0].upper() + camel[1:],
    )


def _url(rng: random.Random) -> Parts:
    text, value = put(rng.choice(told.CONNECTION), plain_password(rng))
    return text, value


def _pem(rng: random.Random) -> Parts:
    label = rng.choice(
        (
            "RSA PRIVATE KEY",
            "PRIVATE KEY",
            "EC PRIVATE KEY",
            "OPENSSH PRIVATE KEY",
            "ENCRYPTED PRIVATE KEY",
            "DSA PRIVATE KEY",
        )
    )
    lines = [fill("{b64}", rng) for _ in range(rng.randint(2, 24))] + [fill("{b22}", rng) + "=="]
    head = (
        ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-256-CBC," + fill("{X32}", rng), ""]
        if label.startswith("RSA") and rng.random() < 0.3
        else []
    )
    begin, end = f"-----BEGIN {label}-----", f"-----END {label}-----"
    key = "\n".join([begin, *head, *lines, end])
    return rng.choice(
        (
            lambda: (f"Here is my key:\n{key}\nthanks", key),
            lambda: (
                '{"private_key": "' + key.replace("\n", "\\n") + '\\n", "client_id": "1"}',
                key.replace("\n", "\\n"),
            ),
            lambda: ('KEY="' + key.replace("\n", "\\n") + '"', key.replace("\n", "\\n")),
            lambda: (
                "key: |\n" + "\n".join("    " + line for line in key.split("\n")),
                "\n".join("    " + line for line in key.split("\n")).lstrip(),
            ),
            lambda: ("truncated:\n" + "\n".join([begin, *head, *lines]), "\n".join([begin, *head, *lines])),
            lambda: ("key " + key.replace("\n", " ") + " end", key.replace("\n", " ")),
            lambda: ("> " + key.replace("\n", "\n> "), key.replace("\n", "\n> ")),
            lambda: ("私鑰" + key.replace("\n", "\r\n") + "謝謝", key.replace("\n", "\r\n")),
        )
    )()


def _pgp(rng: random.Random) -> Parts:
    lines = [fill("{b64}", rng) for _ in range(9)] + [fill("{b30}", rng), "=" + fill("{b4}", rng)]
    key = "\n".join(
        [
            f"-----{'BEGIN'} PGP PRIVATE KEY BLOCK-----",
            "Version: GnuPG v2",
            "",
            *lines,
            "-----END PGP PRIVATE KEY BLOCK-----",
        ]
    )
    return f"my key\n{key}\n", key


def _putty(rng: random.Random) -> Parts:
    body = "\n".join(fill("{b64}", rng) for _ in range(5))
    return (
        f"PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 5\n{body}\nPrivate-MAC: {fill('{x64}', rng)}",
        body,
    )


def _basic(rng: random.Random) -> Parts:
    value = base64.b64encode(f"ann:{password(rng)}".encode()).decode()
    return put(
        rng.choice(
            (
                "Authorization: Basic {v}",
                "curl -H 'Authorization: Basic {v}' https://example.com",
                "Basic {v}",
                "proxy-authorization: basic {v}",
            )
        ),
        value,
    )


def _aws_pair(rng: random.Random) -> Parts:
    access = fill(FORMS["aws_access"], rng)
    return put(
        rng.choice(
            (
                f"{access} {{v}}",
                f"{access}:{{v}}",
                f"aws_access_key_id = {access}\naws_secret_access_key = {{v}}",
                f"access key {access} secret {{v}}",
                f"{access},{{v}}",
            )
        ),
        fill("{b40}", rng),
    )


def _seed(rng: random.Random, lang: str) -> Parts:
    return put(rng.choice(told.SEED[lang]), " ".join(rng.choices(BIP39, k=rng.choice((12, 15, 18, 24)))))


def _code(kind: str, rng: random.Random, lang: str) -> Parts:
    digits = {"otp": (4, 6, 6, 6, 8), "pin": (4, 4, 6), "cvv": (3, 3, 4)}[kind]
    return put(rng.choice(told.CODE_TOLD[kind][lang]), fill(f"{{d{rng.choice(digits)}}}", rng))


Make = Callable[[random.Random, str], Parts]
"""Makes one text in a language, and the value in it."""


def _vendor(form: str) -> Make:
    return lambda rng, lang: put(rng.choice(told.TOKEN_AROUND[lang]), fill(form, rng))


def _bold(rng: random.Random, _lang: str) -> Parts:
    value = fill(FORMS[rng.choice(("openai", "github_classic", "stripe_live", "aws_access", "gitlab"))], rng)
    split = rng.randint(3, len(value) - 3)
    return put("key {v} ok", f"{value[:split]}**{value[split : split + 4]}**{value[split + 4 :]}")


def kinds() -> Mapping[str, Make]:
    """Return what makes each kind."""
    made: dict[str, Make] = {f"vendor:{name}": _vendor(form) for name, form in FORMS.items() if name not in NOT_TELLING}
    made |= {
        "vendor_split_by_bold": _bold,
        "password_told": lambda rng, lang: put(rng.choice(told.PASSWORD_TOLD[lang]), password(rng)),
        "token_told": lambda rng, lang: put(rng.choice(told.TOKEN_TOLD[lang]), token(rng)),
        "security_answer": lambda rng, lang: put(rng.choice(told.ANSWERS[lang]), rng.choice(told.ANSWER_VALUES[lang])),
        "passphrase": lambda rng, lang: put(
            rng.choice(told.PHRASES[lang]), " ".join(rng.choices(WORDS, k=rng.randint(3, 5)))
        ),
        "seed_phrase": _seed,
        "pem": lambda rng, _: _pem(rng),
        "pgp": lambda rng, _: _pgp(rng),
        "putty": lambda rng, _: _putty(rng),
        "connection_string": lambda rng, _: _url(rng),
        "connection_ado": lambda rng, _: put(rng.choice(told.ADO), plain_password(rng)),
        "connection_azure": lambda rng, _: put(rng.choice(told.AZURE), fill("{b86}==", rng)),
        "auth_header": lambda rng, _: put(rng.choice(told.AUTH), token(rng)),
        "auth_basic": lambda rng, _: _basic(rng),
        "cookie": lambda rng, _: put(
            rng.choice(told.COOKIE), fill(rng.choice(("{l26}", "{x32}", "{a40}", "{u43}")), rng)
        ),
        "password_cli": lambda rng, _: put(rng.choice(told.PASSWORD_CLI), plain_password(rng)),
        "aws_pair": lambda rng, _: _aws_pair(rng),
    }
    made |= {f"code_{kind}": lambda rng, lang, kind=kind: _code(kind, rng, lang) for kind in told.CODE_TOLD}  # type: ignore[misc]  # the default binds the loop variable
    made |= {f"assigned_{form}": lambda rng, _, form=form: _assigned(form, rng) for form in told.ASSIGNED}  # type: ignore[misc]  # the default binds the loop variable
    return made


def rows(seed: int, per_kind: int) -> Iterator[Row]:
    """Yield `per_kind` labelled rows of each kind, the languages in turn; offsets count code points."""
    for kind, make in kinds().items():
        rng = random.Random(f"{seed}-{kind}")
        for number in range(per_kind):
            lang = LANGUAGES[number % len(LANGUAGES)]
            text, value = make(rng, lang)
            start = text.index(value)
            span = {"start": start, "end": start + len(value), "type": "SECRET", "otype": kind, "value": value}
            yield {
                "id": f"secrets-{kind}-{number}",
                "src": "generated",
                "lang": lang,
                "text": text,
                "spans": [span],
                "neg": False,
            }


def near_misses() -> Iterator[Row]:
    """Yield rows in which nothing may be masked."""
    for lang, lines in misses.SENTENCES.items():
        for number, text in enumerate(lines.splitlines()):
            yield {
                "id": f"near-{lang}-{number}",
                "src": "generated",
                "lang": lang,
                "text": text,
                "spans": [],
                "neg": True,
            }


def main(arguments: Sequence[str]) -> None:
    """Print the leak by kind and language, and what is masked of the near misses."""
    from discreet.redaction import Redactor  # the generator itself needs no redactor

    wanted = [each for each in arguments if not each.startswith("-")]
    redactor = Redactor()
    total: collections.Counter[tuple[str, str]] = collections.Counter()
    leaked: collections.Counter[tuple[str, str]] = collections.Counter()
    shown: dict[str, list[str]] = collections.defaultdict(list)
    for row in rows(7, 240 if wanted else 24):
        span = row["spans"][0]
        kind, lang, text = span["otype"], row["lang"], row["text"]
        if wanted and not any(each in kind for each in wanted):
            continue
        masked = {place for found in redactor.findings(text) for place in range(found.start, found.end)}
        places = [place for place in range(span["start"], span["end"]) if text[place].isalnum()]
        total[kind, lang] += 1
        if sum(place in masked for place in places) < 0.8 * len(places):
            leaked[kind, lang] += 1
            shown[kind].append(text)
    for group in ("vendor:", ""):
        chosen = [key for key in total if key[0].startswith("vendor:") == bool(group)]
        for lang in LANGUAGES:
            seen, lost = (sum(counter[key] for key in chosen if key[1] == lang) for counter in (total, leaked))
            print(f"{group or 'other:':10}{lang} {lost}/{seen} {100 * lost / max(1, seen):.1f} %")
    for kind in sorted({key[0] for key in leaked}, key=lambda each: -len(shown[each])):
        seen = sum(total[kind, lang] for lang in LANGUAGES)
        print(
            f"  {kind:28}{100 * len(shown[kind]) / seen:5.1f} %  ",
            " ".join(f"{lang} {leaked[kind, lang]}/{total[kind, lang]}" for lang in LANGUAGES),
        )
        if "-v" in arguments:
            for text in shown[kind][:30]:
                print("       ", repr(text[:230]))
    near = list(near_misses())
    wrong = [
        (row["text"], [row["text"][each.start : each.end] for each in found])
        for row in near
        if (found := redactor.findings(row["text"]))
    ]
    print(f"near misses masked: {len(wrong)}/{len(near)}")
    for case in wrong:
        print("       ", *case)


if __name__ == "__main__":
    main(sys.argv[1:])
