"""Load what the first turn needs while nobody waits for it."""

from __future__ import annotations

import logging
import time

from discreet.nodes.memory_gate import decide
from discreet.ports import TextRedactor
from discreet.providers.tokens import count_tokens

logger = logging.getLogger(__name__)

UNDECIDED = "What could be on a boat?"
"""The gate's rules leave it open, so that the local embedding and the prototypes are loaded too."""


def warm(redactor: TextRedactor) -> None:
    """Redact, decide and count once. It took the first turn of a server 1.0 s; here it is done beside the start."""
    started = time.perf_counter()
    try:
        redactor.redact(UNDECIDED)
        decide(UNDECIDED)
        count_tokens(UNDECIDED)
    except Exception as error:  # noqa: BLE001  # the first turn meets it again, and says what is wrong or goes on without
        logger.warning("server_not_warmed cause=%s", type(error).__name__)
    else:
        logger.info("server_warmed seconds=%.2f", time.perf_counter() - started)
