"""What came of a batch, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, get_args

from discreet.api.jobs import cost_of
from discreet.state.background import BatchJob, RequestState

KEPT: Final[Mapping[str, str]] = {
    "added": "new",
    "superseded": "in the place of older ones",
    "known": "known before",
    "proposed": "waiting for review",
}
"""Facts that were kept, by the name of their figure."""
SUMMARIES: Final = "summaries"
TOKENS: Final[Mapping[str, str]] = {"input_tokens": "read", "output_tokens": "written"}
REFUSED: Final = "refused_"
"""How the names of figures of refused facts begin; the reason follows."""
CENT: Final = 0.01


@dataclass(frozen=True, kw_only=True)
class JobLines:
    """A batch, as the page shows it."""

    job: BatchJob
    lines: tuple[tuple[str, str], ...]
    """Names and what is to be said of them."""
    may_cancel: bool
    may_retry: bool


def lines_of(job: BatchJob) -> JobLines:
    """Return what is shown of `job`."""
    figures = job.figures
    return JobLines(
        job=job,
        lines=tuple((name, said) for name, said in _lines(job) if said),
        may_cancel=job.done_at is None and not job.is_cancelled,
        may_retry=job.done_at is not None and bool(figures.get("failed", 0) or figures.get("cancelled", 0)),
    )


def usd(amount: float) -> str:
    """Return an amount as people read it.

    Example:
        >>> usd(0), usd(0.0004), usd(1234.5)
        ('nothing', 'less than 0.01 USD', 'about 1,234.50 USD')
    """
    if not amount:
        return "nothing"
    return "less than 0.01 USD" if amount < CENT else f"about {amount:,.2f} USD"


def _lines(job: BatchJob) -> Iterator[tuple[str, str]]:
    figures = job.figures
    states = {state: state for state in get_args(RequestState)}
    reasons = sorted((name for name in figures if name.startswith(REFUSED)), key=lambda name: (-figures[name], name))
    refused = {name: name.removeprefix(REFUSED).replace("_", " ") for name in reasons}
    yield "Prompts", _told(figures, states)
    yield "Facts kept", _told(figures, KEPT)
    yield "Facts refused", _told(figures, refused)
    yield "Summaries", _told(figures, {SUMMARIES: "of sessions"})
    yield "Others", _told(figures, {name: name.replace("_", " ") for name in figures if _is_other(name, states)})
    yield "Tokens", _told(figures, TOKENS)
    cost = cost_of(job)
    if cost is not None:
        yield "Cost", usd(cost)
    elif job.done_at is not None:
        yield "Cost", "not known: the list has no price of this model"
    yield "Error", job.error or ""
    yield "The provider says", job.told


def _told(figures: Mapping[str, int], names: Mapping[str, str]) -> str:
    return ", ".join(f"{figures[name]:,} {said}" for name, said in names.items() if figures.get(name))


def _is_other(name: str, states: Mapping[str, str]) -> bool:
    return not (name in states or name in KEPT or name in TOKENS or name == SUMMARIES or name.startswith(REFUSED))
