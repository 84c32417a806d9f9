"""The layers that keep a server clean, and a project folder that is wired with some of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Final

import kit

INGRESS: Final = "ingress"
GUARD: Final = "guard"
CHECKPOINTER: Final = "checkpointer"
STORE: Final = "store"
AUTH: Final = "auth"
ALL: Final = frozenset({INGRESS, GUARD, CHECKPOINTER, STORE, AUTH})

ALLOWED_FIELDS: Final = frozenset({"run_id", "thread_id", "assistant_id", "status", "created_at", "updated_at"})
"""What webhooks may tell of a run."""

PROJECT: Final = Path(__file__).resolve().parents[2] / "end_to_end" / "leaks" / "leaky_project"

_WIRING: Final = """\
\"\"\"Wire the graphs of this project for langgraph.json.\"\"\"

from contextlib import asynccontextmanager

from leaky import TEMPLATE_MODEL, look_up, make_leaky_graph
from leak_suite.deletions import delete_one_at_a_time
from leak_suite.flushing import flush_often
{imports}
from discreet.graph import build_graph
from discreet.storage.shared import process_storage

agent = build_graph(
    chat_model=TEMPLATE_MODEL,
    tools=[look_up],
    memories=process_storage.memories,
    log=process_storage.log,
    short_term=process_storage.short_term,
    summaries=process_storage.summaries,
    memory_settings=process_storage.memory_settings,
    vault=process_storage.vault,
).compile(name="agent")
leaky = make_leaky_graph().compile(name="leaky")
{guard}

@asynccontextmanager
async def checkpointer():
    flush_often()
    delete_one_at_a_time()
    async with process_storage.lease() as storage:
{checkpointer}

@asynccontextmanager
async def store():
    async with process_storage.lease() as storage:
{store}
"""

_GUARDED = """\
agent = guarded(agent, vault=process_storage.vault)
leaky = guarded(leaky, vault=process_storage.vault)
"""
_REDACTING_SAVER = """\
        saver = RedactingSaver.from_pool(storage.pool)
        await saver.setup()
        yield saver
"""
_STOCK_SAVER = """\
        async with AsyncPostgresSaver.from_conn_string(os.environ["DISCREET_POSTGRES_DSN"]) as saver:
            await saver.setup()
            yield saver
"""
_OWN_STORE = """\
        yield storage.store
"""
_STOCK_STORE = """\
        async with AsyncPostgresStore.from_conn_string(os.environ["DISCREET_POSTGRES_DSN"]) as store:
            await store.setup()
            yield store
"""


def write_project(folder: Path, layers: Collection[str], *, webhooks: bool = False) -> None:
    """Write langgraph.json and its wiring, with these `layers` and stock parts in place of the others.

    With `webhooks` they are called on this machine; else they are not called at all.
    """
    shutil.copytree(PROJECT, folder, dirs_exist_ok=True)
    for package in (Path(__file__).parent, Path(kit.__file__).parent):
        shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    imports = ["import os"]
    if GUARD in layers:
        imports.append("from discreet.graph.guard import guarded")
    imports.append(
        "from discreet.checkpoint import RedactingSaver"
        if CHECKPOINTER in layers
        else "from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver"
    )
    if STORE not in layers:
        imports.append("from langgraph.store.postgres.aio import AsyncPostgresStore")
    wiring = _WIRING.format(
        imports="\n".join(imports),
        guard=_GUARDED if GUARD in layers else "",
        checkpointer=_REDACTING_SAVER if CHECKPOINTER in layers else _STOCK_SAVER,
        store=_OWN_STORE if STORE in layers else _STOCK_STORE,
    )
    (folder / "server.py").write_text(wiring)
    (folder / "langgraph.json").write_text(json.dumps(_configuration(layers, webhooks=webhooks), indent=2))


def _configuration(layers: Collection[str], *, webhooks: bool) -> dict[str, object]:
    http: dict[str, object] = {"disable_mcp": True, "disable_a2a": True, "disable_webhooks": not webhooks}
    if INGRESS in layers:
        http |= {
            "app": "discreet.api.server:app",
            "enable_custom_route_auth": True,
            "configurable_headers": {"excludes": ["*"]},
            "logging_headers": {"excludes": ["*"]},
        }
    else:
        http |= {"configurable_headers": {"includes": ["*"]}, "logging_headers": {"includes": ["*"]}}
    return {
        "dependencies": ["."],
        "graphs": {"agent": "./server.py:agent", "leaky": "./server.py:leaky"},
        "checkpointer": {"path": "./server.py:checkpointer"},
        "store": {"path": "./server.py:store"},
        "auth": {
            "path": "discreet.api.server:auth" if AUTH in layers else "./stock_auth.py:auth",
            "disable_studio_auth": True,
        },
        "http": http,
        "webhooks": {
            "url": {"disable_loopback": False, "require_https": False},
            "allowed_fields": sorted(ALLOWED_FIELDS),
        }
        if INGRESS in layers
        else {"url": {"disable_loopback": False, "require_https": False}},
    }
