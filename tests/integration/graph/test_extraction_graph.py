"""The graph `extract`: one's own conversations now, or everybody's that are due."""

from __future__ import annotations

import pytest
from testkit.conversations import talk

from discreet.errors import ForbiddenError, InvalidContextError
from discreet.graph.extraction import build_extraction_graph
from discreet.settings import Settings
from discreet.state.context import Context
from discreet.state.records import MemoryFilters
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

SAID = ("I keep two African Grey parrots.", "My daughter Lan starts school in September.", "Thanks!")
FACTS = MemoryFilters(types=["user_fact", "preference", "event", "conversation_insight", "important_moment"])


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=256)) as opened:
        yield opened


@pytest.fixture
def graph(storage):
    return build_extraction_graph(storage, settings=Settings()).compile()


async def count(storage, user):
    return len(await storage.memories.latest(user, filters=FACTS))


@pytest.mark.slow
async def test_a_caller_has_their_own_turns_worked_on(storage, graph):
    await talk(storage, *SAID)
    await talk(storage, *SAID, user="bob", thread="another")
    done = (await graph.ainvoke({}, context=Context(user_id="ann")))["done"]
    assert (done["turns"], done["added"], done["waiting"]) == (3, 2, 0)
    assert (await count(storage, "ann"), await count(storage, "bob")) == (2, 0)


@pytest.mark.slow
async def test_a_cron_works_on_everybody_who_is_due(storage, graph):
    await talk(storage, *SAID)
    await talk(storage, *SAID, user="bob", thread="another")
    done = (await graph.ainvoke({"all_users": True}))["done"]
    assert done["fired"] == 2
    assert (await count(storage, "ann"), await count(storage, "bob")) == (2, 2)


@pytest.mark.parametrize("permissions", [None, [], ["users:name"]])
async def test_on_a_server_everybody_takes_a_right(storage, graph, permissions):
    await talk(storage, *SAID)
    config = {"configurable": {"langgraph_auth_user": {"identity": "u_1"}, "langgraph_auth_permissions": permissions}}
    with pytest.raises(ForbiddenError):
        await graph.ainvoke({"all_users": True}, config)
    config["configurable"]["langgraph_auth_permissions"] = ["memory:administer"]
    assert (await graph.ainvoke({"all_users": True}, config))["done"]["fired"] == 1


@pytest.mark.parametrize("after", ["soon", "2026-11-01", "2026-11-01T10:00:00"])
async def test_a_time_that_is_none_is_refused(graph, after):
    with pytest.raises(InvalidContextError, match="after"):
        await graph.ainvoke({"after": after}, context=Context(user_id="ann"))


async def test_without_a_user_it_asks_for_one(graph):
    with pytest.raises(InvalidContextError, match="user_id"):
        await graph.ainvoke({})


async def test_from_a_time_on(storage, graph):
    await talk(storage, *SAID)
    done = (await graph.ainvoke({"after": "2100-01-01T00:00:00Z"}, context=Context(user_id="ann")))["done"]
    assert done["turns"] == 0
    assert await count(storage, "ann") == 0
