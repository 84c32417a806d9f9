"""`deploy/aegra`, read: no engine runs it here. The commands it starts are those of tests/aegra."""

import json
import re
from pathlib import Path

import pytest
import yaml

from discreet.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy" / "aegra"
TEXT = (DEPLOY / "compose.yaml").read_text()
COMPOSE = yaml.safe_load(TEXT)
SERVICES = COMPOSE["services"]
APIS, WORKERS = ("api1", "api2"), ("worker1", "worker2")
SERVERS = (*APIS, *WORKERS)
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
EXAMPLE = dict(re.findall(r"^#?([A-Z_]+)=(.*)$", (DEPLOY / ".env.example").read_text(), re.MULTILINE))
NEEDED = set(re.findall(r"\$\{([A-Z_]+):\?[^}]+\}", TEXT))
OPTIONAL = set(re.findall(r"\$\{([A-Z_]+):-[^}]*\}", TEXT))


def test_every_variable_is_in_the_example_and_the_other_way_round():
    assert set(EXAMPLE) == NEEDED | OPTIONAL
    assert set(re.findall(r"\$\{([A-Z_]+)", TEXT)) == NEEDED | OPTIONAL


def test_it_needs_no_licence_and_what_it_needs_has_no_default():
    assert not [name for name in NEEDED | OPTIONAL if "LICENSE" in name]
    assert {"DISCREET_ENCRYPTION_KEYS", "DISCREET_PLACEHOLDER_KEY", "DISCREET_IDENTITY_KEY"} <= NEEDED
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


@pytest.mark.parametrize("name", SERVERS)
def test_the_settings_exist_and_can_be_used_together(monkeypatch, name):
    environment = SERVICES[name]["environment"]
    ours = {variable for variable in environment if variable.startswith("DISCREET_")}
    assert ours <= {f"DISCREET_{field.upper()}" for field in Settings.model_fields}
    for variable, value in environment.items():
        monkeypatch.setenv(variable, re.sub(r"\$\{[A-Z_]+:([?-])[^}]*\}", lambda found: "x" * (found[1] == "?"), value))
    settings = Settings(_env_file=None)
    assert (settings.turn_vault, settings.spill, settings.tracing) == ("postgres", True, "off")
    assert not settings.allow_anonymous


def test_two_processes_take_requests_and_two_run_graphs():
    counts = {name: int(SERVICES[name]["environment"]["WORKER_COUNT"]) for name in SERVERS}
    assert counts == {"api1": 0, "api2": 0, "worker1": 2, "worker2": 2}
    assert {SERVICES[name]["environment"]["REDIS_BROKER_ENABLED"] for name in SERVERS} == {"true"}


def test_one_migrates_before_the_others_start():
    migrating = [name for name in SERVERS if SERVICES[name]["environment"]["RUN_MIGRATIONS_ON_STARTUP"] == "true"]
    assert migrating == ["api1"]
    waiting = {name: SERVICES[name]["depends_on"] for name in SERVERS if name != "api1"}
    assert all(each == {"api1": {"condition": "service_healthy"}} for each in waiting.values())


def test_only_what_takes_requests_is_published_and_to_this_machine():
    assert {name for name, service in SERVICES.items() if "ports" in service} == set(APIS)
    assert all(port.startswith("127.0.0.1:") for name in APIS for port in SERVICES[name]["ports"])
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    assert {name for name, service in SERVICES.items() if "outside" in service["networks"]} == set(SERVERS)


@pytest.mark.parametrize("name", SERVICES)
def test_no_service_may_more_than_it_needs(name):
    service = SERVICES[name]
    assert service["restart"] == "unless-stopped"
    assert service["healthcheck"]["test"]
    assert service["user"] not in {"root", "0", "0:0"}
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True


def test_aegra_has_a_database_of_its_own():
    environment = SERVICES["api1"]["environment"]
    names = [re.search(r"/(\w+)(\?|$)", environment[name])[1] for name in ("DATABASE_URL", "DISCREET_POSTGRES_DSN")]
    assert names == ["aegra", "discreet"]


def test_every_file_that_is_mounted_or_copied_is_there():
    mounted = [volume.split(":")[0] for volume in SERVICES["postgres"]["volumes"]]
    assert [(DEPLOY / path).is_file() for path in mounted if path.startswith(".")] == [True]
    copied = re.findall(r"/src/(deploy/\S+)", DOCKERFILE)
    assert copied
    assert all((ROOT / path).is_file() for path in copied)
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert all(ignored.index(f"!{path}") > ignored.index("deploy") for path in copied)


def test_the_image_has_the_release_that_is_tested():
    release = re.search(r'"aegra-api==([\d.]+)"', DOCKERFILE)[1]
    assert f"aegra-api=={release}\n" in (ROOT / "tests" / "aegra" / "requirements.txt").read_text()
    source = (ROOT / "src" / "discreet" / "api" / "aegra" / "database.py").read_text()
    assert f'"{release}"' in re.search(r"TESTED: Final = frozenset\((.*)\)", source)[1]


def test_the_image_runs_as_nobody_in_particular():
    assert re.search(r"^USER 10001:10001$", DOCKERFILE, re.MULTILINE)
    assert {SERVICES[name]["user"] for name in SERVERS} == {"10001:10001"}


def test_aegra_json_names_what_is_there():
    config = json.loads((DEPLOY / "aegra.json").read_text())
    names = {each["path"].partition(":")[2] for each in config["graphs"].values()}
    exported = re.search(r"__all__ = (\[.*\])", (DEPLOY / "graphs.py").read_text())[1]
    assert names == set(json.loads(exported))
    assert (ROOT / "src" / "discreet" / "api" / "aegra" / "server.py").is_file()
    assert (
        config["auth"]["path"].partition(":")[0]
        == config["http"]["app"].partition(":")[0]
        == "discreet.api.aegra.server"
    )
