"""Whoever has the database and no key changes it: a user of Discreet notices it, or does not, as the table in THREAT_MODEL.md says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from agmi.attacks.at_rest import AT_REST_ATTACKS_WITH_SNAPSHOT
from testkit.integrity.places import PLACES

THREAT_MODEL = Path(__file__).resolve().parents[3] / "THREAT_MODEL.md"
HEADING = "\n## What an edit of the database is noticed by\n"
EDITS = {edit.name: edit for edit in AT_REST_ATTACKS_WITH_SNAPSHOT}


def noticed_by():
    """Return by what each edit of each place is noticed, without keys and with, as the table says."""
    section = THREAT_MODEL.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]
    head, _, *rows = re.findall(r"^\| (.*) \|$|^\|-", section, re.MULTILINE)
    places = head.split(" | ")[1:]
    table = {}
    for row in rows:
        edit, *cells = row.split(" | ")
        for place, cell in zip(places, cells, strict=True):
            without, _, with_keys = cell.partition(" / ")
            table[edit.split("`")[1], place] = (without, with_keys or without)
    return table


NOTICED = noticed_by()


def test_the_table_has_each_place_and_edit():
    assert set(NOTICED) == {(edit, place.what) for edit in EDITS for place in PLACES}


@pytest.mark.slow
@pytest.mark.one_server("it copies tables whole, and puts them back")
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("keys", [False, True], ids=["without", "with"])
@pytest.mark.parametrize("place", PLACES, ids=[place.what for place in PLACES])
def test_an_edit_is_noticed_by(worker_database, place, keys, edit):
    kept = place(worker_database.lend, keys=keys)
    result = EDITS[edit]().run(kept)
    assert (result.guard, result.error) == (None, None), "the edit was made as it should be"
    by = "nothing" if kept.verify_detail is None else kept.verify_detail.partition(":")[0]
    assert by == NOTICED[edit, place.what][keys], kept.verify_detail
