import doctest
import importlib

import pytest

MODULES = (
    "",
    ".engine",
    ".logs",
    ".normalise",
    ".placeholders",
    ".recognisers.internal_id",
    ".streaming",
    ".threads",
    ".vault",
    ".walker",
)


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_hold(module):
    outcome = doctest.testmod(importlib.import_module(f"discreet.redaction{module}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0
