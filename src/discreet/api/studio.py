"""Whether the server lets in who says to be LangGraph Studio."""

from __future__ import annotations

import sys
from typing import Final

SERVER: Final = "langgraph_api.config"
"""Says how the server was started. It is there if the server runs us."""


def lets_studio_in() -> bool:
    """Tell whether a request with `x-auth-scheme: langsmith` passes without a token of ours.

    Only `langgraph dev` takes its word for it. In other servers an account of LangSmith is asked for, which the handlers
    of `auth` refuse: such a request is then like any other, and nothing of it is read before its credentials are checked.
    """
    config = sys.modules.get(SERVER)
    auth = getattr(config, "LANGGRAPH_AUTH", None) or {}
    is_dev = getattr(config, "API_VARIANT", "") == "local_dev" and getattr(config, "LANGGRAPH_AUTH_TYPE", "") == "noop"
    return is_dev and not auth.get("disable_studio_auth", False)
