import asyncio

import pytest
from blockbuster import BlockBuster

from discreet.errors import ConfigurationError
from discreet.redaction import Redactor
from discreet.redaction.configured import default_redactor
from discreet.redaction.placeholder_key import default_key
from discreet.redaction.thread_offload import read_apart


@pytest.fixture(autouse=True)
def first_time():
    """Nothing has been read yet but modules, and nothing of this test's is left to others."""
    Redactor(placeholder_key=bytes(32)).for_thread("1").redact("ann@example.com")
    default_redactor.cache_clear()
    default_key.cache_clear()
    yield
    default_redactor.cache_clear()
    default_key.cache_clear()


@pytest.mark.parametrize("ask", [lambda: default_redactor().for_thread("1"), lambda: Redactor().for_thread("1")])
def test_what_is_read_first_on_a_watched_loop_does_not_fail_the_turn(ask):
    async def turn():
        watch = BlockBuster()
        watch.activate()
        try:
            return ask().redact("ann@example.com")
        finally:
            watch.deactivate()

    assert asyncio.run(turn()).startswith("<EMAIL:")


def test_errors_come_back_to_who_asked(monkeypatch):
    monkeypatch.setenv("DISCREET_PLACEHOLDER_KEY", "short")
    with pytest.raises(ConfigurationError, match="DISCREET_PLACEHOLDER_KEY"):
        default_redactor()
    with pytest.raises(KeyError):
        read_apart(lambda: {}["x"])
