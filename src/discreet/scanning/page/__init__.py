"""Make a page of a scan's report: one file that needs nothing else, with no script, to be sent, printed and kept."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from discreet.scanning.messages import RUNNABLE_PICKLES
from discreet.scanning.page import charts, figures
from discreet.scanning.report import ScanReport

__all__ = ["render"]


def render(report: ScanReport) -> str:
    """Return the page, as HTML in UTF-8."""
    usage = report.usage
    values = figures.by_type(report)
    kept = [] if usage is None else [usage.bytes - usage.prunable_bytes, usage.prunable_bytes]
    return _template().render(
        report=report,
        statement=figures.statement(report),
        by_type=values,
        stacks=charts.stacks(values),
        kinds=charts.bars(report.kinds),
        in_ids=figures.by_type(report, lambda table: table.in_ids),
        errors=figures.errors_of(report),
        usage=usage,
        plot=None if usage is None else charts.plot(usage.growth),
        kept=charts.bar(kept, sum(kept) or 1),
        largest={} if usage is None else charts.bars({each.thread: each.bytes for each in usage.largest}),
        runnable=RUNNABLE_PICKLES,
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= figures.FILTERS
    return environment.get_template("scan.html")


def _shown(value: Any) -> Any:
    return figures.printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
