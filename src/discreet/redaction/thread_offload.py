"""Read a setting or a key in a thread of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TypeVar

Outcome = TypeVar("Outcome")

_let_others_run = getattr(os, "sched_yield", lambda: None)
"""Gives the interpreter to the thread that reads, which would wait 5 ms for it at each file. Windows and macOS have none."""


def read_apart(read: Callable[[], Outcome]) -> Outcome:
    """Return what `read` returns, or raise what it raises.

    What is read once a process, such as a small file, may be asked for first on an event loop. Servers that watch their loops
    for file access, as `langgraph dev` does, would fail the turn that happens to be the first.
    """
    outcomes: list[Outcome] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            outcomes.append(read())
        except BaseException as error:  # noqa: BLE001  # raised again in the thread that asked
            errors.append(error)

    thread = threading.Thread(target=work, name="discreet-settings", daemon=True)
    thread.start()
    while (
        thread.is_alive()
    ):  # no `join`: waiting for a lock is watched for as well, and this lasts for milliseconds, once
        _let_others_run()
    if errors:
        raise errors[0]
    return outcomes[0]
