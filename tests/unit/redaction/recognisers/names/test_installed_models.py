import socket
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

from discreet.errors import MissingDependencyError
from discreet.redaction import Redactor
from discreet.redaction.configured import SHORT_NAMES
from discreet.redaction.recognisers.names.russian import RussianNameRecogniser
from discreet.redaction.recognisers.presidio import PresidioRecogniser


@pytest.fixture(autouse=True)
def nothing_leaves(monkeypatch):
    """No process is started and nobody is called."""

    def refuse(*_, **__):
        raise AssertionError("reached out")

    for name in ("run", "Popen", "call", "check_call", "check_output"):
        monkeypatch.setattr(subprocess, name, refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def presidio_without_models(monkeypatch):
    """The parts of Presidio and spaCy that are imported, with an engine that starts a download when it loads."""

    class Engine:
        def __init__(self, **_):
            subprocess.run(["pip", "install", "a model"], check=True)

    parts = {
        "spacy": {"util": SimpleNamespace(is_package=lambda _: False)},
        "presidio_analyzer": {"AnalyzerEngine": Engine, "RecognizerRegistry": Engine},
        "presidio_analyzer.nlp_engine": {"SpacyNlpEngine": Engine},
    }
    for name, attributes in parts.items():
        module = ModuleType(name)
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, name, module)


def test_presidio_without_a_model_says_which_to_install(presidio_without_models):
    with pytest.raises(MissingDependencyError, match="spacy download en_core_web_lg"):
        Redactor(recognisers=[PresidioRecogniser()]).redact("hello")


@pytest.mark.parametrize("module", ["slovnet", "navec", "natasha"])
def test_russian_names_say_what_to_install(monkeypatch, module):
    for name in ("slovnet", "navec"):
        part = ModuleType(name)
        part.NER = part.Navec = SimpleNamespace()
        monkeypatch.setitem(sys.modules, name, part)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'slovnet.*natasha"):
        Redactor(recognisers=[RussianNameRecogniser()]).redact("привет")


@pytest.mark.parametrize("short", [name for name in SHORT_NAMES if name.startswith("names-")])
def test_short_names_of_the_settings(short, monkeypatch):
    from discreet.redaction.configured import redactor_from
    from discreet.settings import load_settings

    monkeypatch.setenv("DISCREET_RECOGNISERS", f'["{short}"]')
    redactor = redactor_from(load_settings())
    assert "PERSON" in {each.type for each in redactor._recognisers}
