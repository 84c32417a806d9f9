"""The OpenAPI of the application, made beforehand."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

NAME = "openapi.json"


def stored_openapi() -> dict[str, Any]:
    """Return it, as `tools/make_openapi.py` wrote it. A LangGraph server asks for it before it serves, and making it takes 0.2 s."""
    document: dict[str, Any] = json.loads(files("discreet.api").joinpath(NAME).read_text(encoding="utf-8"))
    return document
