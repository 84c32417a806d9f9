"""Servers with and without the layers that keep them clean."""

from __future__ import annotations

import sys
from pathlib import Path

# The suite is a package of its own, because the server under test has a copy of it too.
sys.path.insert(0, str(Path(__file__).parent))
