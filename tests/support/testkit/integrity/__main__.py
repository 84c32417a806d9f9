"""Print what is noticed."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from agmi.agent.compose import compose
from agmi.attacks.at_rest import AT_REST_ATTACKS_WITH_SNAPSHOT
from agmi.runner import format_scorecard, run_matrix

from discreet.checkpoint.migrating import migrate_checkpoints
from discreet.storage.database.migrating.migrations import migrate
from discreet.storage.embedded import lease_server
from testkit.databases import WorkerDatabase, new_database
from testkit.integrity.noticing import Lend
from testkit.integrity.places import PLACES


def main() -> int:
    """Print the table, and by what each edit was noticed; return 1 if an edit did not land as it should."""
    parser = argparse.ArgumentParser(
        prog="python -m testkit.integrity", description="What edits of the database are noticed."
    )
    parser.add_argument(
        "--compose", action="store_true", help="also pairs of edits of what is sealed; takes half an hour"
    )
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="agmi-") as folder,
        lease_server(Path(folder) / "server") as server,
        new_database(server, template="template1") as template,
    ):
        asyncio.run(migrate(template))
        asyncio.run(migrate_checkpoints(template))
        worker = WorkerDatabase(server, urlsplit(template).path.removeprefix("/"))
        code = _table(worker.lend)
        if options.compose:
            _pairs(worker.lend)
        worker.drop()
    return code


def _table(lend: Lend) -> int:
    edits = [each() for each in AT_REST_ATTACKS_WITH_SNAPSHOT]
    results = run_matrix([place(lend, keys=keys) for place in PLACES for keys in (False, True)], edits)
    print(format_scorecard(results, edits), end="\n\n")
    for each in results:
        print(f"{each.tool} / {each.attack}: {each.guard or each.error or each.detail}")
    return int(any(each.guard or each.error for each in results))


def _pairs(lend: Lend) -> None:
    for place in PLACES:
        _, findings = compose(partial(place, lend, keys=True), target=place.what)
        print(f"\n{place.what}, with keys: {len(findings)} pairs pass of which neither edit passes alone")
        for each in findings:
            print(f"  {' -> '.join(each.sequence)}: {each.detail}")


if __name__ == "__main__":
    sys.exit(main())
