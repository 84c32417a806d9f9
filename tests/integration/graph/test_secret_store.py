"""A secret that the user wants kept: the store for secrets has it, the memory refers to it, and nothing else ever holds it."""

from __future__ import annotations

import logging
from uuid import uuid4

import pytest
from kit.places import files, folder_of
from kit.search import Words, search
from langchain_core.messages import AIMessage, HumanMessage

from discreet.checkpoint import RedactingSaver
from discreet.encryption import Keyring, make_key
from discreet.graph import build_graph
from discreet.redaction.placeholders import referenced
from discreet.state.context import Context
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import InMemorySecretStore, ScriptedChatModel, StubEmbeddings

pytestmark = pytest.mark.one_server("reads the files of the server")


@pytest.fixture
def password(token):
    return token + "Aa7!"


@pytest.mark.slow
@pytest.mark.parametrize("sealed", [False, True], ids=["plain", "sealed"])
async def test_the_value_reaches_neither_the_database_nor_the_logs_and_the_reference_stays(
    database, password, sealed, caplog
):
    said = f"Please remember: my wifi password is {password}"
    save = {"name": "save_memory", "args": {"text": f"The user's wifi password is {password}"}, "id": "c1"}
    answers = [AIMessage("", tool_calls=[save]), AIMessage("Done."), AIMessage("It is kept apart.")]
    model, store = ScriptedChatModel(responses=answers), InMemorySecretStore()
    keys = Keyring([make_key()]) if sealed else None
    thread = {"configurable": {"thread_id": str(uuid4())}}
    with caplog.at_level(logging.DEBUG):
        async with (
            open_storage(database, embeddings=StubEmbeddings(dims=64), keys=keys) as storage,
            RedactingSaver.from_conn_string(database) as saver,
        ):
            await saver.setup()
            graph = build_graph(
                chat_model=model,
                memories=storage.memories,
                log=storage.log,
                short_term=storage.short_term,
                summaries=storage.summaries,
                secret_store=store,
            ).compile(checkpointer=saver)
            for text in (said, "What is my wifi password?"):
                await graph.ainvoke({"messages": [HumanMessage(text)]}, thread, context=Context(user_id="ann"))
            [record] = await storage.memories.latest("ann")
    [secret_id] = referenced([record.text])
    assert record.text == f"The user's wifi password is <SECRET_{secret_id}>"
    assert await store.reveal("ann", secret_id) == password
    assert password in str(model.prompts[0]), "the model has the user's own words"
    assert f"The user's wifi password is <SECRET_{secret_id}>" in model.prompts[2][0].text
    found = search(
        files(folder_of(database)), Words(value=password, control="What is my wifi password?", reference=secret_id)
    ).leaks
    assert "value" not in found
    assert sealed or {"control", "reference"} <= found.keys(), "what is meant to be there is found"
    assert password not in caplog.text


async def test_a_reference_outlives_being_saved_again_and_being_made_a_turn_or_a_summary(database):
    store = InMemorySecretStore()
    secret_id = await store.keep("ann", "…")
    text = f"My wifi password is <SECRET_{secret_id}>"
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        for fields in ({}, {"type": "turn", "thread_id": "t", "position": 0}, {"type": "conversation_summary"}):
            [saved] = await storage.memories.save("ann", [MemoryRecord(text=text, **fields)])
            [again] = await storage.memories.save("ann", [saved])
            assert again.text == saved.text == text
        found = await storage.memories.search("ann", "What is my wifi password?")
        assert {hit.record.text for hit in found} == {text}
        [by_id] = {hit.record.text for hit in await storage.memories.search("ann", secret_id, threshold=1)}
        assert by_id == text
