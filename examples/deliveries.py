"""A webhook that delivers a message five times: the graph runs once, and everybody gets an answer."""

from __future__ import annotations

import asyncio
from typing import Any

from discreet.checkpoint import RedactingSaver
from discreet.graph import TurnRunner, build_graph
from discreet.state.context import Context
from discreet.storage import open_storage


async def main() -> None:
    """Deliver one message five times at once, then once more."""
    async with open_storage() as storage:
        saver = RedactingSaver.from_storage(storage)
        await saver.setup()
        builder = build_graph(storage, chat_model="offline")
        runner = TurnRunner(builder.compile(checkpointer=saver), short_term=storage.short_term)
        config: Any = {"configurable": {"thread_id": "deliveries"}}
        message = {"messages": [("user", "I keep two African Grey parrots.")]}

        async def deliver() -> Any:
            state = await runner.ainvoke(message, config, context=Context(user_id="ann"))
            return state["messages"][-1]

        answers = await asyncio.gather(*(deliver() for _ in range(5)))
        later = await deliver()  # within three seconds of the first: the same answer
        for answer in [*answers, later]:
            print(f"{answer.response_metadata.get('delivery', 'answered'):14} {answer.text}")
        first_hand = [answer for answer in answers if "delivery" not in answer.response_metadata]
        print("answered once" if len(first_hand) == 1 else f"answered {len(first_hand)} times")


if __name__ == "__main__":
    asyncio.run(main())
