"""The stock graph: the shape of LangChain's memory-agent template, over AsyncPostgresStore and AsyncPostgresSaver.

Its model node searches the store and puts what it found into the system prompt, every time the model is asked. It searches
here with the user's last message alone; the template takes the last three messages, tool results too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.runtime import Runtime
from langgraph.store.base import PutOp
from langgraph.store.postgres import AsyncPostgresStore
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool
from turning.talk import USER, facts, instant_model, look_up_tool

CONNECTION: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
"""What LangGraph's own classes ask of a pool's connections."""


@asynccontextmanager
async def stock_graph(dsn: str, embeddings: Any) -> AsyncIterator[CompiledStateGraph[Any, Any, Any, Any]]:
    """Yield the graph over a new database with the facts in its store."""
    async with AsyncConnectionPool(dsn, min_size=6, max_size=6, kwargs=CONNECTION, open=False) as pool:
        await pool.wait()
        store = AsyncPostgresStore(pool, index={"dims": embeddings.dims, "embed": embeddings.embed_documents})
        saver = AsyncPostgresSaver(pool)
        await store.setup()
        await saver.setup()
        await store.abatch([PutOp(("memories", USER), str(uuid4()), {"text": text}) for text in facts()])
        yield _builder().compile(checkpointer=saver, store=store)


def _builder() -> StateGraph[Any, Any, Any, Any]:
    tools = [look_up_tool(seed=1)]
    model = instant_model().bind_tools(tools)

    async def call_model(state: MessagesState, runtime: Runtime[Any]) -> dict[str, Any]:
        said = next(m for m in reversed(state["messages"]) if isinstance(m, HumanMessage))
        found = await runtime.store.asearch(("memories", USER), query=str(said.text), limit=5)
        known = "\n".join(f"- {item.value['text']}" for item in found)
        system = SystemMessage(f"You are a helpful assistant.\n<memories>\n{known}\n</memories>")
        return {"messages": [await model.ainvoke([system, *state["messages"]])]}

    builder = StateGraph(MessagesState)
    builder.add_node("call_model", call_model)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "call_model")
    builder.add_conditional_edges("call_model", tools_condition, ["tools", END])
    builder.add_edge("tools", "call_model")
    return builder
