"""Build what a release uploads, into dist/, and check it: `python tools/release_check.py [--offline]`, or `make release-check`.

From clean clones of HEAD, twice, which must give the same bytes; metadata as an index checks them; an SBOM of the library with all its
extras, the licences of that, and its known vulnerabilities; then README's programs and `discreet demo` in an environment that has the
wheel with the extra `local` and nothing else. All checks run, whichever fail. Exit code 1 if one does.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from release_build import ROOT, CheckError, built, head, ran

BIN = Path(sys.executable).parent
PERMISSIVE = {
    *("mit", "mit license", "mit-0", "0bsd", "bsd license", "bsd-2-clause", "bsd-3-clause", "3-clause bsd license"),
    *("apache-2.0", "apache license 2.0", "apache software license", "isc license iscl", "isc", "zlib", "cc0-1.0"),
    *("psf-2.0", "cnri-python"),
}
EXCEPTIONS = {
    **dict.fromkeys(("psycopg", "psycopg-binary", "psycopg-pool"), "LGPL-3.0, the one that is ours"),
    **dict.fromkeys(("certifi", "orjson"), "MPL-2.0, as it is, with LangGraph"),
    "tqdm": "MPL-2.0, as it is, with the client of OpenAI",
}
"""Packages of other licences, and why they may be there."""
README_PROGRAMS = """
import asyncio, pathlib, re, sys
blocks = re.findall(r"^```python\\n(.*?)^```", pathlib.Path(sys.argv[1]).read_text("utf-8"), re.M | re.S)
programs = [block for block in blocks if "async def main()" in block]
assert programs, "README has no programs"
for block in programs:
    names = {}
    exec(compile(block, "README.md", "exec"), names)
    print(asyncio.run(names["main"]()))
"""
"""Run those that end; the others speak to a server."""


def main() -> None:
    """Build, check, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--offline", action="store_true", help="go on where nobody can be asked about vulnerabilities")
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        commit = head()
        print(f"== Building {commit[:8]} twice", flush=True)
        try:
            wheel, sdist = built(folder, commit)
        except CheckError as error:
            sys.exit(f"== build: FAILED: {error}")
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        everything = environment(folder / "everything", wheel, extras)
        checks: Mapping[str, Callable[[], str]] = {
            "metadata": partial(check_metadata, wheel, sdist),
            "SBOM": partial(write_sbom, everything, sdist),
            "licences": partial(check_licences, everything),
            "vulnerabilities": partial(check_vulnerabilities, everything, offline=options.offline),
            "README and demo": partial(check_readme, wheel, folder),
        }
        failed = 0
        for what, check in checks.items():
            try:
                said = f"ok: {check()}"
            except CheckError as error:
                said, failed = f"FAILED: {error}", failed + 1
            print(f"== {what}: {said}", flush=True)
    sys.exit(1 if failed else 0)


def environment(folder: Path, wheel: Path, extras: Sequence[str]) -> Path:
    """Return the Python of a new environment with the wheel and these extras of it."""
    ran([BIN / "uv", "venv", "--quiet", "--python", sys.executable, folder])
    python = folder / "bin" / "python"
    ran([BIN / "uv", "pip", "install", "--quiet", "--python", python, f"{wheel}[{','.join(extras)}]"])
    return python


def check_metadata(*files: Path) -> str:
    """Check what an index checks."""
    ran([BIN / "twine", "check", "--strict", *files])
    return ", ".join(f"{file.name} {file.stat().st_size / 1e6:.1f} MB" for file in files)


def write_sbom(python: Path, sdist: Path) -> str:
    """Write an SBOM beside `sdist`: every package of the environment, with version and licence."""
    target = sdist.with_name(sdist.name.replace(".tar.gz", ".cdx.json"))
    command = [BIN / "cyclonedx-py", "environment", "--output-reproducible", "--pyproject", ROOT / "pyproject.toml"]
    ran([*command, "--output-file", target, python])
    return f"{target.name}, {len(json.loads(target.read_text())['components'])} components"


def check_licences(python: Path) -> str:
    """Check that all licences are permissive, save the exceptions."""
    rows = json.loads(ran([BIN / "pip-licenses", "--python", python, "--from=mixed", "--format=json"]))
    if others := not_permissive(rows):
        raise CheckError(f"{', '.join(others)}. Do without, or add the reason to EXCEPTIONS.")
    return f"{len(rows)} packages, {len([row for row in rows if row['Name'].lower() in EXCEPTIONS])} of them exceptions"


def not_permissive(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the packages whose licence is neither permissive nor excepted, as pip-licenses lists them."""
    return [
        f"{row['Name']} ({row['License'].splitlines()[0]})"
        for row in rows
        if row["Name"].lower() not in EXCEPTIONS and not _is_permissive(row["License"].splitlines()[0])
    ]


def _is_permissive(licence: str) -> bool:
    """Tell by an SPDX expression, or by names with a semicolon between them."""
    parts = re.split(r" AND |;", re.sub(r"[()]", "", licence))
    return all(any(name.strip().lower() in PERMISSIVE for name in part.split(" OR ")) for part in parts)


def check_vulnerabilities(python: Path, *, offline: bool) -> str:
    """Ask the index's database about every package."""
    (site,) = python.parent.parent.glob("lib/python*/site-packages")
    command = [BIN / "pip-audit", "--format", "json", "--progress-spinner", "off", "--path", site]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        report = {"dependencies": []}
    found, asked, skipped = audited(report)
    if found:
        raise CheckError(f"Known: {', '.join(found)}. Raise the lower bound in pyproject.toml, and `make lock`.")
    if skipped or not asked:
        said = f"This could not run: the database answered for {asked} packages, and for {skipped} it did not"
        if not offline:
            raise CheckError(
                f"{said}. Run it where the index's JSON API can be reached, or OFFLINE=1 to go on without."
            )
        return f"{said}; gone on without (OFFLINE)"
    return f"none known in {asked} packages"


def audited(report: Mapping[str, Any]) -> tuple[list[str], int, int]:
    """Return what is known of which package, and how many packages were asked about and how many were not: pip-audit calls both fine."""
    packages = [package for package in report["dependencies"] if package["name"] != "discreet"]
    asked = [package for package in packages if "skip_reason" not in package]
    found = [f"{package['name']} {vuln['id']}" for package in asked for vuln in package["vulns"]]
    return found, len(asked), len(packages) - len(asked)


def check_readme(wheel: Path, folder: Path) -> str:
    """Run README's programs, and the demo, where nothing else is installed."""
    python, empty = environment(folder / "readme", wheel, ["local"]), folder / "empty"
    empty.mkdir()
    alone = {"HOME": str(empty), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    said = ran([python, "-I", "-c", README_PROGRAMS, ROOT / "README.md"], cwd=empty, env=alone)
    ran([python.with_name("discreet"), "demo"], cwd=empty, env=alone)
    return f"{len(said.splitlines())} programs, demo"


if __name__ == "__main__":
    main()
