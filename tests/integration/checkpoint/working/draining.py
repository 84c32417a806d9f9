"""A process of its own: runs a turn whose tool spends something and asks for a drain, or goes on with that turn.

Usage: draining.py DSN DURABILITY "drain" | "go on". The tool notes each time in the file that DISCREET_TEST_SPENT names.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from conftest import Shop, open_pool
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl

from discreet.checkpoint import RedactingSyncSaver

CONFIG = {"configurable": {"thread_id": "1"}}


def main(dsn: str, durability: str, order: str) -> None:
    shop, control = Shop(), RunControl()

    def spend() -> None:
        with Path(os.environ["DISCREET_TEST_SPENT"]).open("a") as spent:
            spent.write("note\n")
        control.request_drain()

    shop.in_tool = spend
    with open_pool(dsn) as pool:
        graph = shop.loop(RedactingSyncSaver.from_pool(pool))
        given = {"messages": [("user", "use:note one")]} if order == "drain" else None
        try:
            result = graph.invoke(given, CONFIG, durability=durability, control=control)
            print(" ".join(result["messages"][-1].text.split()[:3]), flush=True)
        except GraphDrained:
            print("drained", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
