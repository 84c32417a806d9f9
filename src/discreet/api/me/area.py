"""Where the pages of a user's own memories are, and which languages they speak."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from discreet.api.pages import Area
from discreet.api.pages.translations import Translations

PREFIX: Final = "/memory/me"

FOLDER: Final = Path(__file__).parent

WORDS: Final = Translations(FOLDER / "words.toml")

AREA: Final = Area(
    name="me",
    prefix=PREFIX,
    home="/memories",
    title="my memories",
    footer="All times are UTC. Placeholders such as <EMAIL> stand for what was never kept.",
    folder=FOLDER,
    menu=(("/memories", "Memories"), ("/forget", "Forget"), ("/take-away", "Take away")),
    languages=("en", "vi", "ru", "zh"),
    translate=WORDS.translate,
)
