import doctest
import importlib

import pytest


@pytest.mark.parametrize("module", ["dates", "telling"])
def test_examples_in_docstrings_hold(module):
    outcome = doctest.testmod(importlib.import_module(f"discreet.retrieval.{module}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0
