"""Turns that say what was planted, their memories, an extraction and a failure, with spans sent to a collector: a process of its own."""

import asyncio
import sys

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from opentelemetry import trace

from discreet.checkpoint import RedactingSaver
from discreet.errors import InvalidUserError
from discreet.graph import TurnRunner, build_graph
from discreet.graph.guard import guarded
from discreet.otel import exported_spans
from discreet.settings import load_settings
from discreet.state.context import Context
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import ScriptedChatModel
from discreet.worker.beside import make_worker

planted = sys.argv[1]


@tool
def look_up(text: str) -> str:
    """Fail with what it was given."""
    raise ValueError(text)


async def main():
    settings = load_settings()
    async with open_storage(settings=settings) as storage:
        saver = RedactingSaver.from_pool(storage.pool)
        await saver.setup()
        graph = build_graph(
            chat_model="offline",
            memories=storage.memories,
            log=storage.log,
            short_term=storage.short_term,
            summaries=storage.summaries,
        ).compile(checkpointer=saver)
        runner = TurnRunner(graph, short_term=storage.short_term)
        thread = {"configurable": {"thread_id": "00000000-0000-4000-8000-000000000001"}}
        named = {"configurable": {"thread_id": planted}}
        for config in (thread, named):
            await runner.ainvoke(
                {"messages": [("user", f"I am {planted}. What did I tell you last time?")]},
                config,
                context=Context(user_id=planted),
            )
        failing = build_graph(
            chat_model=ScriptedChatModel(
                responses=[
                    AIMessage("", tool_calls=[{"name": "look_up", "args": {"text": planted}, "id": "c1"}]),
                    AIMessage(f"There is no {planted}."),
                ]
            ),
            tools=[look_up],
        ).compile()
        events = guarded(failing).astream(
            {"messages": [("user", f"Look up {planted}.")]}, context=Context(user_id=planted)
        )
        async for _ in events:
            pass
        await storage.memories.save(planted, [MemoryRecord(text=f"Likes {planted}", tags=[planted])])
        try:
            await storage.memories.save("\0" + planted, [MemoryRecord(text=planted)])
        except InvalidUserError as error:
            print(error.code)
        async with make_worker(storage, settings) as worker:
            await worker.once()
        await runner.aclose()
        # As libraries do that trace what they serve or fetch, once a process has a provider.
        with trace.get_tracer("some.library").start_as_current_span(
            f"GET /{planted}", attributes={"url.path": planted}
        ):
            pass


with exported_spans(load_settings()):
    asyncio.run(main())
