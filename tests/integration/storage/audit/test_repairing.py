"""What docs/audit.md tells the owner to do about a chain that takes no more entries has it take some again, and verify."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import psycopg
import pytest

from discreet.errors import AuditChainError, StorageError
from discreet.storage.embedded.binaries import find_binaries

pytestmark = [
    pytest.mark.direct("the page's statements go through psql, which nobody translates"),
    pytest.mark.one_server("psql is that of the embedded server"),
]

AUDIT_PAGE = Path(__file__).resolve().parents[4] / "docs" / "audit.md"

SMUGGLED = """
INSERT INTO discreet.audit_entry (user_key, number, at, actor_kind, action, success, data, counts, hash)
VALUES (%s, %s, now(), 'user', 'memory.write', true, 'memory', '{}', '\\x00')
"""
"""The application's role may do that."""


def documented():
    """Return what the page gives to psql: against an entry that was put there, and against a head that was changed."""
    return statements_of("A chain that takes no more entries")


def statements_of(section):
    _, _, said = AUDIT_PAGE.read_text(encoding="utf-8").partition(f"\n## {section}\n")
    return re.findall(r"```sql\n(.*?)```", said.partition("\n## ")[0], re.DOTALL)


@pytest.fixture
def repair(trail, database):
    """Return what does one of them to Ann's chain as the owner, at an entry."""
    owner = os.environ.get("DISCREET_POSTGRES_OWNER_DSN", database)

    def run(statements, number):
        given = statements.replace("KEY", str(trail.keys.of_user("ann"))).replace("NUMBER", str(number))
        with psycopg.connect(owner) as conn:
            program = find_binaries(conn.info.server_version // 10_000) / "bin" / "psql"
        subprocess.run([program, "-v", "ON_ERROR_STOP=1", owner], input=given, text=True, check=True)

    return run


async def is_sound_and_goes_on(trail):
    await trail.write("ann", 2)
    await trail.sealer.seal()
    report = await trail.verify()
    return not report.findings and report.entries == 5


@pytest.fixture
async def ann(trail):
    """Return the key of somebody with three entries, all of them sealed."""
    await trail.write("ann", 3)
    await trail.sealer.seal()
    return trail.keys.of_user("ann")


async def test_an_entry_that_was_put_there_is_taken_away(trail, ann, repair):
    await trail.run(SMUGGLED, ann, 4)
    with pytest.raises(AuditChainError, match="audit verify"):
        await trail.write("ann", 1)
    found = (await trail.verify(user_key=ann)).findings
    assert [(finding.kind, finding.number) for finding in found] == [("entry", 4), ("end", 4)]
    by_entry, _ = documented()
    repair(by_entry, 3)
    assert len((await trail.verify()).findings) == 2, "an entry that the head knows must stay"
    repair(by_entry, 4)
    assert not (await trail.verify()).findings
    assert await is_sound_and_goes_on(trail)


@pytest.mark.parametrize("number", [2, 2**63 - 1])
async def test_a_head_that_was_changed_is_put_right(trail, ann, repair, number):
    await trail.run("UPDATE discreet.audit_chain SET last_number = %s, last_hash = '\\x00'", number)
    with pytest.raises(StorageError):
        await trail.write("ann", 1)
    found = {(finding.kind, finding.number) for finding in (await trail.verify(user_key=ann)).findings}
    assert ("end", 3) in found
    assert {kind for kind, _ in found} <= {"end", "head"}, "the entries are as they were written"
    _, by_head = documented()
    repair(by_head, 3)
    assert not (await trail.verify()).findings
    assert await is_sound_and_goes_on(trail)


async def test_a_mark_of_which_there_is_no_next_is_made_anew_and_the_trail_goes_on(trail, ann, repair):
    await trail.run("UPDATE discreet.audit_mark SET seal_number = %s", 2**63 - 1)
    await trail.write("ann", 2)
    with pytest.raises(StorageError):
        await trail.sealer.seal()
    [take_away] = statements_of("Seals that are missing, or a mark")
    repair(take_away, 0)
    assert await trail.sealer.seal() == 1
    [finding] = (await trail.verify()).findings
    assert (finding.kind, finding.number) == ("seal", 2)
    await trail.write("ann", 1)
    await trail.sealer.seal()
    assert (await trail.verify()).findings == [finding]
