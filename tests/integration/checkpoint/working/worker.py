"""A process of its own: says each line of its input in a thread, prints the thread's texts, and may have to die.

Usage: worker.py DSN SHAPE DURABILITY [die SEED], where SHAPE is `loop` or `guarded`. With `die` the tool or gate that notes
something kills the process in the middle of it, and SEED gives what no database may hold.
"""

import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from conftest import Shop, open_pool, texts

from discreet.checkpoint import RedactingSyncSaver

CONFIG = {"configurable": {"thread_id": "1"}}


def main(dsn: str, shape: str, durability: str, die: str = "", seed: str = "") -> None:
    shop = Shop(int(seed) if seed else None)
    if die:
        shop.in_tool = lambda: os.kill(os.getpid(), signal.SIGKILL)
    with open_pool(dsn) as pool:
        graph = getattr(shop, shape)(RedactingSyncSaver.from_pool(pool))
        print("ready", flush=True)
        for line in sys.stdin:
            result = graph.invoke({"messages": [("user", line.strip())]}, CONFIG, durability=durability)
            print(json.dumps({"texts": texts(result), "refused": shop.model.refused}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
