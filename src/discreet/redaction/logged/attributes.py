"""Attributes of log records."""

from __future__ import annotations

import logging
from typing import Final

STANDARD: Final = frozenset({*vars(logging.makeLogRecord({})), "asctime"})
"""Those that every record has. Some hold text of callers; the rest says where and when."""

SAID: Final = ("msg", "args", "exc_info", "exc_text", "stack_info")
"""Those that hold text of callers."""

PLACES: Final = STANDARD - {*SAID}
