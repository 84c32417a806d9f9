"""Models that are asked whether they answer."""

from __future__ import annotations

import asyncio
import secrets

import pytest
from langchain_core.messages import AIMessage

from discreet.cli import probe
from discreet.cli.probe import QUESTION, probe_checks
from discreet.errors import ProviderError
from discreet.settings import Settings
from discreet.testing import Failure, openai_server

KEY = secrets.token_hex(24)


def probed(*answers, base_url=None):
    """Ask models of OpenAI's protocol; return the checks by name, and what was asked for."""
    with openai_server(answers) as server:
        settings = Settings(
            _env_file=None,
            chat_model="openai:any",
            embedding_model="openai:any",
            openai_api_key=KEY,
            openai_base_url=base_url or server.base_url,
            embedding_dims=384,
        )
        checks = asyncio.run(probe_checks(settings, probe=True))
        return {check.name: check for check in checks}, server.requests


def test_models_that_answer_are_asked_once_each_and_their_time_is_told():
    checks, requests = probed(AIMessage("yes"))
    assert [check.state for check in checks.values()] == ["ok", "ok"]
    assert all(check.say.startswith("In ") for check in checks.values())
    assert sorted(request.path for request in requests) == ["/v1/chat/completions", "/v1/embeddings"]


def test_models_without_a_network_answer():
    settings = Settings(_env_file=None, chat_model="offline", embedding_model="none")
    assert {check.state for check in asyncio.run(probe_checks(settings, probe=True))} == {"ok"}


@pytest.mark.parametrize(
    ("status", "said"), [(401, "does not take the key"), (404, "no model of this name"), (418, "status 418")]
)
def test_a_refusal_is_told_by_its_reason_and_without_the_key(status, said):
    failed = [Failure(status=status)] * 2
    checks, _ = probed(*failed)
    assert {check.state for check in checks.values()} == {"fail"}
    assert all(said in check.say for check in checks.values())
    assert KEY not in str(checks)
    assert QUESTION not in str(checks)


@pytest.mark.slow
def test_nobody_at_the_address_is_told():
    checks, _ = probed(base_url="http://127.0.0.1:9/v1")
    assert all(check.say.startswith("It can't be asked (") for check in checks.values())


def test_a_model_that_takes_too_long_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(probe, "SECONDS", 0.2)
    checks, _ = probed(Failure(delay=30), Failure(delay=30))
    assert {check.say for check in checks.values()} == {"Not within 0 s."}


def test_an_error_of_ours_says_what_to_do():
    assert probe.reason(ProviderError("The weights are missing.")) == "The weights are missing."
