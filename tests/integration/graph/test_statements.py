"""What a turn says to the database: one statement before the model, one after it, and the checkpointer's."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from testkit.boundaries import at_statement

from discreet.checkpoint import RedactingSaver
from discreet.graph import drain
from discreet.graph.middleware import MemoryMiddleware
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import ScriptedChatModel, StubEmbeddings

ANN = {"configurable": {"thread_id": "t", "user_id": "ann"}}


async def turns(database, *said, responses=()):
    """Return how many statements each turn takes, and the text of the last prompt."""
    model = ScriptedChatModel(responses=[*responses, *[AIMessage("Okay.")] * 20])
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), settings=Settings(reembed=False)) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Keeps two parrots")])
        saver = RedactingSaver.from_pool(storage.pool)
        await saver.setup()
        agent = create_agent(model, middleware=[MemoryMiddleware(storage)], checkpointer=saver)
        counts = []
        for text in said:
            with at_statement(1_000, drain) as sent:
                await agent.ainvoke({"messages": [("user", text)]}, ANN)
            counts.append(sent.passed)
        logged = await storage.log.read("ann")
        rounds = await storage.short_term.recent_rounds("ann", "t")
    assert [turn.input_text for turn in logged] == [each.input_text for each in rounds] == list(said)
    return counts, str(model.prompts[-1][0].text)


async def test_a_turn_takes_two_beside_those_of_its_checkpointer(database):
    counts, prompt = await turns(database, "Hi, it is me.", *["Which parrots do I keep?"] * 4)
    assert counts[-1] == 5
    assert "two parrots" in prompt


async def test_so_does_one_that_skips_retrieval(database):
    counts, prompt = await turns(database, "Which parrots do I keep?", *["Thanks!"] * 4)
    assert counts[-1] == 5
    assert "two parrots" not in prompt
