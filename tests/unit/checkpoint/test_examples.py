import doctest

import pytest

from discreet.checkpoint import policy, saver


@pytest.mark.parametrize("module", [policy, saver])
def test_the_examples_run(module):
    result = doctest.testmod(module)
    assert (result.failed, result.attempted > 0) == (0, True)
