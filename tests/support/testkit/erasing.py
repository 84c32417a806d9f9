"""A house with everything in it that can hold something of a user, and looking through its database."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager

from kit.search import in_rows
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.types import Command, interrupt

from discreet.checkpoint import RedactingSaver
from discreet.encryption import Keyring, make_key
from discreet.graph import build_graph, drain
from discreet.rights.erasure import Erasures
from discreet.settings import Settings
from discreet.state.context import Context
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings
from discreet.testing.chat_models import RecordingChatModel

PLAIN = {"reembed": False}


class Says(RecordingChatModel):
    """Repeats what it hears; `remember: …` saves it, `ask: …` calls a tool that waits for a person."""

    _llm_type = "says"

    def _next(self, messages, options):
        said = str(messages[-1].text)
        if messages[-1].type != "human":
            return AIMessage(f"It is done: {said[:40]}")
        for word, name, key in (("remember: ", "save_memory", "text"), ("ask: ", "ask", "question")):
            if said.startswith(word):
                call = {"name": name, "args": {key: said.removeprefix(word)}, "id": "call"}
                return AIMessage("", tool_calls=[call])
        return AIMessage(f"I heard: {said}")


@tool
def ask(question: str) -> str:
    """Ask a person."""
    return f"The person said {interrupt({'question': question})}"


class House:
    """One process with a graph over a storage."""

    def __init__(self, storage, saver, tools=(), **options):
        self.storage, self.saver = storage, saver
        self.model = Says()
        self.built = build_graph(
            chat_model=self.model,
            memories=storage.memories,
            log=storage.log,
            short_term=storage.short_term,
            summaries=storage.summaries,
            vault=storage.vault,
            memory_settings=storage.memory_settings,
            tools=[ask, *tools],
            **{"preload": False, "summarise": "turn", **options},
        )
        self.graph = self.built.compile(checkpointer=saver, store=storage.store)
        self.erasures = Erasures(storage, settings=Settings(**PLAIN))

    async def say(self, text, *, user="ann", thread="t", **options):
        """Run a turn and return the state."""
        given = text if isinstance(text, Command) else {"messages": [("user", text)]}
        config = {"configurable": {"thread_id": thread}}
        return await self.graph.ainvoke(given, config, context=Context(user_id=user), **options)

    async def told(self, *, user="ann", thread="t"):
        """Return what the thread tells."""
        state = await self.graph.aget_state({"configurable": {"thread_id": thread}})
        return [str(message.text) for message in state.values.get("messages", [])]


@asynccontextmanager
async def a_house(dsn, *, keys=None, settings=None, **options):
    """Open a house, as another process would. Nothing is swept meanwhile: the log of long ago stays."""
    settings = settings or Settings(**PLAIN)
    async with AsyncExitStack() as opened:
        storage = await opened.enter_async_context(
            open_storage(dsn, embeddings=StubEmbeddings(dims=64), settings=settings, keys=keys, maintained=False)
        )
        saver = RedactingSaver.from_pool(storage.pool, keys=keys or Keyring([make_key()]))
        await saver.setup()
        yield House(storage, saver, **options)
        await drain()


def found(dsn, *words):
    """Return in which tables one of `words` is."""
    return {place.removeprefix("table ") for places in in_rows(dsn, *words).values() for place in places}
