"""A house over a database of its own."""

from __future__ import annotations

import pytest
from testkit.erasing import a_house


@pytest.fixture
async def house(database):
    """Return a house over a database without rows."""
    async with a_house(database) as opened:
        yield opened
