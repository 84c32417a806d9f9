"""Start a program with Python's cyclic garbage collector off.

A server of Python makes a million objects that stay, and the collector looks through all of them again and again: 0.5 of the
3 s that it takes (`benchmarks/start.py`).
"""

from __future__ import annotations

import gc
import threading

LONGEST_SECONDS = 10.0
"""Then the collector is on, whatever was started and whether or not it has said that it has."""


def begin() -> None:
    """Turn the collector off until `started`, or for some seconds."""
    gc.disable()
    latest = threading.Timer(LONGEST_SECONDS, started)
    latest.daemon = True
    latest.start()


def started() -> None:
    """Turn the collector on again; it leaves alone what is there by now. Does nothing where it was not turned off."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
