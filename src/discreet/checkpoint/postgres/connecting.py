"""How upstream's savers want their connections."""

from __future__ import annotations

from typing import Any

from psycopg.rows import dict_row

CONNECTION: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
"""For `connect`, and for a pool's `kwargs`."""

CONNECT_TIMEOUT_SECONDS = 10.0
