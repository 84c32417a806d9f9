"""Services of fakes, and callers whose tokens are made here."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from discreet import outcomes
from discreet.api.services import Services
from discreet.outcomes import LastOutcome
from discreet.redaction import Redactor
from discreet.settings import Settings
from discreet.state.memory_settings import MemorySettings
from discreet.storage.shared import SharedStorage
from discreet.testing import InMemoryConversationLog, InMemoryMemories, InMemoryShortTermStore, TokenAuthenticator


@pytest.fixture(autouse=True)
def _no_call_before(monkeypatch):
    """Whatever tests that ran in this process before left as the last outcome."""
    monkeypatch.setattr(outcomes, "embedding", LastOutcome())


@pytest.fixture
def authenticator() -> TokenAuthenticator:
    return TokenAuthenticator()


@pytest.fixture
def services(authenticator) -> Services:
    redactor = Redactor()
    return Services(
        memories=InMemoryMemories(redactor=redactor),
        log=InMemoryConversationLog(),
        background=SharedStorage().background,  # which can't be reached
        short_term=InMemoryShortTermStore(),
        memory_settings=SimpleNamespace(live=MemorySettings()),
        authenticator=authenticator,
        redactor=redactor,
        settings=Settings(_env_file=None),
    )
