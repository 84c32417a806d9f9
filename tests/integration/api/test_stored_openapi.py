"""The document that is made beforehand is that of the application."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.api.stored_openapi import stored_openapi

ROOT = Path(__file__).resolve().parents[3]

PROGRAM = """
import json, sys
sys.path.insert(0, "tools")
from make_openapi import made
sys.stdout.write(made())
"""


@pytest.mark.slow
def test_it_is_what_the_application_would_say(tmp_path):
    environment = {"DISCREET_DATA_DIR": str(tmp_path), "PATH": ""}
    made = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    stored = (ROOT / "src" / "discreet" / "api" / "openapi.json").read_text(encoding="utf-8")
    assert made.stdout == stored, "A route has changed: run `python tools/make_openapi.py`"


def test_generated_clients_get_methods_with_names_and_answers_with_all_fields():
    document = stored_openapi()
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch("[a-z]+(_[a-z]+){1,2}", name)] == []
    for answer in ("Problem", "MemorySettings", "Receipt", "Alive"):
        schema = document["components"]["schemas"][answer]
        assert set(schema["required"]) == set(schema["properties"]), answer


@pytest.mark.slow
def test_a_server_that_adds_routes_does_not_make_it_anew(tmp_path):
    """LangGraph's adds its own ones to the application and asks for the document then."""
    program = """
from discreet.api.server import app
from discreet.api.stored_openapi import stored_openapi
app.add_api_route("/another", lambda: None)
assert app.openapi() == stored_openapi()
"""
    environment = {"DISCREET_DATA_DIR": str(tmp_path), "PATH": ""}
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, check=True)
