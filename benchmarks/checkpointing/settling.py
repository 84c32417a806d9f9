"""Keep what is measured apart from what was done before."""

from __future__ import annotations

import gc
import sys


def leave_out_the_rest() -> None:
    """Keep the garbage collector from looking through what earlier measurements and imports have left."""
    gc.collect()
    gc.freeze()


def progress(text: str) -> None:
    """Say what is being measured."""
    print(text, file=sys.stderr, flush=True)
