"""A tool that waits for a person: who approves sees the real address, the database holds a placeholder."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.types import Command, interrupt

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph
from discreet.state.context import Context
from discreet.storage import open_storage
from discreet.testing import ScriptedChatModel


@tool
def send_email(to: str, text: str) -> str:
    """Send an email, if a person says yes."""
    decision = interrupt({"question": f"Send “{text}” to {to}?"})
    return f"Sent to {to}." if decision == "yes" else "Not sent: the person said no."


async def main() -> str:
    """Ask for an email, look at what waits in the database, and say yes."""
    call = {"name": "send_email", "args": {"to": "ann@example.com", "text": "See you at noon"}, "id": "call_1"}
    model = ScriptedChatModel(responses=[AIMessage("", tool_calls=[call]), AIMessage("It is on its way.")])
    async with open_storage() as storage:
        saver = RedactingSaver.from_storage(storage)
        await saver.setup()
        graph = build_graph(storage, chat_model=model, tools=[send_email]).compile(checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "approval"}}
        context = Context(user_id="ann")

        given: Any = {"messages": [("user", "Tell ann@example.com that I come at noon.")]}
        paused = await graph.ainvoke(given, config, context=context)
        print(f"asked:   {paused['__interrupt__'][0].value['question']}")
        rows = RedactingSaver.from_storage(storage, restore=False)  # shows what is stored
        waiting = await rows.aget_tuple(config)
        assert waiting is not None
        print(f"stored:  {waiting.checkpoint['channel_values']['messages'][0].text}")
        state = await graph.ainvoke(Command(resume="yes"), config, context=context)
        answer = str(state["messages"][-1].text)
        print(f"answered: {answer}")
        return answer


if __name__ == "__main__":
    asyncio.run(main())
