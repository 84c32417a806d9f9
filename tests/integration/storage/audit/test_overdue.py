"""Entries that have no seal though there was time enough: they could be taken away unseen."""

from __future__ import annotations

from datetime import timedelta

import pytest

from discreet.ports import NOBODY
from discreet.storage.audit.verifying import SEALED_WITHIN


async def unsealed(trail, **options):
    report = await trail.verify(**options)
    assert {found.kind for found in report.findings} <= {"unsealed"}
    assert (report.overdue > 0) == bool(report.findings)
    return report.overdue


async def test_entries_may_wait_some_minutes_for_a_seal(trail):
    await trail.write("ann", 2)
    first = trail.now - timedelta(seconds=1)
    trail.now = first + SEALED_WITHIN
    assert not await unsealed(trail)
    trail.now += timedelta(microseconds=1)
    assert await unsealed(trail) == 1
    await trail.sealer.seal()
    assert not await unsealed(trail)


async def test_it_is_the_first_entry_without_a_seal_that_counts(trail):
    await trail.write("ann", 2)
    await trail.sealer.seal()
    trail.now += timedelta(days=1)
    await trail.write("ann", 1)
    assert not await unsealed(trail)
    trail.now += SEALED_WITHIN / 2
    await trail.write("ann", 1)
    trail.now += SEALED_WITHIN / 2
    assert await unsealed(trail) == 1


async def test_the_finding_says_how_many_chains_and_what_to_start(trail):
    await trail.write("ann", 1)
    await trail.write("bob", 1)
    await trail.log.record("setting.change", user_key=None, data="setting")
    trail.now += timedelta(days=1)
    await trail.write("cyd", 1)
    [finding] = (await trail.verify()).findings
    assert finding.problem.startswith("3 chains have entries that are older than 10 minutes")
    assert "discreet worker" in finding.problem
    assert await unsealed(trail, user_key=trail.keys.of_user("cyd")) == 1  # nobody's
    assert await unsealed(trail, user_key=trail.keys.of_user("ann")) == 2


async def test_a_chain_that_begins_later_is_measured_where_it_begins(trail):
    await trail.write("ann", 2)
    trail.now += timedelta(days=400)
    boundary = trail.now
    await trail.write("ann", 1)
    await trail.trimmer.trim(boundary)
    assert not await unsealed(trail)
    trail.now += SEALED_WITHIN + timedelta(seconds=9)
    assert await unsealed(trail) == 2  # and nobody's, which tells of it
    await trail.sealer.seal()
    assert not await unsealed(trail)


@pytest.mark.parametrize("at", ["infinity", "-infinity"])
async def test_a_time_that_python_has_no_object_for_hides_nothing(trail, at):
    await trail.write("ann", 1)
    await trail.write("bob", 1)
    await trail.run("UPDATE discreet.audit_entry SET at = %s WHERE user_key = %s", at, trail.keys.of_user("ann"))
    trail.now += timedelta(days=1)
    report = await trail.verify()
    assert report.overdue == (2 if at == "-infinity" else 1)
    assert "entry" in {found.kind for found in report.findings}


async def test_saying_that_a_head_is_sealed_hides_nothing(trail):
    await trail.write("ann", 1)
    await trail.run("UPDATE discreet.audit_chain SET is_sealed = true")
    trail.now += timedelta(days=1)
    assert {found.kind for found in (await trail.verify()).findings} == {"head", "unsealed"}


async def test_who_was_nobody_is_counted_once(trail):
    await trail.log.record("setting.change", user_key=NOBODY, data="setting")
    trail.now += timedelta(days=1)
    assert await unsealed(trail) == 1
