"""Where the pages of the administrator are, and what their header leads to."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from discreet.api.pages import Area

PREFIX: Final = "/memory/admin"

FOLDER: Final = Path(__file__).parent

MENU: Final = (("/settings", "Settings"), ("/history", "History"), ("/users", "Memories"))
BACKGROUND_MENU: Final = (("/jobs", "Jobs"), ("/review", "Review"))
"""Besides, where there is background memory."""


def admin_area(*, background: bool) -> Area:
    """Return the area, with or without the pages about background memory."""
    return Area(
        name="admin",
        prefix=PREFIX,
        home="/settings",
        title="memory",
        footer="All times are UTC. Texts are shown as they are stored: placeholders stand for what was taken out.",
        folder=FOLDER,
        menu=(*MENU, *BACKGROUND_MENU) if background else MENU,
        admins_only=True,
    )
