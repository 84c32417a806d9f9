"""Labelled rows from `phrases/*.toml`, which people wrote who don't read the redactor: `rows(part, seed)`.

`part` is `tuning` or `held_out`. A file has rows with `lang`, `kind`, `type` and `text`, in which the brackets U+27E6 and
U+27E7 stand around what has to be hidden. Run as a script it prints leaks by kind and language, and of the tuning rows, which
they are: in `benchmarks`: `python -m redaction_sets.phrases [area ...] [-v] [--held-out]`.
"""

from __future__ import annotations

import argparse
import collections
import random
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from redaction_sets.values import filled

FOLDER = Path(__file__).parent / "phrases"
MARKED = re.compile("\u27e6(.*?)\u27e7", re.DOTALL)
PARTS = ("tuning", "held_out")

Row = dict[str, Any]


def rows(part: str, seed: int, areas: tuple[str, ...] = (), copies: int = 1) -> Iterator[Row]:
    """Yield each row of a part, of all areas or some, with `copies` sets of values: `{id, src, lang, kind, text, spans, neg}`."""
    for path in sorted(FOLDER.glob(f"*_{part}.toml")):
        area = path.name.removesuffix(f"_{part}.toml")
        if areas and area not in areas:
            continue
        for number, row in enumerate(tomllib.loads(path.read_text(encoding="utf-8"))["row"]):
            for copy in range(copies):
                rng = random.Random(f"{seed} {path.name} {number} {copy}")
                yield labelled(row, f"{area}:{number}", area, rng)


def labelled(row: Row, name: str, area: str, rng: random.Random) -> Row:
    """Return a row with values in its slots, and where they stand."""
    spans: list[Row] = []
    text = ""
    for place, piece in enumerate(MARKED.split(row["text"])):
        made = filled(piece, row["lang"], rng)
        if place % 2:
            spans.append({"start": len(text), "end": len(text) + len(made), "type": row["type"], "otype": row["kind"]})
        text += made
    return {
        "id": name,
        "src": area,
        "lang": row["lang"],
        "kind": row["kind"],
        "text": text,
        "spans": spans,
        "neg": not spans,
    }


def main() -> None:
    """Print what leaks, and what is masked without need."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("areas", nargs="*")
    parser.add_argument("-v", action="store_true", help="show the tuning rows that fail")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--kind", default="")
    options = parser.parse_args()
    show(options)


def show(options: argparse.Namespace) -> None:
    """Print the tables."""
    from redacting.catching import judge  # the benchmark imports this module
    from redacting.engines import Ours
    from redacting.rows import read_row

    from discreet.redaction import Redactor

    part = "held_out" if options.held_out else "tuning"
    ours = Ours(Redactor())
    leaks: dict[tuple[str, str], list[bool]] = collections.defaultdict(list)
    for data in rows(part, 1, tuple(options.areas)):
        if options.kind and options.kind != data["kind"]:
            continue
        result = judge(ours.engine(), [read_row(data["src"], data)])
        failed = [each.leaked for each in result.outcomes] or [masked for _, masked in result.masked]
        for key in (
            (data["src"], data["kind"]),
            (data["src"], f"{'ordinary' if data['neg'] else 'told'} {data['lang']}"),
        ):
            leaks[key] += failed
        if options.v and part == "tuning" and any(failed):
            print(
                f"{data['src']} {data['lang']} {data['kind']} {'MASKED' if data['neg'] else 'leaked'}: {data['text']!r}"
            )
            print(f"     -> {ours.redactor.redact(data['text'])!r}")
    for (area, kind), failed in sorted(leaks.items()):
        print(f"{area:14} {kind:28} {sum(failed):4} of {len(failed):4}  {100 * sum(failed) / len(failed):5.1f} %")


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[1]))
    main()
