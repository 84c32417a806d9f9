"""`deploy/citus`, read: no engine runs it here."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "citus"
TEXT = (FOLDER / "compose.yaml").read_text()
SERVICES = yaml.safe_load(TEXT)["services"]
EXAMPLE = dict(re.findall(r"^#?([A-Z_]+)=(.*)$", (FOLDER / ".env.example").read_text(), re.MULTILINE))
NODES = SERVICES.keys() - {"cluster"}


def test_every_variable_is_in_the_example_which_shows_no_secret():
    needed = set(re.findall(r"\$\{([A-Z_]+):\?[^}]+\}", TEXT))
    assert set(EXAMPLE) == set(re.findall(r"\$\{([A-Z_]+)", TEXT))
    assert {name for name in EXAMPLE if name.endswith("_PASSWORD")} == needed
    assert {EXAMPLE[name] for name in needed} == {""}


def test_every_node_is_told_of_to_the_script_and_waited_for():
    cluster = SERVICES["cluster"]
    assert cluster["entrypoint"][2] == "coordinator"
    assert set(cluster["entrypoint"][2:]) == set(cluster["depends_on"]) == NODES


def test_only_the_coordinator_is_reached_from_outside_and_from_this_machine_alone():
    assert [name for name in SERVICES if "ports" in SERVICES[name]] == ["coordinator"]
    assert all(port.startswith("127.0.0.1:") for port in SERVICES["coordinator"]["ports"])


def test_errors_are_logged_without_statements_and_their_values():
    for name in NODES:
        assert {"log_error_verbosity=terse", "log_min_error_statement=panic"} <= set(SERVICES[name]["command"])


def test_the_script_is_one():
    subprocess.run(["sh", "-n", FOLDER / "cluster.sh"], check=True)


@pytest.mark.parametrize("name", SERVICES)
def test_no_service_has_rights_that_it_does_not_need(name):
    service = SERVICES[name]
    assert (service["user"], service["cap_drop"], service["read_only"]) == ("postgres", ["ALL"], True)
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "/tmp" in service["tmpfs"]
    assert "cap_add" not in service
