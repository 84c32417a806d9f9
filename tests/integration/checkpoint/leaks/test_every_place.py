"""The first guarantee: whatever is planted wherever, and whatever becomes of the turn, nothing of it is on disk."""

import logging

import pytest
from leak_battery.drive import make_scenes, play_all
from leak_battery.savers import make_saver, open_pool
from leak_battery.stories import DURABILITIES, FACES
from prometheus_client import generate_latest


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("face", FACES)
async def test_nothing_planted_is_on_disk_and_what_must_survive_is(
    talkative_database, plants, left_by, face, durability, every, caplog
):
    caplog.set_level(logging.DEBUG, "discreet")
    scenes = make_scenes(plants, face, [durability], every=every)
    async with open_pool(talkative_database, face) as pool:
        wrong = await play_all(scenes, await make_saver(pool))
        found = left_by(talkative_database)
    lost = {scene.name: missing for scene, _ in scenes if (missing := scene.kept - found.kept_in_rows())}
    assert (found.leaks, wrong, lost) == ({}, {}, {})
    assert [record.name for record in caplog.records if plants.within(f"{record.getMessage()} {vars(record)}")] == []
    assert not plants.within(generate_latest().decode())
