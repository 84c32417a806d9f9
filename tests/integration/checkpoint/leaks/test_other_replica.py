"""A second process over the same rows: it refuses answers to questions it has not asked, and goes on with new messages."""

import pytest
from leak_battery.drive import make_scenes, play_all
from leak_battery.play import take
from leak_battery.savers import make_saver, open_pool
from leak_battery.scenarios import TALKS
from leak_battery.stories import DURABILITIES, FACES, Step

PAUSED = {"left paused": (Step("message", "over"), Step("message", "paused"))}


async def answer_elsewhere(scene, scenario, saver):
    graph, ran = scenario.build(scene, saver), scene.ran
    await take(scene, scenario, graph, Step("answer", "refused"))
    if scene.ran != ran:
        raise AssertionError(f"{scene.name}: the answer reached a tool")
    await take(scene, scenario, graph, Step("message", "over"))


async def say_more(scene, scenario, saver):
    await take(scene, scenario, scenario.build(scene, saver), Step("message", "over"))


@pytest.mark.slow
@pytest.mark.parametrize("face", FACES)
async def test_a_replica_that_refuses_an_answer_leaves_nothing_of_it(talkative_database, plants, left_by, face, every):
    scenes = make_scenes(plants, face, DURABILITIES, scenarios=TALKS, stories=PAUSED, every=every)
    async with open_pool(talkative_database, face) as pool:
        here, there = await make_saver(pool), await make_saver(pool)
        wrong = [
            await play_all(scenes, here),
            await play_all(scenes, there, answer_elsewhere),
            await play_all(scenes, here, say_more),
        ]
        found = left_by(talkative_database)
    lost = {scene.name: missing for scene, _ in scenes if (missing := scene.kept - found.kept_in_rows())}
    assert (found.leaks, wrong, lost) == ({}, [{}, {}, {}], {})
