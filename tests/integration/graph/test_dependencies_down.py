"""Any one dependency is down: the turn is answered, and a log event and a metric say what was lost."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from prometheus_client import REGISTRY

from discreet.checkpoint import RedactingSaver
from discreet.errors import ProviderError
from discreet.graph import TurnRunner, build_graph
from discreet.nodes.memory_gate import make_memory_gate
from discreet.redaction import InMemoryTurnVault
from discreet.settings import Settings
from discreet.state.context import Context
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import ScriptedChatModel, StrictChatModel, StubEmbeddings

EMAIL = "ann.nguyen@example.com"
SAID = f"What did I tell you about my parrots? Write to {EMAIL}"
THREAD = {"configurable": {"thread_id": "1"}}


class Embeddings(StubEmbeddings):
    down = False

    async def aembed_query(self, text):
        if self.down:
            raise ProviderError
        return await super().aembed_query(text)


@pytest.fixture
def embeddings():
    return Embeddings(dims=64)


@pytest.fixture
def open_runner(embeddings):
    """Return `open_runner(dsn, **settings)`: the whole template over one storage, and what its model was asked."""

    @asynccontextmanager
    async def opened(dsn, **settings):
        model = StrictChatModel(answer=lambda messages: AIMessage(f"Noted: {messages[-1].text}"))
        chosen = Settings(retrieve_timeout=0.5, **settings)
        async with open_storage(dsn, settings=chosen, embeddings=embeddings) as storage:
            saver = RedactingSaver.from_pool(storage.pool)
            await saver.setup()
            await storage.memories.save("ann", [MemoryRecord(text="Ann keeps two African Grey parrots")])
            vault = InMemoryTurnVault()
            parts = {"memories": storage.memories, "log": storage.log, "summaries": storage.summaries}
            builder = build_graph(
                chat_model=model, short_term=storage.short_term, vault=vault, settings=chosen, **parts
            )
            graph = builder.compile(checkpointer=saver)
            yield TurnRunner(graph, short_term=storage.short_term), model

    return opened


@pytest.fixture
def lost(caplog):
    """Return `lost(metric, **labels)`: how often it was counted since the test began."""

    def value(metric, labels):
        return REGISTRY.get_sample_value(metric, labels) or 0.0

    before = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in REGISTRY.collect()
        for sample in family.samples
    }
    return lambda metric, **labels: value(metric, labels) - before.get((metric, tuple(sorted(labels.items()))), 0.0)


async def ask(runner, text=SAID):
    state = await runner.ainvoke({"messages": [HumanMessage(text)]}, THREAD, context=Context(user_id="ann"))
    return state["messages"][-1].text


@pytest.mark.slow
async def test_with_all_of_it_up_memories_are_found(open_runner, database):
    async with open_runner(database) as (runner, model):
        assert await ask(runner) == f"Noted: {SAID}"
        assert "African Grey" in model.prompts[0][0].text


@pytest.mark.slow
async def test_the_database_is_down(open_runner, migrated_relay, caplog, lost):
    async with open_runner(migrated_relay.dsn, pool_size=2) as (runner, model):
        await ask(runner, "I remember everything")
        migrated_relay.down()
        assert await ask(runner) == f"Noted: {SAID}"
        migrated_relay.up()
    assert "African Grey" not in model.prompts[1][0].text
    assert lost("discreet_outage_turns_total", lost="thread") == 1
    assert lost("discreet_persist_failures_total", what="conversation_log", cause="StorageUnavailableError") == 1
    assert "checkpointer_unreachable" in caplog.text
    assert EMAIL not in caplog.text


async def test_the_embedding_is_down(open_runner, database, embeddings, caplog, lost):
    async with open_runner(database) as (runner, model):
        embeddings.down = True
        assert await ask(runner) == f"Noted: {SAID}"
        assert "African Grey" not in model.prompts[0][0].text
    assert lost("discreet_retrieve_failures_total", cause="ProviderError") == 1
    assert "retrieve_failed cause=ProviderError" in caplog.text
    assert EMAIL not in caplog.text


@pytest.mark.slow
async def test_redis_is_down(open_runner, database, caplog, lost):
    nowhere = {"redis_url": "redis://127.0.0.1:1/0"}
    async with open_runner(database, **nowhere) as (runner, model):
        assert await ask(runner) == f"Noted: {SAID}"
        assert "African Grey" in model.prompts[0][0].text
    for doing in ("claim", "touch"):
        assert lost("discreet_short_term_failures_total", doing=doing, cause="ShortTermError") == 1
    assert lost("discreet_persist_failures_total", what="session", cause="ShortTermError") == 1
    assert EMAIL not in caplog.text


@pytest.mark.parametrize("failing", [ProviderError(), "hangs"], ids=["fails", "hangs"])
async def test_the_small_model_is_down(failing, caplog, lost):
    class Hanging(ScriptedChatModel):
        async def _agenerate(self, *args, **kwargs):
            if failing == "hangs":
                await asyncio.sleep(60)
            raise failing

    gate = make_memory_gate(small_model=Hanging(responses=[]), timeout=0.05)
    update = await gate({"messages": [HumanMessage("Hm, so what would be nice about it")]})
    assert update["gate"]["retrieve"] is True
    assert "gate_model_failed" in caplog.text
