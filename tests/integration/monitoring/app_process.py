"""An application with people who talk to it, as a process: the REST API on the port that is its argument, turns beside it.

It says "ready" once there were some of all kinds, goes on with turns, and ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import sys
from uuid import uuid4

import uvicorn

from discreet.api.process_app import make_process_app, prepare_process
from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph
from discreet.state.context import Context
from discreet.storage.shared import process_storage

SAID = (
    "Hi, I am Ann and my e-mail is ann@example.com.",
    "I keep two African Grey parrots.",
    "Which birds do I have?",
    "Thanks!",
    "What did I tell you about my pets last week?",
)


async def main() -> None:
    """Serve and talk."""
    process = prepare_process()
    app = make_process_app(process)
    config = uvicorn.Config(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", lifespan="on")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started and not serving.done():
        await asyncio.wait([serving], timeout=0.05)
    async with process_storage.lease() as storage:
        saver = RedactingSaver.from_pool(storage.pool)
        await saver.setup()
        graph = build_graph(
            chat_model="offline",
            memories=storage.memories,
            log=storage.log,
            short_term=storage.short_term,
            summaries=storage.summaries,
            memory_settings=storage.memory_settings,
        ).compile(checkpointer=saver)
        thread = {"configurable": {"thread_id": str(uuid4())}}
        ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
        ann, turns = process.authenticator.identity("ann"), 0
        while not ended.done() and not serving.done():
            message = {"role": "user", "content": SAID[turns % len(SAID)]}
            await graph.ainvoke({"messages": [message]}, thread, context=Context(user_id=ann))
            turns += 1
            if turns == 2 * len(SAID):
                print("ready", flush=True)
            await asyncio.wait([ended], timeout=0.2)
    server.should_exit = True
    await serving


if __name__ == "__main__":
    asyncio.run(main())
