"""`deploy/compose.yaml`, read: no engine runs it here."""

import json
import re
from pathlib import Path

import psycopg
import pytest
import yaml

from discreet.settings import Settings
from discreet.storage.database.migrating.migrations import migrate

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
TEXT = (DEPLOY / "compose.yaml").read_text()
COMPOSE = yaml.safe_load(TEXT)
SERVICES = COMPOSE["services"]
EXAMPLE = dict(re.findall(r"^#?([A-Z_]+)=(.*)$", (DEPLOY / ".env.example").read_text(), re.MULTILINE))
NEEDED = set(re.findall(r"\$\{([A-Z_]+):\?[^}]+\}", TEXT))
OPTIONAL = set(re.findall(r"\$\{([A-Z_]+):-[^}]*\}", TEXT))


def test_every_variable_is_in_the_example_and_the_other_way_round():
    assert set(EXAMPLE) == NEEDED | OPTIONAL
    assert set(re.findall(r"\$\{([A-Z_]+)", TEXT)) == NEEDED | OPTIONAL


def test_what_is_needed_has_no_default():
    assert {f"DISCREET_{name}_KEY" for name in ("PLACEHOLDER", "IDENTITY")} <= NEEDED
    assert {"DISCREET_ENCRYPTION_KEYS", "LANGGRAPH_CLOUD_LICENSE_KEY"} <= NEEDED
    assert {name for name in OPTIONAL | NEEDED if name.endswith("_PASSWORD")} <= NEEDED


@pytest.mark.parametrize("name", sorted(NEEDED | {"OPENAI_API_KEY", "DISCREET_JWT_SECRET"}))
def test_the_example_shows_no_secret(name):
    assert EXAMPLE[name] == ""


def test_no_secret_is_written_into_the_file():
    for service in SERVICES.values():
        for name, value in service["environment"].items():
            if re.search(r"PASSWORD|KEY|SECRET", name):
                assert re.fullmatch(r"\$\{[A-Z_]+:[?-][^}]*\}", value), name
            assert not re.search(r"://[^$@/]*:[^$@/]+@", str(value)), name


def test_every_setting_of_ours_exists():
    ours = {name for name in SERVICES["server"]["environment"] if name.startswith("DISCREET_")}
    assert ours <= {f"DISCREET_{name.upper()}" for name in Settings.model_fields}


def test_the_settings_can_be_used_together(monkeypatch):
    for name, value in SERVICES["server"]["environment"].items():
        monkeypatch.setenv(name, re.sub(r"\$\{[A-Z_]+:([?-])[^}]*\}", lambda found: "x" * (found[1] == "?"), value))
    settings = Settings(_env_file=None)
    assert (settings.turn_vault, settings.spill, settings.tracing) == ("postgres", True, "off")
    assert not settings.allow_anonymous
    assert settings.api_keys == ()


def test_only_the_server_is_published_and_to_this_machine():
    assert {name for name, service in SERVICES.items() if "ports" in service} == {"server"}
    assert all(port.startswith("127.0.0.1:") for port in SERVICES["server"]["ports"])
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    assert {name for name, service in SERVICES.items() if "outside" in service["networks"]} == {"server"}


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_restarts_and_tells_its_health(name):
    service = SERVICES[name]
    assert service["restart"] == "unless-stopped"
    assert service["healthcheck"]["test"]


@pytest.mark.parametrize("name", SERVICES)
def test_no_service_has_rights_that_it_does_not_need(name):
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert "/tmp" in service["tmpfs"]
    assert service["user"].partition(":")[0] not in ("", "0", "root")
    assert not {"cap_add", "privileged", "devices", "pid", "ipc", "network_mode", "userns_mode"} & set(service)


def test_what_a_service_writes_is_a_volume_or_in_memory():
    written = {"server": set(), "postgres": {"/var/lib/postgresql/data", "/var/run/postgresql"}, "redis": {"/data"}}
    for name, service in SERVICES.items():
        volumes = [volume.split(":") for volume in service.get("volumes", ())]
        assert written[name] == ({*service["tmpfs"]} - {"/tmp"}) | {
            place[1] for place in volumes if place[2:] != ["ro"]
        }


def test_agent_server_has_a_database_of_its_own():
    environment = SERVICES["server"]["environment"]
    names = [re.search(r"/(\w+)(\?|$)", environment[name])[1] for name in ("DATABASE_URI", "DISCREET_POSTGRES_DSN")]
    assert names == ["agent_server", "discreet"]


def test_traces_and_version_checks_are_off():
    environment = SERVICES["server"]["environment"]
    assert environment["LANGSMITH_TRACING"] == "false"
    assert "LANGSMITH_API_KEY" not in environment


def test_every_file_that_is_mounted_is_there():
    mounted = [volume.split(":")[0] for volume in SERVICES["postgres"]["volumes"]]
    assert [(DEPLOY / path).is_file() for path in mounted if path.startswith(".")] == [True]


def test_the_image_has_the_client_that_the_redis_setting_needs():
    config = json.loads((DEPLOY.parent / "langgraph.json").read_text())
    assert ("redis" in config["dependencies"]) == ("DISCREET_REDIS_URL" in SERVICES["server"]["environment"])


async def test_the_role_of_the_script_may_do_what_the_migrations_do(server_dsn, token):
    script = (DEPLOY / "postgres" / "discreet.sh").read_text()
    role = f"discreet_{token}"
    outer, inner = (block.replace("discreet", role) for block in re.findall(r"<<'SQL'\n(.*?)\nSQL", script, re.DOTALL))
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        for statement in outer.replace(":'password'", f"'{token}'").split(";"):
            if statement.strip():
                admin.execute(statement)
        with psycopg.connect(server_dsn, dbname=role, autocommit=True) as connection:
            connection.execute(inner)
        try:
            parts = psycopg.conninfo.conninfo_to_dict(server_dsn)
            await migrate(psycopg.conninfo.make_conninfo(**{**parts, "user": role, "password": token, "dbname": role}))
        finally:
            admin.execute(f"DROP DATABASE {role} WITH (FORCE)")
            admin.execute(f"DROP ROLE {role}")
