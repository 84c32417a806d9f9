"""The alert rules and the dashboard: what Prometheus' own tool says of them, and that what they name exists."""

import re
import runpy
import subprocess

import pytest
import yaml
from prometheus_client import Counter, Gauge, Histogram
from testkit.monitoring import MONITORING, ROOT, alert_rules, dashboard_queries, names_in, require

from discreet import metrics

PAGE = (ROOT / "docs" / "monitoring.md").read_text()
KINDS = (Counter, Gauge, Histogram)


def samples() -> set[str]:
    """Return the names of all samples that metrics.py makes."""
    made = [each for each in vars(metrics).values() if isinstance(each, KINDS)]
    names = {metric.name: metric.type for each in made for metric in each.collect()}
    suffixes = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}
    return {f"{name}{suffix}" for name, kind in names.items() for suffix in suffixes[kind]}


@pytest.mark.parametrize(
    "command", [("check", "rules", "alerts.yml"), ("test", "rules", "alerts_test.yml"), ("check", "config")]
)
def test_prometheus_own_tool_takes_the_rules_and_their_tests_pass(command):
    command = [*command, "prometheus.yml"] if command[-1] == "config" else command
    done = subprocess.run(
        [require("promtool"), *command], cwd=MONITORING, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_seen_to_wait_to_fire_and_to_end():
    states: dict[str, list[bool]] = {}
    for test in yaml.safe_load((MONITORING / "alerts_test.yml").read_text())["tests"]:
        for check in sorted(test["alert_rule_test"], key=lambda check: int(check["eval_time"].removesuffix("m"))):
            states.setdefault(check["alertname"], []).append(bool(check["exp_alerts"]))
    assert states.keys() == alert_rules().keys()
    assert {name for name, seen in states.items() if seen[:3] != [False, True, False]} == set()


def test_every_alert_says_where_to_read_what_to_do():
    anchors = {
        re.sub(r"[^\w -]", "", line).strip().lower().replace(" ", "-")
        for line in re.findall("^#+ (.*)$", PAGE, re.MULTILINE)
    }
    for name, rule in alert_rules().items():
        assert rule["annotations"]["runbook"] == f"docs/monitoring.md#{name.lower()}"
        assert name.lower() in anchors


def test_queries_name_nothing_that_is_not_counted():
    queries = {name: rule["expr"] for name, rule in alert_rules().items()} | dashboard_queries()
    named = {name: names_in(query) - samples() for name, query in queries.items()}
    assert {name: unknown for name, unknown in named.items() if unknown} == {}


def test_the_page_lists_every_metric_and_no_other():
    listed = set(re.findall(r"^\| `(discreet_\w+)`", PAGE, re.MULTILINE))
    assert listed == {name.removesuffix("_count") for name in samples() if not name.endswith(("_bucket", "_sum"))}


def test_no_label_can_hold_a_text_of_a_user():
    made = [each for each in vars(metrics).values() if isinstance(each, KINDS)]
    labels = {label for each in made for label in each._labelnames}
    assert labels == set(
        re.findall(r"^\| `(\w+)` \|", PAGE.partition("## Labels")[2].partition("\n## ")[0], re.MULTILINE)
    )


def test_gauges_say_how_processes_are_put_together():
    gauges = [each for each in vars(metrics).values() if isinstance(each, Gauge)]
    assert {each._name for each in gauges if each._multiprocess_mode == "all"} == set()


def test_the_dashboard_is_what_the_tool_makes():
    tool = runpy.run_path(str(ROOT / "tools" / "make_dashboard.py"))
    assert tool["dashboard"]() == (MONITORING / "dashboard.json").read_text(), "run tools/make_dashboard.py"
