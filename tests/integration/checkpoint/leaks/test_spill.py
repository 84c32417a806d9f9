"""Paused turns are sealed in the database: nothing planted can be read there, and another process resumes them."""

import psycopg
import pytest
from leak_battery.drive import make_scenes, play_all
from leak_battery.play import take
from leak_battery.savers import make_saver, open_pool
from leak_battery.scenarios import TALKS
from leak_battery.stories import DURABILITIES, FACES, Step

from discreet.testing import InMemoryKeys

PAUSED = {"left paused": (Step("message", "over"), Step("message", "paused"))}


async def answer_elsewhere(scene, scenario, saver):
    graph = scenario.build(scene, saver)
    await take(scene, scenario, graph, Step("answer", "over"))
    await take(scene, scenario, graph, Step("message", "paused"))


@pytest.mark.slow
@pytest.mark.parametrize("face", FACES)
async def test_a_spilled_pause_shows_nothing_and_is_resumed_elsewhere(talkative_database, plants, left_by, face, every):
    scenes = make_scenes(plants, face, DURABILITIES, scenarios=TALKS, stories=PAUSED, every=every)
    keys = InMemoryKeys()
    async with open_pool(talkative_database, face) as pool:
        here, there = await make_saver(pool, keys=keys), await make_saver(pool, keys=keys)
        wrong = [await play_all(scenes, here), await play_all(scenes, there, answer_elsewhere)]
        found = left_by(talkative_database)
    with psycopg.connect(talkative_database) as connection:
        (sealed,) = connection.execute("SELECT count(*) FROM checkpoint_spill").fetchone()
    lost = {scene.name: missing for scene, _ in scenes if (missing := scene.kept - found.kept_in_rows())}
    assert (found.leaks, wrong, lost) == ({}, [{}, {}], {})
    assert sealed == len(scenes)
