"""Where the pages of the administrator are, and what their header leads to."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from discreet.api.pages import Area

PREFIX: Final = "/memory/admin"

FOLDER: Final = Path(__file__).parent

PEOPLE: Final = (("/people", "People"),)
DATABASE: Final = (("/conflicts", "Conflicts"),)
BACKGROUND: Final = (("/review", "Review"), ("/jobs", "Jobs"))
SETTINGS: Final = (("/settings", "Settings"), ("/history", "History"))
"""What the header leads to, the second and the third where there is a database and background memory."""


def admin_area(*, background: bool, database: bool) -> Area:
    """Return the area, with the pages that there are."""
    return Area(
        name="admin",
        prefix=PREFIX,
        home="/people",
        title="memory",
        footer="All times are UTC. Texts are shown as they are stored: placeholders stand for what was taken out.",
        folder=FOLDER,
        menu=(*PEOPLE, *(DATABASE if database else ()), *(BACKGROUND if background else ()), *SETTINGS),
        admins_only=True,
    )
