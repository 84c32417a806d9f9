"""Every word of the page is there in all of its languages."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from discreet.api import me, pages
from discreet.api.me.area import AREA, WORDS
from discreet.api.me.my_memories import DONE

FOLDERS = [Path(package.__file__).parent for package in (me, pages)]
NOT_ON_IT = {"Paste a bearer token or an API key of this server.", "You are no administrator"}
"""The first is in a part of a template that this page replaces, the second about other pages."""


def in_templates():
    """Return what templates have translated."""
    files = [file for folder in FOLDERS for file in folder.glob("templates/*.html")]
    return {text for file in files for text in re.findall(r'_\("([^"]*)"\)', file.read_text(encoding="utf-8"))}


def in_code():
    """Return the texts of errors, of `say`, and of fields that are wrong."""
    found = set(DONE.values())
    for file in (file for folder in FOLDERS for file in folder.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                said = node.args if name in ("PageError", "say") else ()
                said = [*said, *(each.value for each in node.keywords if each.arg == "error")]
                found |= {each.value for each in said if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return {text for text in found if text}


def texts():
    return (in_templates() | in_code() | {AREA.title, AREA.footer, *(words for _, words in AREA.menu)}) - NOT_ON_IT


@pytest.mark.parametrize("language", [each for each in AREA.languages if each != "en"])
def test_nothing_is_left_in_english(language):
    assert texts() - WORDS.file[language].keys() == set()
    assert all(WORDS.file[language].values())


def test_what_has_no_words_stays_as_it_is():
    assert AREA.translate("Of nobody", "ru") == "Of nobody"
    assert AREA.translate("Forget", "en") == "Forget"
