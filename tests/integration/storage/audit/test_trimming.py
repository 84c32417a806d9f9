"""What is kept no longer goes from the beginning of each chain, and what is left can be verified."""

from __future__ import annotations

from datetime import timedelta

import pytest

from discreet.ports import NOBODY

LEFT = "SELECT number FROM discreet.audit_entry WHERE user_key = %s ORDER BY number"


async def numbers(trail, user):
    return [row["number"] for row in await trail.rows(LEFT, trail.keys.of_user(user))]


async def test_entries_before_a_time_go_and_the_rest_is_sound(trail):
    await trail.write("ann", 7)
    await trail.write("bob", 2)
    await trail.sealer.seal()
    trail.now += timedelta(days=3)
    boundary = trail.now + timedelta(seconds=1)
    await trail.write("ann", 2)
    await trail.sealer.seal()
    trimmed = await trail.trimmer.trim(boundary, batch=3)
    assert (trimmed.chains, trimmed.entries, trimmed.seals, trimmed.broken) == (2, 9, 1, 0)
    assert (await numbers(trail, "ann"), await numbers(trail, "bob")) == ([8, 9], [])
    [told] = await trail.rows("SELECT * FROM discreet.audit_entry WHERE user_key = %s", NOBODY)
    assert told["action"] == "audit.trim"
    assert told["counts"] == {"chains": 2, "entries": 9, "seals": 1, "first_seal": 2}
    await trail.write("bob", 1)
    await trail.sealer.seal()
    report = await trail.verify()
    assert (report.findings, report.chains, report.entries) == ([], 3, 4)
    assert await numbers(trail, "bob") == [3]


async def test_the_boundary_is_to_the_moment(trail):
    await trail.write("ann", 3)
    [second] = await trail.rows("SELECT at FROM discreet.audit_entry WHERE number = 2")
    await trail.trimmer.trim(second["at"])
    assert await numbers(trail, "ann") == [2, 3]
    await trail.trimmer.trim(second["at"] + timedelta(microseconds=1))
    assert await numbers(trail, "ann") == [3]
    assert not (await trail.verify()).findings


async def test_nothing_to_trim_leaves_no_entry(trail):
    await trail.write("ann", 1)
    assert not (await trail.trimmer.trim(trail.now - timedelta(days=1))).entries
    assert not await trail.rows(LEFT, NOBODY)


async def test_years_of_trimming_stay_sound(trail):
    for _ in range(6):
        trail.now += timedelta(days=200)
        await trail.write("ann", 2)
        await trail.sealer.seal()
        await trail.trimmer.trim(trail.now - timedelta(days=500))
        report = await trail.verify()
        assert report.findings == []
    assert len(await numbers(trail, "ann")) == 6


@pytest.mark.one_server("a cluster can't join in an UPDATE as this test does")
async def test_a_beginning_that_was_not_recorded_is_found(trail):
    await trail.write("ann", 4)
    await trail.run("DELETE FROM discreet.audit_entry WHERE number < 3")
    await trail.run(
        "UPDATE discreet.audit_chain c SET first_number = 3, hash_before = c.last_hash, "
        "first_at = (SELECT at FROM discreet.audit_entry WHERE number = 3)"
    )
    findings = (await trail.verify()).findings
    assert [(found.kind, found.number) for found in findings] == [("beginning", 3), ("missing", 3)]


@pytest.mark.dialect
async def test_a_chain_that_was_tampered_with_is_not_swept_away(trail, caplog):
    await trail.write("ann", 3)
    await trail.write("bob", 3)
    await trail.sealer.seal()
    await trail.run(
        "UPDATE discreet.audit_entry SET action = 'x' WHERE user_key = %s AND number = 2", trail.keys.of_user("ann")
    )
    trail.now += timedelta(days=30)
    await trail.write("cyd", 1)
    await trail.sealer.seal()
    trimmed = await trail.trimmer.trim(trail.now - timedelta(days=1))
    assert (trimmed.entries, trimmed.seals, trimmed.broken) == (3, 0, 1)
    assert await numbers(trail, "ann") == [1, 2, 3]
    assert "audit.broken_chains chains=1" in caplog.text
    [finding] = (await trail.verify()).findings
    assert (finding.user_key, finding.number) == (trail.keys.of_user("ann"), 2)


async def test_seals_that_were_taken_away_are_not_taken_for_trimmed_ones(trail):
    for _ in range(3):
        await trail.write("ann", 1)
        await trail.sealer.seal()
    for table in ("audit_seal", "audit_sealed_head"):
        await trail.run(f"DELETE FROM discreet.{table} WHERE seal_number < 2")
    [finding] = (await trail.verify()).findings
    assert (finding.kind, finding.number) == ("seal", 2)
