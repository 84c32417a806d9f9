"""Every query of the dashboard and of the alerts, run by a real Prometheus on the metrics of a process that people use."""

import re
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest
from testkit.monitoring import (
    alert_rules,
    dashboard_queries,
    names_in,
    prometheus,
    running,
    wait_for,
)
from testkit.ports import free_port

WELL = {
    "discreet_batch_leases_lost_total",
    "discreet_extraction_failures_total",
    "discreet_maintenance_failures_total",
    "discreet_model_retries_total",
    "discreet_persist_failures_total",
    "discreet_retention_failures_total",
    "discreet_retrieve_failures_total",
    "discreet_short_term_failures_total",
    "discreet_storage_failures_total",
    "discreet_summary_failures_total",
    "discreet_tool_errors_total",
    "discreet_vault_failures_total",
}
"""What a process that is well counts nothing of: as these have labels, there is no series of them."""
NO_FAILURES = "DiscreetApiFails"
"""It asks for answers by 5xx, of which there are none."""


def sides(alert):
    """Return what an alert compares, without the bounds."""
    return re.sub(r"\s(?:>=|==|>)\s[\d.]+", "", alert)


def queries():
    shown = {
        name: query.replace("$job", ".+").replace("$__rate_interval", "30s")
        for name, query in dashboard_queries().items()
    }
    return shown | {name: sides(rule["expr"]) for name, rule in alert_rules().items()}


@pytest.mark.slow
def test_every_query_has_an_answer_from_a_process_that_people_use(shared_database, tmp_path):
    port = free_port()
    with (
        running(shared_database, tmp_path, port=port, DISCREET_WORKER="true", DISCREET_POOL_SIZE="2") as app,
        app.client("ann") as ann,
        prometheus(tmp_path, urlsplit(app.metrics_url).netloc) as server,
    ):
        stored = {"session_id": str(uuid4()), "short_answer": "Keeps two African Grey parrots."}
        assert ann.post("/memory/store", json=stored).status_code < 300
        assert ann.post("/memory/extraction/start", json={}).status_code == httpx.codes.ACCEPTED
        for _ in range(3):
            assert ann.get("/memory/query").status_code == httpx.codes.OK
            assert ann.post("/memory/search", json={"q": "birds"}).status_code == httpx.codes.OK
        wait_for(
            lambda: "discreet_extraction_tokens_total{" in httpx.get(app.metrics_url).text,
            lambda: "facts were extracted",
        )
        exposed = httpx.get(app.metrics_url).text
        counted = {line.partition("{")[0].partition(" ")[0] for line in exposed.splitlines() if line[0] != "#"}
        asked = queries()
        assert set(re.findall(r"^# TYPE (\w+) counter$", exposed, re.MULTILINE)) >= WELL
        assert {name for query in asked.values() for name in names_in(query)} - counted <= WELL

        expected = {name for name, query in asked.items() if not names_in(query) & (WELL - counted)} - {NO_FAILURES}
        wait_for(lambda: not unanswered(server, asked) & expected, lambda: str(unanswered(server, asked) & expected))
        assert {rule["name"] for rule in rules_of(server)} == alert_rules().keys()
        wait_for(lambda: {rule["health"] for rule in rules_of(server)} == {"ok"}, lambda: "every rule was evaluated")
        firing = {rule["name"] for rule in rules_of(server) if rule["state"] == "firing"}
        assert firing == set()


def unanswered(server, asked):
    """Return the queries that have no series; one that is no PromQL fails."""
    return {name for name, query in asked.items() if not server.series(query)}


def rules_of(server):
    return [rule for group in server.get("rules")["groups"] for rule in group["rules"]]
