"""How long the library takes to import: `python benchmarks/imports.py [--runs 15] [--json]`.

A Python that imports what any graph of LangGraph does (`langgraph.graph` and `langchain_core`), and one that imports a node, the
checkpointer or the template, in turns; each in a process of its own, from its start to its end. CPU is what other work on the machine
changes less than the time. Exit code 1 if a node takes more than 1.3 times the time of the graph's own imports.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from itertools import starmap
from operator import sub

from comparing.report import Group, as_json, as_table, machine

GRAPH = "import langgraph.graph, langchain_core"
MOST = 1.3
OURS = {
    "node save_input": "from discreet.nodes.save_input import make_save_input",
    "node memory_gate": "from discreet.nodes.memory_gate import make_memory_gate",
    "node retrieve_memories": "from discreet.nodes.retrieve_memories import make_retrieve_memories",
    "node assistant": "from discreet.nodes.assistant import make_assistant",
    "node tools": "from discreet.nodes.tools import make_tools",
    "node persist_filtered": "from discreet.nodes.persist_filtered import make_persist_filtered",
    "build_graph": "from discreet.graph import build_graph",
    "RedactingSaver": "from discreet.checkpoint import RedactingSaver",
    "open_storage": "from discreet.storage import open_storage",
}
BOUNDED = len(OURS) - 1
"""All but the last, which has the database's driver to import too."""


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15, help="imports of each")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    for code in (GRAPH, *OURS.values()):
        took(code)  # so that everything is compiled, and in the page cache
    seconds, cpu = Group(f"seconds, {options.runs} of each in turns, median"), Group("CPU seconds")
    for number, (what, code) in enumerate(OURS.items()):
        pairs = [(took(GRAPH), took(code)) for _ in range(options.runs)]
        bound = MOST if number < BOUNDED else None
        seconds.ratio(what, "s", [graph[0] for graph, _ in pairs], [ours[0] for _, ours in pairs], at_most=bound)
        cpu.ratio(what, "s", [graph[1] for graph, _ in pairs], [ours[1] for _, ours in pairs])
    figures, where = [*seconds.figures, *cpu.figures], machine("not used")
    print(as_json(figures, where) if options.json else as_table(figures, where, other="graph"))
    sys.exit(0 if all(figure.met is not False for figure in figures) else 1)


def took(code: str) -> tuple[float, float]:
    """Return the seconds that a Python process takes, and those of CPU."""
    before, began = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    seconds, after = time.perf_counter() - began, os.times()
    user, system = starmap(sub, zip(after[2:4], before[2:4], strict=True))
    return seconds, user + system


if __name__ == "__main__":
    main()
