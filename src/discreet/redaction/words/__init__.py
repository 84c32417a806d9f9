"""Words of each language that recognisers know: one file a language, read once.

A file has tables (`secret`, `telling`, `code`, `answer`, `spelled`, `address`) of lists of words in small letters. A `*` at the
end of a word stands for any letters that follow, one at its beginning for any that come before; a space for a space, a
hyphen, `_` or nothing. `spaced = false` is for scripts that don't put spaces between words.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

LATIN = "a-z\u00c0-\u024f\u1e00-\u1eff"
CYRILLIC = "\u0400-\u04ff"
_SUFFIX = "[^\\W\\d_]{0,12}"
_GAP = "[ _-]?"


@dataclass(frozen=True, slots=True)
class Language:
    """The words of one language."""

    code: str
    """ISO 639-1."""
    spaced: bool
    """Whether it puts spaces between words."""
    tables: Mapping[str, Mapping[str, tuple[str, ...]]]

    def words(self, table: str, name: str) -> tuple[str, ...]:
        """Return a list of words; empty if the language has none."""
        return self.tables[table].get(name, ())


@cache
def languages() -> tuple[Language, ...]:
    """Return all languages, in the order of their codes."""
    found = (path for path in files(__name__).iterdir() if path.name.endswith(".toml"))
    return tuple(
        _language(path.name.removesuffix(".toml"), tomllib.loads(path.read_text("utf-8")))
        for path in sorted(found, key=lambda path: path.name)
    )


def _language(code: str, data: dict[str, Any]) -> Language:
    tables = {
        table: {name: tuple(entry) if isinstance(entry, list) else (entry,) for name, entry in lists.items()}
        for table, lists in data.items()
        if isinstance(lists, dict)
    }
    return Language(code, data.get("spaced", True), tables)


@cache
def words(table: str, *names: str, spaced: bool | None = None) -> tuple[str, ...]:
    """Return the lists of all languages as one, without repetitions; of those only that put spaces between words or don't."""
    return tuple(
        dict.fromkeys(
            word
            for language in languages()
            if spaced in (None, language.spaced)
            for name in names
            for word in language.words(table, name)
        )
    )


def any_of(names: str | Iterable[str], *, caseless: bool = False) -> str:
    """Return a pattern for any of the `names`, given one by one or between bars; the longest if several fit.

    It compares each character once: Python's `re` tries the names of an alternation one after another.
    """
    return _any_of(tuple(names.split("|") if isinstance(names, str) else names), caseless)


@cache
def _any_of(names: tuple[str, ...], caseless: bool) -> str:
    tree: dict[str, Any] = {}
    for name in names:
        node = tree
        for char in name:
            node = node.setdefault(char, {})
        node[""] = {}
    return f"(?:{_written(tree, caseless=caseless)})" if tree else ""


def _written(tree: dict[str, Any], *, caseless: bool) -> str:
    options = [
        (
            f"[{char.lower()}{char.upper()}]"
            if caseless and char.isalpha()
            else char
            if char.isalnum()
            else re.escape(char)
        )
        + _written(rest, caseless=caseless)
        for char, rest in tree.items()
        if char
    ]
    if len(options) == 1 and "" not in tree:
        return options[0]
    single = [option for option in options if len(option) == 1]
    if len(single) > 1:
        options = [f"[{''.join(single)}]", *(option for option in options if len(option) > 1)]
    return f"(?:{'|'.join(options)}){'?' if '' in tree else ''}" if options else ""


def whole(entries: Iterable[str]) -> str:
    """Return a pattern, for text in small letters, of `entries` as whole words.

    Letters of another script may stand beside them, and beside those of scripts without spaces any may.
    """
    return _whole(tuple(entries))


@cache
def _whole(entries: tuple[str, ...]) -> str:
    by_script: dict[str, list[str]] = {"latin": [], "cyrillic": [], "other": []}
    for entry in entries:
        by_script[_script(entry.lstrip("*")[:1])].append(entry)
    parts = (
        _edged(by_script["latin"], LATIN),
        _edged(by_script["cyrillic"], CYRILLIC),
        _glued(any_of(by_script["other"])),
    )
    return f"(?:{'|'.join(filter(None, parts))})"


def _script(letter: str) -> str:
    """Return which of the scripts that are told apart a letter is of."""
    if letter > "\u052f" and not "\u1e00" <= letter <= "\u1eff":
        return "other"
    return "cyrillic" if "\u0400" <= letter <= "\u04ff" else "latin"


def _edged(entries: list[str], letters: str) -> str:
    """Return a pattern of words of a script, with no letter of it at either side."""
    compounds = [entry[1:] for entry in entries if entry.startswith("*")]
    plain = [entry for entry in entries if not entry.startswith("*")]
    tries = [f"(?<![{letters}]){any_of(plain)}" if plain else "", any_of(compounds)]
    return f"(?:{'|'.join(map(_glued, filter(None, tries)))})(?![{letters}])" if entries else ""


def _glued(pattern: str) -> str:
    """Return a pattern of `any_of` in which `*` and spaces are what they stand for."""
    return pattern.replace("\\*", _SUFFIX).replace("\\ ", _GAP)
