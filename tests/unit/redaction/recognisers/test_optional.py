import random
import string
import sys

import pytest

from discreet.errors import MissingDependencyError
from discreet.redaction import Redactor
from discreet.redaction.recognisers.kingfisher import KingfisherRecogniser
from discreet.redaction.recognisers.presidio import PresidioRecogniser


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Kingfisher keeps its compiled rules below the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.slow
def test_kingfisher_finds_what_its_rules_know():
    redactor = Redactor(recognisers=[KingfisherRecogniser()])
    run = "".join(random.Random(2).choices(string.ascii_letters + string.digits, k=36))
    assert redactor.redact("密鑰 gh" + f"p_{run} 謝謝") == "密鑰 <SECRET> 謝謝"
    assert redactor.redact("nothing here, and <SECRET>") == "nothing here, and <SECRET>"


@pytest.mark.parametrize(
    ("recogniser", "module", "package"),
    [
        (KingfisherRecogniser(), "kingfisher_sdk", "kingfisher-secret-scanner"),
        (PresidioRecogniser(), "presidio_analyzer", "presidio-analyzer"),
    ],
)
def test_a_missing_package_is_named(monkeypatch, recogniser, module, package):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=f"pip install {package}"):
        Redactor(recognisers=[recogniser]).redact("hello")
