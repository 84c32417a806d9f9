"""One process of a service: waits for the signal to start, delivers a message, and says what it got."""

import asyncio
import sys
from pathlib import Path

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from discreet.graph import TurnRunner, build_graph
from discreet.state.context import Context
from discreet.storage import open_storage
from discreet.testing import StrictChatModel, StubEmbeddings


async def main(folder, number):
    def answer(messages):
        (folder / f"ran-{number}").touch()
        return AIMessage("Noted.")

    async with open_storage(embeddings=StubEmbeddings(dims=64)) as storage:
        builder = build_graph(chat_model=StrictChatModel(answer=answer), short_term=storage.short_term)
        runner = TurnRunner(builder.compile(checkpointer=InMemorySaver()), short_term=storage.short_term)
        (folder / f"ready-{number}").touch()
        while not (folder / "go").exists():  # another process makes it
            await asyncio.sleep(0.005)
        message = HumanMessage("I keep two parrots.")
        thread = {"configurable": {"thread_id": "1"}}
        state = await runner.ainvoke({"messages": [message]}, thread, context=Context(user_id="ann"))
        print(state["messages"][-1].response_metadata.get("delivery", "answered"))


asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
