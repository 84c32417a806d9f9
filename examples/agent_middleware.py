"""An agent of `langchain.agents.create_agent` with memory (the extra `langchain`)."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain.agents import create_agent

from discreet.checkpoint import RedactingSaver
from discreet.graph.middleware import MemoryMiddleware
from discreet.providers import chat_model
from discreet.state.context import Context
from discreet.storage import open_storage


async def main() -> str:
    """Tell it something in one conversation, ask for it in another."""
    async with open_storage() as storage:
        saver = RedactingSaver.from_storage(storage)
        await saver.setup()
        agent = create_agent(
            chat_model("offline"),
            middleware=[MemoryMiddleware(storage)],
            context_schema=Context,
            checkpointer=saver,
        )
        answer = ""
        for thread, text in (("1", "I keep two African Grey parrots."), ("2", "Which birds do I keep?")):
            config: Any = {"configurable": {"thread_id": f"middleware-{thread}"}}
            given: Any = {"messages": [("user", text)]}
            state = await agent.ainvoke(given, config, context=Context(user_id="ann"))
            answer = str(state["messages"][-1].text)
            print(f"{text}\n  {answer}")
        return answer


if __name__ == "__main__":
    asyncio.run(main())
