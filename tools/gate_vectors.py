"""Embed the prototypes of the memory gate, fit their weights, and write both beside them.

Run it after changing `nodes/memory_gate/prototypes.toml`, the tuning sets, the rules about rounds, or what `discreet.providers.local` makes of a text
(then with `--all`, which embeds all of them anew, some three minutes); a test tells. It needs 2 GB and half a minute.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.nodes.memory_gate import make_decide
from discreet.nodes.memory_gate.before import kind_of, round_before
from discreet.nodes.memory_gate.likeness import Round, fit
from discreet.nodes.memory_gate.prototypes import (
    TEXTS,
    VECTORS,
    Prototype,
    default_prototypes,
    keys_of,
    load_prototypes,
    read_stored,
)
from discreet.nodes.memory_gate.rules import RuleBook, default_rules
from discreet.ports import SpokenRound
from discreet.providers.local import local_embeddings
from discreet.retrieval.embedded_question import embedded_question

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "nodes" / "memory_gate" / VECTORS
SETS = ROOT / "benchmarks" / "gate_sets"
TUNING = ("tune.jsonl", "adversarial_tune.jsonl", "adversarial_tune_b.jsonl")
HEAD = "# The tuning sets of benchmarks/gate_sets as prototypes. Made by tools/gate_vectors.py: change those files instead.\n"


def main() -> None:
    """Write turns.toml, then vectors as bytes with a scale each, and weights."""
    write_turns()
    embeddings = local_embeddings()
    prototypes = default_prototypes()
    texts = [prototype.text for prototype in prototypes]
    known = {} if "--all" in sys.argv[1:] else read_stored(embeddings.name).vectors
    keys = keys_of(prototypes)
    vectors = np.array(
        [
            known[key] if key in known else embeddings.embed_query(embedded_question(text))
            for key, text in zip(keys, texts, strict=True)
        ],
        dtype=np.float32,
    )
    scales = np.abs(vectors).max(axis=1) / 127
    small = np.rint(vectors / scales[:, None]).astype(np.int8)
    exact = small.astype(np.float32) * scales[:, None]
    targets = np.array([1.0 if prototype.retrieve else -1.0 for prototype in prototypes], dtype=np.float32)
    weights, words = fit(exact, texts, targets, [prototype.after for prototype in prototypes])
    np.savez_compressed(
        TARGET,
        name=embeddings.name,
        digests=np.array(keys),
        vectors=small,
        scales=scales,
        weights=weights,
        words=words.weight.astype(np.float16),
        rarity=words.rarity.astype(np.float16),
        constant=words.constant,
    )
    print(f"{TARGET}: {len(texts)} vectors, {TARGET.stat().st_size / 1e3:.0f} kB")


def write_turns() -> None:
    """Copy the tuning sets, since benchmarks do not ship."""
    tables: dict[str, dict[str, list[str]]] = {}
    rows = [json.loads(line) for name in TUNING for line in (SETS / name).read_text(encoding="utf-8").splitlines()]
    judge = make_judge(rows)
    for row in rows:
        after = judge(row.get("previous"))
        table = f"{row['label']}.{row['kind']}" + ("" if after == "none" else f".{after}")
        tables.setdefault(table, {}).setdefault(row["lang"], []).append(row["text"])
    lines = [HEAD]
    for table, languages in tables.items():
        lines.append(f"\n[{table}]\n")
        for language, texts in languages.items():
            listed = "".join(f"  {json.dumps(text, ensure_ascii=False)},\n" for text in texts)
            lines.append(f"{language} = [\n{listed}]\n")
    (TARGET.parent / "turns.toml").write_text("".join(lines), encoding="utf-8")


def make_judge(rows: Sequence[dict[str, Any]]) -> Callable[[dict[str, str] | None], Round]:
    """Return what tells of which kind a round is: the gate with those prototypes that no round was before."""
    written = load_prototypes((TARGET.parent / TEXTS[0]).read_text(encoding="utf-8"))
    turns = [Prototype(row["text"], row["label"] == "retrieve", row["kind"]) for row in rows if "previous" not in row]
    decide = make_decide(default_rules(), [*turns, *(prototype for prototype in written if prototype.after == "none")])
    book = RuleBook(default_rules())

    def judge(previous: dict[str, str] | None) -> Round:
        if previous is None:
            return "none"
        return kind_of(round_before(SpokenRound(said=previous["user"], answered=previous["assistant"]), book, decide))

    return judge


if __name__ == "__main__":
    main()
