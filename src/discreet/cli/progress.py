"""Show how far a command is: on standard error, on a terminal only, and gone when it is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

_WHAT = TextColumn("{task.description}")


@contextmanager
def bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield what shows how many of `total` are done; of more, if there are more in the end."""
    with _shown(_WHAT, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done, total=max(done, total))


@contextmanager
def spinner(what: str) -> Iterator[Callable[[str], None]]:
    """Yield what shows another text, of something of which nobody knows how much it is."""
    with _shown(SpinnerColumn(), _WHAT, TimeElapsedColumn()) as progress:
        task = progress.add_task(what, total=None)
        yield lambda text: progress.update(task, description=text)


@contextmanager
def interruptible(said: str) -> Iterator[None]:
    """Say what stays if somebody stops the command by Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        print(said, file=sys.stderr)
        raise


def _shown(*columns: ProgressColumn) -> Progress:
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
