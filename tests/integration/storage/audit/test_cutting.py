"""Parts of the trail that are taken away whole, with all that tells of them but the mark, or with the mark too."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege, RestrictViolation
from testkit.databases import new_database
from testkit.roles import Logins, logins

from discreet.ports import NOBODY
from discreet.storage.database.connecting.pool import make_pool
from discreet.storage.embedded.binaries import find_binaries

TRIMMING = "SET discreet_audit.trimming = 'on'"

ENTRIES = "DELETE FROM discreet.audit_entry WHERE user_key = %(ann)s"
CHAIN = "DELETE FROM discreet.audit_chain WHERE user_key = %(ann)s"
HEADS = "DELETE FROM discreet.audit_sealed_head WHERE user_key = %(ann)s"
SEALS = "DELETE FROM discreet.audit_seal WHERE seal_number >= 2"
THEIR_HEADS = "DELETE FROM discreet.audit_sealed_head WHERE seal_number >= 2"
UNSEALED = "UPDATE discreet.audit_chain SET is_sealed = false"
MARK = "DELETE FROM discreet.audit_mark"
ALL = [f"DELETE FROM discreet.audit_{table}" for table in ("entry", "chain", "seal", "sealed_head")]
OTHERS = [
    f"DELETE FROM discreet.audit_{table} WHERE user_key <> %(ann)s" for table in ("entry", "chain", "sealed_head")
]
LAST_ENTRIES = [
    "DELETE FROM discreet.audit_entry WHERE user_key = %(ann)s AND number > 2",
    "UPDATE discreet.audit_chain SET last_number = 2, last_hash = %(second)s, is_sealed = true WHERE user_key = %(ann)s",
    "DELETE FROM discreet.audit_seal WHERE seal_number = (SELECT max(seal_number) FROM discreet.audit_seal)",
    "DELETE FROM discreet.audit_sealed_head h WHERE NOT EXISTS (SELECT FROM discreet.audit_seal s WHERE s.seal_number = h.seal_number)",
]
NOBODYS = [statement.replace("%(ann)s", f"'{NOBODY}'") for statement in (ENTRIES, CHAIN, HEADS)]
COUNTERFEIT = "UPDATE discreet.audit_mark SET seal_number = seal_number + 1, hash = '\\x00'"
REWOUND = (
    "UPDATE discreet.audit_mark SET seal_number = 1, hash = '\\x00', "
    "seal_hash = (SELECT hash FROM discreet.audit_seal WHERE seal_number = 1)"
)
FORMER = "UPDATE discreet.audit_mark SET seal_number = %(mark_number)s, seal_hash = %(mark_seal)s, hash = %(mark_hash)s"

ATTACKS: dict[str, Sequence[str]] = {
    "a person with their seals, and the mark rewound": [ENTRIES, CHAIN, SEALS, THEIR_HEADS, UNSEALED, REWOUND],
    "a person, with their sealed heads": [ENTRIES, CHAIN, HEADS],
    "a person, with the seals that covered them": [ENTRIES, CHAIN, SEALS, THEIR_HEADS, UNSEALED],
    "nobody's, with their sealed heads": NOBODYS,
    "nobody's, with the seals that covered them": [*NOBODYS, SEALS, THEIR_HEADS, UNSEALED],
    "a chain without its entries and seals": [CHAIN],
    "the last seal with its entries and heads": LAST_ENTRIES,
    "everybody but ann": OTHERS,
    "everybody but ann, with the seals": [*OTHERS, SEALS, THEIR_HEADS, UNSEALED],
    "all seals": ["DELETE FROM discreet.audit_seal", "DELETE FROM discreet.audit_sealed_head", UNSEALED],
    "all": ALL,
    "all, with the mark": [*ALL, MARK],
    "the mark": [MARK],
    "the mark, for another": [COUNTERFEIT],
    "the mark, for a former one": [FORMER],
    "a person with their seals and the mark": [ENTRIES, CHAIN, SEALS, THEIR_HEADS, UNSEALED, MARK],
    "a person with their seals, and another mark": [ENTRIES, CHAIN, SEALS, THEIR_HEADS, UNSEALED, COUNTERFEIT],
    "all, and another mark": [*ALL, COUNTERFEIT],
}


@pytest.fixture
def roles(owner: str) -> Logins:
    """Return logins of the roles of docs/roles.md."""
    return logins(owner)


@pytest.fixture
async def before(trail):
    """Return what attacks need to know of a trail in which ann's entries are covered by the second seal and the last."""
    await trail.write("bob", 1)
    await trail.sealer.seal()
    await trail.write("ann", 2)
    await trail.write("cyd", 1)
    await trail.log.record("setting.change", user_key=None, data="setting")
    await trail.sealer.seal()
    [mark] = await trail.rows("SELECT * FROM discreet.audit_mark")
    await trail.write("ann", 2)
    await trail.sealer.seal()
    ann = trail.keys.of_user("ann")
    [second] = await trail.rows("SELECT hash FROM discreet.audit_entry WHERE user_key = %s AND number = 2", ann)
    return {
        "ann": ann,
        "second": second["hash"],
        "mark_number": mark["seal_number"],
        "mark_seal": mark["seal_hash"],
        "mark_hash": mark["hash"],
    }


def attack(dsn, statements, given, *, everything: bool) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute("SET LOCAL session_replication_role = replica" if everything else TRIMMING)
        for statement in statements:
            conn.execute(statement, given)


def restore(dsn: str, into: str) -> None:
    with psycopg.connect(dsn) as conn:
        programs = find_binaries(conn.info.server_version // 10_000) / "bin"
    dump = subprocess.run([programs / "pg_dump", dsn], capture_output=True, check=True).stdout
    given = [programs / "psql", "--quiet", "-v", "ON_ERROR_STOP=1", into]
    subprocess.run(given, input=dump, capture_output=True, check=True)


async def goes_on(trail) -> None:
    """Have the trail go on after the attack, as servers do that know nothing of it."""
    await trail.write("zoe", 2)
    await trail.sealer.seal()
    await trail.write("zoe", 1)
    await trail.sealer.seal()


async def test_a_trail_with_such_seals_is_sound(trail, before):
    assert not (await trail.verify()).findings
    await goes_on(trail)
    assert not (await trail.verify()).findings


@pytest.mark.fast_cases(8)
@pytest.mark.parametrize("what", ATTACKS)
async def test_whoever_has_all_rights_cuts_nothing_out_unseen(trail, owner, before, what):
    attack(owner, ATTACKS[what], before, everything=True)
    assert (await trail.verify()).findings
    await goes_on(trail)
    assert (await trail.verify()).findings, "the trail must not be made sound by going on"


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("what", ATTACKS)
async def test_the_workers_role_is_refused_or_found(trail, roles, before, what):
    """What it may do of an attack it does, and what it is refused it leaves out."""
    refused = []
    with psycopg.connect(roles.worker, autocommit=True) as conn:
        conn.execute(TRIMMING)
        for statement in ATTACKS[what]:
            try:
                conn.execute(statement, before)
            except (InsufficientPrivilege, RestrictViolation):
                refused.append(statement)
    assert (await trail.verify()).findings or len(refused) == len(ATTACKS[what])
    assert set(refused) >= {CHAIN, MARK, FORMER}.intersection(ATTACKS[what])


async def test_the_workers_role_may_put_no_former_mark_back(trail, roles, before):
    with psycopg.connect(roles.worker, autocommit=True) as conn, pytest.raises(RestrictViolation):
        conn.execute(FORMER, before)


@pytest.mark.parametrize("table", ["audit_mark", "audit_chain", "setting_change", "identity_key"])
async def test_no_role_takes_these_away(trail, roles, before, table):
    for role in (roles.app, roles.worker, roles.auditor, roles.analyst, roles.backup):
        for statement in (f"DELETE FROM discreet.{table}", f"TRUNCATE discreet.{table}"):
            with psycopg.connect(role) as conn:
                conn.execute(TRIMMING)
                conn.execute(f"SET discreet.user_key = '{NOBODY}'")
                with pytest.raises(InsufficientPrivilege):
                    conn.execute(statement)


async def test_with_the_mark_from_before_only_an_anchor_shows_it(trail, owner, before):
    last = await trail.sealer.last()
    attack(owner, [*LAST_ENTRIES, FORMER], before, everything=True)
    assert not (await trail.verify()).findings
    [finding] = (await trail.verify(anchors=[(last.number, last.hash)])).findings
    assert (finding.kind, finding.number) == ("anchor", last.number)


@pytest.mark.slow
@pytest.mark.one_server("pg_dump of a cluster dumps the coordinator")
@pytest.mark.direct("pg_dump and psql go to the server themselves")
async def test_a_backup_that_was_restored_is_sound_and_goes_on(trail, owner, server_dsn, before):
    with new_database(server_dsn, template="template0") as restored:
        restore(owner, restored)
        async with make_pool(restored, max_size=4) as pool:
            there = type(trail)(pool, now=trail.now)
            assert (await there.verify()).findings == []
            await goes_on(there)
            report = await there.verify()
            assert (report.findings, report.seals) == ([], 5)
