"""Presidio needs 200 MB of other packages, and Russian names 30 MB, so they are installed for these tests alone."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

NOTHING_LEAVES = """
import socket, subprocess

def refuse(*_, **__):
    raise AssertionError("reached out")

socket.socket.connect = socket.getaddrinfo = subprocess.Popen = subprocess.run = refuse
"""
PRESIDIO = """
import spacy
from presidio_analyzer import AnalyzerEngine, PatternRecognizer, RecognizerRegistry
from presidio_analyzer.nlp_engine import SpacyNlpEngine

from discreet.errors import MissingDependencyError
from discreet.redaction import Redactor
from discreet.redaction.recognisers.presidio import PresidioRecogniser

engine = SpacyNlpEngine()
engine.nlp = {"en": spacy.blank("en")}  # models are not to be had from the package index
registry = RecognizerRegistry(recognizers=[PatternRecognizer("PERSON", deny_list=["Ann Lee"])])
analyzer = AnalyzerEngine(nlp_engine=engine, registry=registry, supported_languages=["en"])
redactor = Redactor(recognisers=[PresidioRecogniser(analyzer=analyzer)])
text = "<PERSON> met \\u200bAnn Lee in Rome."
assert redactor.redact(text) == "<PERSON> met \\u200b<PERSON> in Rome.", redactor.redact(text)
try:
    Redactor(recognisers=[PresidioRecogniser()]).redact("Ann Lee")
except MissingDependencyError as error:
    assert "spacy download" in str(error)
else:
    raise AssertionError("there is no model")
"""
RUSSIAN = """
from discreet.redaction.configured import redactor_from
from discreet.settings import load_settings

redactor = redactor_from(load_settings())
text = "Вчера обедал с Иваном Смирновым на улице Гагарина. меня зовут ольга"
expected = "Вчера обедал с <PERSON> на улице Гагарина. меня зовут <PERSON>"
assert redactor.redact(text) == expected, redactor.redact(text)
assert redactor.redact(expected) == expected
"""


def run(script, folder, *packages, **settings):
    uv = str(Path(sys.executable).with_name("uv"))
    for package in packages:
        subprocess.run(
            [uv, "pip", "install", "--quiet", "--target", str(folder / "site"), *package.split()], check=True
        )
    environment = {"PYTHONPATH": str(folder / "site"), "HOME": str(folder), "PATH": "", **settings}
    subprocess.run([sys.executable, "-c", NOTHING_LEAVES + script], check=True, env=environment, cwd=folder)


def test_presidio_finds_names_and_never_fetches_a_model(tmp_path):
    run(PRESIDIO, tmp_path, "presidio-analyzer>=2.2.360,<3")


def test_russian_names_by_the_weights_of_natasha_alone(tmp_path):
    packages = ("--no-deps slovnet>=0.6,<0.7 navec razdel", "--no-deps natasha>=1.6,<2")
    run(RUSSIAN, tmp_path, *packages, DISCREET_RECOGNISERS='["names-ru"]')
