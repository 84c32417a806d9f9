"""The tools over fakes."""

from __future__ import annotations

import pytest

from discreet.mcp.call_limits import CallLimits
from discreet.mcp.tools import OfferedTools, make_tools
from discreet.ports import FixedSettings
from discreet.redaction import Redactor
from discreet.settings import Settings
from discreet.testing import InMemoryMemories, InMemoryRollingSummaries


@pytest.fixture
def memories():
    return InMemoryMemories(redactor=Redactor())


@pytest.fixture
def offer(memories):
    """Return what offers the tools, with so many calls in a minute."""

    def make(calls=1_000):
        tools = make_tools(
            memories=memories,
            summaries=InMemoryRollingSummaries(),
            memory_settings=FixedSettings(),
            storage=None,
            redactor=Redactor(),
            settings=Settings(_env_file=None),
        )
        return OfferedTools(tools, CallLimits(calls))

    return make


@pytest.fixture
def offered(offer):
    return offer()
