"""Print what an install weighs: `python tools/sizes.py [--json]`, or `make sizes`. The library of HEAD alone, and with each extra."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from collections import Counter
from importlib.metadata import Distribution, distributions
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from release_build import ROOT, build_once, head

UV = Path(sys.executable).with_name("uv")
LARGEST = 8


def main() -> None:
    """Install each into an environment of its own, and print megabytes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    with TemporaryDirectory() as name:
        wheel, _ = build_once(Path(name), head())
        alone = weighed(Path(name) / "alone", str(wheel))
        with_extra = {extra: weighed(Path(name) / extra, f"{wheel}[{extra}]") for extra in extras}
    rows = [row("(none)", alone, alone), *(row(extra, sizes, alone) for extra, sizes in with_extra.items())]
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'extra':14}{'MB':>8}{'more':>8}{'packages':>10}  largest of them")
    for each in rows:
        largest = ", ".join(f"{name} {size:.0f}" for name, size in each["largest"].items())
        print(f"{each['extra']:14}{each['mb']:>8.0f}{each['more_mb']:>8.0f}{each['packages']:>10}  {largest}")


def weighed(folder: Path, requirement: str) -> Counter[str]:
    """Install, and return the megabytes of each package: what its wheel unpacked, before anything is compiled."""
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    subprocess.run([UV, "pip", "install", "--quiet", "--python", folder / "bin" / "python", requirement], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    return Counter({each.name: megabytes(each) for each in distributions(path=[str(site)])})


def megabytes(package: Distribution) -> float:
    """Return what the files of a package take."""
    paths = [Path(str(file.locate())) for file in package.files or ()]
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def row(extra: str, sizes: Counter[str], alone: Counter[str]) -> dict[str, Any]:
    """Return a line of the table; the largest are those that an extra adds."""
    added = sizes if sizes is alone else Counter({name: size for name, size in sizes.items() if name not in alone})
    total = sizes.total()
    return {
        "extra": extra,
        "mb": round(total, 1),
        "more_mb": round(total - alone.total(), 1),
        "packages": len(sizes),
        "largest": {name: round(size, 1) for name, size in added.most_common(LARGEST)},
    }


if __name__ == "__main__":
    main()
