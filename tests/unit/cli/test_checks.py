"""What the doctor tells from the settings alone."""

from __future__ import annotations

import base64
import secrets
from pathlib import Path

import pytest

from discreet.cli.checks import settings_checks, transport_check
from discreet.encryption import make_key, write_key
from discreet.redaction.placeholder_key import make_placeholder_key
from discreet.settings import load_settings

KEYS = write_key(make_key())
SECRET = base64.b64encode(secrets.token_bytes(32)).decode()
POSTGRES = "postgresql://ann@127.0.0.1:1/none"
NAMES = [
    "encryption keys",
    "placeholder key",
    "identity key",
    "turn vault",
    "chat model",
    "embedding model",
    "extraction",
    "tracing",
    "credentials",
]


@pytest.fixture
def diagnosed(monkeypatch):
    """Return what looks at an environment and returns its checks by name."""
    monkeypatch.delenv("DISCREET_IDENTITY_KEY")

    def run(**environment):
        for name, value in environment.items():
            monkeypatch.setenv(name if name.startswith(("OPENAI", "LANG")) else f"DISCREET_{name}", value)
        return {check.name: check for check in settings_checks(load_settings())}

    return run


def test_without_any_setting_nothing_is_wrong(diagnosed):
    checks = diagnosed()
    assert list(checks) == NAMES
    assert {name: check.state for name, check in checks.items() if check.state != "ok"} == {
        "encryption keys": "warn",
        "chat model": "warn",
        "credentials": "warn",
    }


def test_a_service_of_several_processes_that_has_all_it_needs(diagnosed):
    checks = diagnosed(
        TURN_VAULT="postgres",
        POSTGRES_DSN=POSTGRES,
        SPILL="true",
        ENCRYPTION_KEYS=KEYS,
        PLACEHOLDER_KEY=make_placeholder_key(),
        IDENTITY_KEY=SECRET,
        JWKS_URL="https://example.com/jwks",
        CHAT_MODEL="openai:any",
        OPENAI_API_KEY="any",
    )
    assert {check.state for check in checks.values()} == {"ok"}


@pytest.mark.parametrize(
    ("environment", "name", "state", "said"),
    [
        ({"TURN_VAULT": "postgres"}, "turn vault", "fail", "discreet key"),
        ({"TURN_VAULT": "redis", "ENCRYPTION_KEYS": KEYS}, "turn vault", "fail", "DISCREET_REDIS_URL"),
        ({"POSTGRES_DSN": POSTGRES}, "turn vault", "warn", "more than one API or worker"),
        ({"EXTRACTION": "false"}, "extraction", "ok", "Off"),
        ({"WORKER": "true"}, "extraction", "ok", "By rules, in four languages. In the server's process."),
        ({"EXTRACTION_PROVIDER": "google"}, "extraction", "fail", "GOOGLE_API_KEY"),
        ({"EXTRACTION_PROVIDER": "immediate", "CHAT_MODEL": "offline"}, "extraction", "ok", "By immediate"),
        (
            {"EXTRACTION_PROVIDER": "openai", "OPENAI_API_KEY": "any"},
            "extraction",
            "ok",
            "By openai, model gpt-4o-mini",
        ),
        ({"OPENAI_API_KEY": "any"}, "extraction", "ok", "By rules"),
        ({"OPENAI_API_KEY": "any"}, "chat model", "warn", "OPENAI_API_KEY alone is not used"),
        ({"TURN_VAULT": "postgres"}, "encryption keys", "fail", "discreet key"),
        ({"SPILL": "true"}, "encryption keys", "fail", "DISCREET_SPILL"),
        ({"ENCRYPTION_KEYS": SECRET}, "encryption keys", "fail", "entry 1"),
        ({"TURN_VAULT": "postgres", "ENCRYPTION_KEYS": KEYS}, "placeholder key", "fail", "--placeholder"),
        ({"POSTGRES_DSN": POSTGRES}, "placeholder key", "warn", "--placeholder"),
        ({"PLACEHOLDER_KEY": "short"}, "placeholder key", "fail", "DISCREET_PLACEHOLDER_KEY"),
        ({"IDENTITY_KEY": "short"}, "identity key", "fail", "DISCREET_IDENTITY_KEY"),
        ({"SPILL": "true", "JWT_SECRET": SECRET}, "identity key", "fail", "--identity"),
        ({"POSTGRES_DSN": POSTGRES, "JWT_SECRET": SECRET}, "identity key", "warn", "--identity"),
        ({"POSTGRES_DSN": POSTGRES}, "identity key", "warn", "--identity"),
        ({"CHAT_MODEL": "nonsense"}, "chat model", "fail", "openai:<model>"),
        ({"CHAT_MODEL": "openai:some"}, "chat model", "fail", "OPENAI_API_KEY"),
        ({"CHAT_MODEL": "openai:some", "OPENAI_API_KEY": SECRET}, "chat model", "ok", "openai:some"),
        ({"EMBEDDING_MODEL": "nonsense:x"}, "embedding model", "fail", "nonsense"),
        ({"EMBEDDING_DIMS": "100"}, "embedding model", "fail", "DISCREET_EMBEDDING_DIMS"),
        ({"EMBEDDING_MODEL": "none"}, "embedding model", "ok", "none"),
        ({"JWT_SECRET": SECRET, "API_KEYS": '["ann:00"]'}, "credentials", "ok", "bearer tokens and API keys"),
        ({"ALLOW_ANONYMOUS": "true"}, "credentials", "warn", "DISCREET_ALLOW_ANONYMOUS"),
    ],
)
def test_each_check_says_what_is_wrong_and_what_to_do(diagnosed, environment, name, state, said):
    checks = diagnosed(**environment)
    assert checks[name].state == state
    assert said in checks[name].say
    told = " ".join(check.say for check in checks.values())
    assert not [value for value in (SECRET, KEYS, POSTGRES) if value in told]


HIDDEN = {"LANGSMITH_HIDE_INPUTS": "true", "LANGSMITH_HIDE_OUTPUTS": "true"}


@pytest.mark.parametrize(
    ("environment", "state"),
    [
        ({}, "ok"),
        ({"LANGSMITH_TRACING": "true"}, "fail"),
        ({"LANGCHAIN_TRACING_V2": "true"}, "fail"),
        ({"LANGSMITH_TRACING_V2": "1"}, "fail"),
        ({"LANGSMITH_API_KEY": "any"}, "fail"),
        ({"LANGSMITH_API_KEY": "any", "LANGSMITH_TRACING": "false"}, "ok"),
        ({"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "true"}, "fail"),
        ({"LANGSMITH_TRACING": "true", "LANGSMITH_HIDE_INPUTS": "true"}, "fail"),
        ({"LANGSMITH_TRACING": "true", **HIDDEN, "LANGSMITH_HIDE_OUTPUTS": "1"}, "fail"),
        ({"LANGSMITH_TRACING": "true", **HIDDEN}, "warn"),
        ({"LANGCHAIN_TRACING": "true", "LANGCHAIN_HIDE_INPUTS": "true", "LANGCHAIN_HIDE_OUTPUTS": "true"}, "warn"),
    ],
)
def test_tracing_that_shows_what_people_say_is_wrong(diagnosed, environment, state):
    assert diagnosed(**environment)["tracing"].state == state


def test_a_file_that_only_servers_read_hides_nothing_from_scripts(diagnosed):
    Path(".env").write_text("LANGSMITH_HIDE_INPUTS=true\nLANGSMITH_HIDE_OUTPUTS=true\n")
    assert diagnosed(LANGSMITH_TRACING="true")["tracing"].state == "fail"


def test_tracing_that_a_file_turns_on_for_a_server_is_seen(diagnosed):
    Path(".env").write_text("LANGSMITH_TRACING=true\n")
    assert diagnosed()["tracing"].state == "fail"


@pytest.mark.parametrize(
    ("host", "address", "sslmode", "state"),
    [
        ("/run/postgresql", None, None, "ok"),
        (None, None, None, "ok"),
        ("localhost", "127.0.0.1", "prefer", "ok"),
        ("127.0.0.1", None, None, "ok"),
        ("db.example.com", "10.0.0.5", None, "warn"),
        ("db.example.com", "10.0.0.5", "require", "warn"),
        ("db.example.com", "10.0.0.5", "disable", "warn"),
        ("db.example.com", "10.0.0.5", "verify-ca", "ok"),
        ("db.example.com", "10.0.0.5", "verify-full", "ok"),
        ("10.0.0.5", None, "prefer", "warn"),
    ],
)
def test_a_database_elsewhere_that_nobody_verifies_is_told_of(host, address, sslmode, state):
    check = transport_check(host, address, sslmode)
    assert check.state == state
    assert ("verify-full" in check.say) == (state == "warn" or sslmode == "verify-full")


def test_a_client_that_refuses_its_settings_in_its_own_way_is_a_failure(diagnosed, monkeypatch):
    def refuse(**_settings):
        raise ValueError("a value of the settings")

    monkeypatch.setattr("discreet.cli.checks.chat_model", refuse)
    check = diagnosed()["chat model"]
    assert check.state == "fail"
    assert "ValueError" in check.say
    assert "a value" not in check.say
