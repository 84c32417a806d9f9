"""Presidio needs 200 MB of other packages, so it is installed for this test alone."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import spacy
from presidio_analyzer import AnalyzerEngine, PatternRecognizer, RecognizerRegistry
from presidio_analyzer.nlp_engine import SpacyNlpEngine

from discreet.redaction import Redactor
from discreet.redaction.recognisers.presidio import PresidioRecogniser

engine = SpacyNlpEngine()
engine.nlp = {"en": spacy.blank("en")}  # models are not to be had from the package index
registry = RecognizerRegistry(recognizers=[PatternRecognizer("PERSON", deny_list=["Ann Lee"])])
analyzer = AnalyzerEngine(nlp_engine=engine, registry=registry, supported_languages=["en"])
redactor = Redactor(recognisers=[PresidioRecogniser(analyzer=analyzer)])
text = "<PERSON> met \\u200bAnn Lee in Rome."
assert redactor.redact(text) == "<PERSON> met \\u200b<PERSON> in Rome.", redactor.redact(text)
"""


@pytest.mark.slow
def test_presidio_finds_names(tmp_path):
    install = [
        str(Path(sys.executable).with_name("uv")),
        "pip",
        "install",
        "--quiet",
        "--target",
        str(tmp_path / "site"),
    ]
    subprocess.run([*install, "presidio-analyzer>=2.2.360,<3"], check=True)
    environment = {"PYTHONPATH": str(tmp_path / "site"), "HOME": str(tmp_path), "PATH": ""}
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, env=environment, cwd=tmp_path)
