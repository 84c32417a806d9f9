"""Embed the prototypes of the memory gate and write their vectors beside them.

Run it after changing `nodes/memory_gate/prototypes.toml` or what `discreet.providers.local` makes of a text; a test tells.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from discreet.nodes.memory_gate.prototypes import VECTORS, default_prototypes, digests
from discreet.providers.local import local_embeddings

TARGET = Path(__file__).resolve().parent.parent / "nodes" / "memory_gate" / VECTORS


def main() -> None:
    """Embed each prototype as a question, since a message is embedded as one, and write half floats."""
    embeddings = local_embeddings()
    texts = [prototype.text for prototype in default_prototypes()]
    vectors = np.array([embeddings.embed_query(text) for text in texts], dtype=np.float16)
    np.savez_compressed(TARGET, name=embeddings.name, digests=np.array(digests(texts)), vectors=vectors)
    print(f"{TARGET}: {len(texts)} vectors, {TARGET.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
