"""Embed the prototypes of the memory gate, fit their weights, and write both beside them.

Run it after changing `nodes/memory_gate/prototypes.toml`, the tuning sets, or what `discreet.providers.local` makes of a text
(then with `--all`, which embeds all of them anew, some three minutes); a test tells. It needs 2 GB and half a minute.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from discreet.nodes.memory_gate.likeness import fit
from discreet.nodes.memory_gate.prototypes import VECTORS, default_prototypes, digests, read_stored
from discreet.providers.local import local_embeddings

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "nodes" / "memory_gate" / VECTORS
SETS = ROOT / "benchmarks" / "gate_sets"
TUNING = ("tune.jsonl", "adversarial_tune.jsonl")
BY_ROUND = frozenset({"general_follow_up", "task_follow_up"})
"""Kinds of turns that only the round before makes what they are."""
HEAD = "# The tuning sets of benchmarks/gate_sets as prototypes. Made by tools/gate_vectors.py: change those files instead.\n"


def main() -> None:
    """Write turns.toml, then vectors as bytes with a scale each, and weights."""
    write_turns()
    embeddings = local_embeddings()
    prototypes = default_prototypes()
    texts = [prototype.text for prototype in prototypes]
    known = {} if "--all" in sys.argv[1:] else read_stored(embeddings.name).vectors
    keys = digests(texts)
    vectors = np.array(
        [known[key] if key in known else embeddings.embed_query(text) for key, text in zip(keys, texts, strict=True)],
        dtype=np.float32,
    )
    scales = np.abs(vectors).max(axis=1) / 127
    small = np.rint(vectors / scales[:, None]).astype(np.int8)
    exact = small.astype(np.float32) * scales[:, None]
    targets = np.array([1.0 if prototype.retrieve else -1.0 for prototype in prototypes], dtype=np.float32)
    weights, words = fit(exact, texts, targets)
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
    rows = (json.loads(line) for name in TUNING for line in (SETS / name).read_text(encoding="utf-8").splitlines())
    for row in rows:
        if row["kind"] in BY_ROUND:
            continue
        tables.setdefault(f"{row['label']}.{row['kind']}", {}).setdefault(row["lang"], []).append(row["text"])
    lines = [HEAD]
    for table, languages in tables.items():
        lines.append(f"\n[{table}]\n")
        for language, texts in languages.items():
            listed = "".join(f"  {json.dumps(text, ensure_ascii=False)},\n" for text in texts)
            lines.append(f"{language} = [\n{listed}]\n")
    (TARGET.parent / "turns.toml").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
