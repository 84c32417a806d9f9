"""A process of its own: creates the tables, says each line of its input in one thread, prints the thread's texts.

Usage: worker.py DSN
"""

import json
import sys

from langgraph.graph import START, MessagesState, StateGraph

from discreet.checkpoint import RedactingSyncSaver

CONFIG = {"configurable": {"thread_id": "1"}}


def answer(state: MessagesState) -> dict[str, list[tuple[str, str]]]:
    return {"messages": [("ai", f"answer to {state['messages'][-1].text}")]}


def main(dsn: str) -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    with RedactingSyncSaver.from_conn_string(dsn) as saver:
        saver.setup()
        graph = builder.compile(checkpointer=saver)
        for line in sys.stdin:
            graph.invoke({"messages": [("user", line.strip())]}, CONFIG)
            found = graph.get_state(CONFIG).values["messages"]
            print(json.dumps([message.text for message in found]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
