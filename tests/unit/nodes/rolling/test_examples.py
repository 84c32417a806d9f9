import doctest
import importlib

import pytest


@pytest.mark.parametrize("module", ["nodes.rolling_summary"])
def test_the_examples_are_right(module):
    outcome = doctest.testmod(importlib.import_module(f"discreet.{module}"))
    assert outcome.attempted
    assert not outcome.failed
