"""Make a page of a scan's report: one file that needs nothing else and has no script, to be sent, printed and kept."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape
from rich.filesize import decimal

from discreet.scanning.messages import RUNNABLE_PICKLES
from discreet.scanning.page.charts import bar, plot, stacks
from discreet.scanning.page.figures import by_type, counted, errors_of, found_in, moment, name_of, printable, share
from discreet.scanning.page.figures import statement as statement_of
from discreet.scanning.report import ScanReport

__all__ = ["render"]


def render(report: ScanReport) -> str:
    """Return the page, as HTML in UTF-8."""
    values = by_type(report)
    series, bars = stacks(values)
    return _template().render(
        report=report,
        usage=report.usage,
        statement=statement_of(report),
        by_type=values,
        series=series,
        bars=bars,
        in_ids=by_type(report, lambda table: table.in_ids),
        errors=errors_of(report),
        plot=plot(report.usage.growth) if report.usage else None,
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=lambda value: printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {"moment": moment, "size": decimal, "number": "{:,}".format, "counted": counted}
    environment.filters |= filters | {"share": share, "name_of": name_of, "found_in": found_in, "foldable": _foldable}
    environment.globals |= {"bar": bar, "runnable": RUNNABLE_PICKLES}
    return environment.get_template("scan.html")


def _foldable(text: str) -> Markup:
    """Return `text` so that a number too long for its line is broken between thousands."""
    return escape(text).replace(",", Markup(",<wbr>"))
