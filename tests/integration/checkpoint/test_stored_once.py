"""A message that comes without an id is one row, whatever form it has and however many steps its turn takes."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from discreet.checkpoint import RedactingSaver

FORMS: dict[str, Any] = {
    "message": [HumanMessage("Hello")],
    "dict": [{"role": "user", "content": "Hello"}],
    "one dict": {"role": "user", "content": "Hello"},
    "pair": [("user", "Hello")],
    "text": "Hello",
}
STEPS = 12


def graph_of(saver: Any) -> Any:
    builder = StateGraph(MessagesState).add_node("talk", lambda state: {"messages": [AIMessage("Done.")]})
    last = START
    for number in range(STEPS):
        builder.add_node(f"step {number}", lambda state: {"messages": []})
        builder.add_edge(last, f"step {number}")
        last = f"step {number}"
    return builder.add_edge(last, "talk").compile(checkpointer=saver)


@pytest.mark.dialect
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_a_message_without_an_id_is_one_row_under_the_id_that_it_gets(database, durability):
    async with RedactingSaver.from_conn_string(database) as saver:
        await saver.setup()
        for name, form in FORMS.items():
            config: Any = {"configurable": {"thread_id": name}, "recursion_limit": 50}
            for _ in range(2):
                shown = await graph_of(saver).ainvoke({"messages": deepcopy(form)}, config, durability=durability)
            async with RedactingSaver.from_conn_string(database) as another:
                state = await graph_of(another).aget_state(config)
            assert [(m.type, m.id) for m in state.values["messages"]] == [(m.type, m.id) for m in shown["messages"]]
            with psycopg.connect(database) as connection:
                rows = connection.execute(
                    "SELECT position, message_id FROM checkpoint_messages WHERE thread_id = %s ORDER BY position",
                    [name],
                ).fetchall()
            assert rows == [(at, message.id) for at, message in enumerate(shown["messages"])], name
