"""The words of the playground in its languages."""

import re
from importlib.resources import files

import pytest

from discreet.api.playground.stored import TITLES
from discreet.api.playground.words import LANGUAGES, translate

ROOM = files("discreet.api.playground")
SOURCES = [*(ROOM / "templates").iterdir(), ROOM / "router.py", ROOM / "pages.py"]
SAID = {
    *(text for source in SOURCES for text in re.findall(r'_\("([^"]+)"\)', source.read_text(encoding="utf-8"))),
    *re.findall(r'(?:title|footer|notice)="([^"]+)"', "".join(s.read_text(encoding="utf-8") for s in SOURCES)),
    *TITLES.values(),
}


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_every_text_of_the_page_is_there_in_every_language(language):
    assert {text for text in SAID if translate(text, language) == text} == set()
