import doctest
import importlib

import pytest


@pytest.mark.parametrize("module", ["assembly", "fitting", "data", "facts", "texts"])
def test_the_examples_in_the_docstrings_hold(module):
    outcome = doctest.testmod(importlib.import_module(f"discreet.prompts.{module}"))
    assert outcome.attempted
    assert not outcome.failed
