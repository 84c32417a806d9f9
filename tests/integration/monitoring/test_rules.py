"""The alert rules and the dashboard: what Prometheus' own tool says of them, and that their page names all there is."""

import re
import runpy
import subprocess

import pytest
from prometheus_client import Counter, Gauge, Histogram
from testkit.monitoring import MONITORING, ROOT, alert_rules, require

from discreet import metrics

PAGE = (ROOT / "docs" / "monitoring.md").read_text()


MADE = [each for each in vars(metrics).values() if isinstance(each, (Counter, Gauge, Histogram))]
"""All that metrics.py counts."""


@pytest.mark.slow
@pytest.mark.parametrize("command", [("test", "rules", "alerts_test.yml"), ("check", "config", "prometheus.yml")])
def test_prometheus_own_tool_takes_the_rules_and_their_tests_pass(command):
    done = subprocess.run(
        [require("promtool"), *command], cwd=MONITORING, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_lists_every_metric_label_and_alert_and_no_other():
    """By the list of labels, none can hold a text of a user. The runbook of an alert is its heading."""
    suffixes = {"counter": "_total", "gauge": "", "histogram": ""}
    counted = {f"{metric.name}{suffixes[metric.type]}" for each in MADE for metric in each.collect()}
    assert set(re.findall(r"^\| `(discreet_\w+)`", PAGE, re.MULTILINE)) == counted
    labels = PAGE.partition("## Labels")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", labels, re.MULTILINE)) == {
        name for each in MADE for name in each._labelnames
    }
    headings = re.findall(r"^#+ (Discreet\w+)$", PAGE, re.MULTILINE)
    runbooks = {name: rule["annotations"]["runbook"] for name, rule in alert_rules().items()}
    assert runbooks == {name: f"docs/monitoring.md#{name.lower()}" for name in headings}


def test_gauges_say_how_processes_are_put_together():
    gauges = [each for each in MADE if isinstance(each, Gauge)]
    assert {each._name for each in gauges if each._multiprocess_mode == "all"} == set()


def test_the_dashboard_is_what_the_tool_makes():
    tool = runpy.run_path(str(ROOT / "tools" / "make_dashboard.py"))
    assert tool["dashboard"]() == (MONITORING / "dashboard.json").read_text(), "run tools/make_dashboard.py"
