"""Write monitoring/dashboard.json, the Grafana dashboard, by Grafana's own builders; its queries are in this file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grafana_foundation_sdk.builders.common import VizLegendOptions
from grafana_foundation_sdk.builders.dashboard import Dashboard, DatasourceVariable, QueryVariable, Row
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.builders.timeseries import Panel
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement
from grafana_foundation_sdk.models.dashboard import DataSourceRef, VariableOption, VariableRefresh

TARGET = Path(__file__).resolve().parent.parent / "monitoring" / "dashboard.json"
SOURCE = DataSourceRef(type_val="prometheus", uid="$datasource")
CHOSEN = 'job=~"$job"'
QUANTILES = (0.5, 0.95, 0.99)
WIDTH, HEIGHT = 8, 7
"""Of a panel; the dashboard is 24 wide."""


@dataclass(frozen=True)
class Chart:
    """One panel: a title, a unit as Grafana calls it, and queries with the legends of their lines."""

    title: str
    unit: str
    lines: Sequence[tuple[str, str]]


def rate(metric: str, by: str = "", where: str = "") -> str:
    """Return the query for how often a second something happens, by a label."""
    chosen = f"{CHOSEN}, {where}" if where else CHOSEN
    return f"sum by ({by}) (rate({metric}{{{chosen}}}[$__rate_interval]))"


def quantiles(title: str, metric: str, unit: str = "s", by: str = "") -> Chart:
    """Return a chart of the median and the 95th and 99th percentile of a histogram."""
    inner = rate(f"{metric}_bucket", by=f"{by}, le" if by else "le")
    legend = f" {{{{{by}}}}}" if by else ""
    lines = [(f"histogram_quantile({quantile}, {inner})", f"P{quantile * 100:.0f}{legend}") for quantile in QUANTILES]
    return Chart(title, unit, lines)


def rates(title: str, metric: str, by: str = "", unit: str = "ops") -> Chart:
    """Return a chart of how often something happens, by a label."""
    return Chart(title, unit, [(rate(metric, by), f"{{{{{by}}}}}" if by else "all")])


def level(title: str, unit: str, *metrics: tuple[str, str], together: str = "max") -> Chart:
    """Return a chart of gauges: what all processes see alike, or have together (`sum`)."""
    return Chart(title, unit, [(f"{together} by (job) ({metric}{{{CHOSEN}}})", legend) for metric, legend in metrics])


ROWS: Sequence[tuple[str, Sequence[Chart]]] = (
    (
        "Turns",
        (
            rates("Memory gate, decisions", "discreet_gate_decisions_total", "decision"),
            quantiles("Rounds of a conversation", "discreet_conversation_rounds", "short"),
            quantiles("Rounds that the summary lacks", "discreet_unsummarised_rounds", "short"),
            rates("Summaries begun", "discreet_summaries_total"),
            quantiles("Tokens of a prompt, by part", "discreet_prompt_tokens", "short", by="part"),
            rates("Values redacted, by type", "discreet_redactions_total", "type"),
        ),
    ),
    (
        "Search and storage",
        (
            quantiles("Search of memories", "discreet_memory_search_seconds"),
            quantiles("Search of memories, the database's part", "discreet_memory_search_database_seconds"),
            quantiles("Retrieval of a turn", "discreet_retrieve_seconds"),
            rates("Memories saved, by type", "discreet_memories_saved_total", "type"),
            rates("Left out of what is stored, by kind", "discreet_dropped_writes_total", "kind"),
            level(
                "Short-term memory",
                "bytes",
                ("discreet_short_term_bytes", "used"),
                ("discreet_short_term_limit_bytes", "limit"),
            ),
        ),
    ),
    (
        "REST API",
        (
            rates("Requests, by status", "discreet_request_seconds_count", "status", unit="reqps"),
            quantiles("Requests, by route", "discreet_request_seconds", by="route"),
            Chart(
                "Searches",
                "s",
                [
                    (
                        "histogram_quantile(0.95, "
                        + rate("discreet_request_seconds_bucket", "route, le", 'route=~"/memory/(search|query)"')
                        + ")",
                        "P95 {{route}}",
                    )
                ],
            ),
        ),
    ),
    (
        "Database connections",
        (
            level(
                "In use",
                "short",
                ("discreet_pool_in_use", "in use"),
                ("discreet_pool_limit", "limit"),
                ("discreet_pool_waiting", "callers in line"),
                together="sum",
            ),
            quantiles("Time in line", "discreet_pool_wait_seconds"),
            Chart(
                "Database",
                "bool_yes_no",
                [(f"min by (job, role) (discreet_database_up{{{CHOSEN}}})", "{{role}} works")],
            ),
        ),
    ),
    (
        "Background memory",
        (
            Chart("Batches", "short", [(f"max by (state) (discreet_batch_jobs{{{CHOSEN}}})", "{{state}}")]),
            level(
                "Workers",
                "short",
                ("discreet_workers_alive", "alive"),
                ("discreet_batch_leases_held", "batches that one is at"),
            ),
            level(
                "Waiting",
                "s",
                ("discreet_oldest_pending_session_seconds", "oldest conversation"),
                ("discreet_oldest_due_session_seconds", "oldest due conversation"),
                ("discreet_oldest_due_job_seconds", "oldest due batch"),
                ("discreet_oldest_erasure_seconds", "oldest erasure"),
            ),
            rates("Results of extraction", "discreet_extraction_items_total", "result"),
            rates("Tokens of extraction", "discreet_extraction_tokens_total", "direction", unit="short"),
            quantiles("A worker's pass", "discreet_extraction_seconds"),
        ),
    ),
    (
        "Failures",
        (
            rates("Storage, by code", "discreet_storage_failures_total", "code"),
            rates("Retrieval, by cause", "discreet_retrieve_failures_total", "cause"),
            rates("Turns not kept, by place", "discreet_persist_failures_total", "what"),
            rates("Turn vault, by cause", "discreet_vault_failures_total", "cause"),
            rates("Short-term memory, by call", "discreet_short_term_failures_total", "doing"),
            rates("Rolling summaries, by cause", "discreet_summary_failures_total", "cause"),
            rates("Extraction, by cause", "discreet_extraction_failures_total", "cause"),
            rates("Maintenance, by work", "discreet_maintenance_failures_total", "work"),
            rates("Callers without a connection", "discreet_pool_refused_total"),
            rates("Batches lost to another worker", "discreet_batch_leases_lost_total"),
            rates("Chat model asked again, by cause", "discreet_model_retries_total", "cause"),
            rates("Tools, by code", "discreet_tool_errors_total", "code"),
        ),
    ),
)


def panel(chart: Chart) -> Panel:
    """Return the panel of a chart."""
    legend = VizLegendOptions().display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM).show_legend(True)
    made = Panel().title(chart.title).unit(chart.unit).datasource(SOURCE).span(WIDTH).height(HEIGHT).min(0)
    made = made.legend(legend).line_width(1).fill_opacity(10)
    for number, (query, called) in enumerate(chart.lines):
        target = Dataquery().expr(query).legend_format(called).ref_id(chr(ord("A") + number)).datasource(SOURCE)
        made = made.with_target(target)
    return made


def dashboard() -> str:
    """Return the dashboard as JSON."""
    made = Dashboard("Discreet").uid("discreet").tags(["discreet"]).refresh("30s").time("now-3h", "now").readonly()
    made = made.with_variable(DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
    jobs = QueryVariable("job").label("Deployment").query("label_values(discreet_conversation_rounds_count, job)")
    everything = VariableOption(text="All", value="$__all", selected=True)
    jobs = jobs.datasource(SOURCE).refresh(VariableRefresh.ON_TIME_RANGE_CHANGED).multi(True).include_all(True)
    made = made.with_variable(jobs.all_value(".+").current(everything))
    for title, charts in ROWS:
        made = made.with_row(Row(title))
        for chart in charts:
            made = made.with_panel(panel(chart))
    return JSONEncoder(sort_keys=True, indent=2).encode(made.build()) + "\n"


if __name__ == "__main__":
    TARGET.write_text(dashboard(), encoding="utf-8")
