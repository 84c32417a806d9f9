"""LangChain's adapters have another version of the SDK, or another package of many, and so environments of their own."""

import json
import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

import pytest
from testkit.ports import free_port
from testkit.serving import DISCREET, clean_environment, serving

from discreet.access.development import make_token

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
USE = """
import asyncio, json, os, warnings

def by_name(tools):
    return {tool.name: tool for tool in tools}

async def use(tools):
    assert len(tools) == 5, list(tools)
    await tools["save_memory"].ainvoke({"text": "I keep two African Grey parrots"})
    found = await tools["recall_memory"].ainvoke({"query": "that flying animal"})
    assert "African Grey" in str(found), found
"""
ADAPTERS = """
exec(os.environ["BLOCK"])

async def main():
    for tools in await memory_tools(*json.loads(os.environ["ARGUMENTS"])):
        await use(by_name(tools))

asyncio.run(main())
"""
BUILT_IN = """
warnings.simplefilter("ignore")
from langchain.mcp import MCPAdapter

async def main():
    for config in json.loads(os.environ["CONFIGS"]):
        async with MCPAdapter(config) as adapter:
            await use(by_name(await adapter.list_tools()))

asyncio.run(main())
"""


@pytest.fixture
def server(tmp_path):
    """Where a server of several people is, and a token for it; the folder of its data."""
    secret, port = secrets.token_urlsafe(32), free_port()
    folder, url = tmp_path / "data", f"http://127.0.0.1:{port}"
    environment = clean_environment(DISCREET_JWT_SECRET=secret, DISCREET_DATA_DIR=str(folder))
    with serving([DISCREET, "mcp", "--http", "--port", str(port)], tmp_path, url, environment=environment):
        yield f"{url}/mcp", make_token(secret, "ann@example.com"), str(folder)


def run(script, folder, package, **variables):
    uv = str(Path(sys.executable).with_name("uv"))
    python = folder / "environment" / "bin" / "python"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(folder / "environment")], check=True)
    subprocess.run([uv, "pip", "install", "--quiet", "--python", str(python), package], check=True)
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"], **variables}
    subprocess.run([str(python), "-c", USE + script], check=True, env=environment, cwd=folder)


def test_the_block_of_the_page_with_the_adapters(server, tmp_path):
    url, token, folder = server
    (block,) = [
        each for each in re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) if "langchain_mcp" in each
    ]
    arguments = json.dumps([DISCREET, folder, url, token])
    run(ADAPTERS, tmp_path, "langchain-mcp-adapters>=0.3.2,<0.4", BLOCK=block, ARGUMENTS=arguments)


def test_the_configurations_of_the_page_with_langchain_itself(server, tmp_path):
    url, token, folder = server
    stdio, http = (json.loads(each) for each in re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[:2])
    stdio["mcpServers"]["memory"] |= {"command": DISCREET, "env": {"DISCREET_DATA_DIR": folder}}
    http["mcpServers"]["memory"] |= {"url": url, "headers": {"Authorization": f"Bearer {token}"}}
    run(BUILT_IN, tmp_path, "langchain[mcp]>=1.4.7,<2", CONFIGS=json.dumps([stdio, http]))
