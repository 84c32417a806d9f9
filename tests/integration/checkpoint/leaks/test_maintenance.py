"""Threads are copied, pruned and deleted, whatever state they are in."""

import pytest
from leak_battery.drive import make_scenes, play_all
from leak_battery.play import take
from leak_battery.savers import make_saver, open_pool
from leak_battery.scenarios import TALKS
from leak_battery.stories import FACES, STORIES, Step

LEFT = {f"left {story}": STORIES[story] for story in ("over", "raised", "paused", "raised, new message")}
DURABILITIES = ("async", "exit")


async def go_on_as_copy(scene, scenario, saver):
    graph = scenario.build(scene, saver)
    name = scene.name
    await called(saver, "copy_thread", name, f"copy of {name}")
    scene.name = f"copy of {name}"
    last = scene.story[-1].ending
    step = {"paused": Step("answer", "over"), "raised": Step("nothing", "over"), "over": Step("message", "over")}[last]
    await take(scene, scenario, graph, step)
    await take(scene, scenario, graph, Step("message", "raised"))
    scene.name = name


async def called(saver, method, *arguments, **options):
    if saver.__class__.__name__ == "RedactingSyncSaver":
        getattr(saver, method)(*arguments, **options)
    else:
        await getattr(saver, f"a{method}")(*arguments, **options)


@pytest.mark.slow
@pytest.mark.parametrize("face", FACES)
async def test_copies_and_what_pruning_leaves_hold_nothing_planted(talkative_database, plants, left_by, face, every):
    scenes = make_scenes(plants, face, DURABILITIES, scenarios=TALKS, stories=LEFT, every=every)
    for scene, _ in scenes:
        scene.served = True
        scene.retried_turns |= {1} if scene.story_name == "left raised" else set()
    threads = [scene.name for scene, _ in scenes]
    async with open_pool(talkative_database, face) as pool:
        saver = await make_saver(pool)
        wrong = [await play_all(scenes, saver), await play_all(scenes, saver, go_on_as_copy)]
        await called(saver, "prune", threads[::2])
        await called(saver, "delete_for_runs", [scene.run_id for scene, _ in scenes[::3]])
        await called(saver, "delete_thread", threads[-1])
        found = left_by(talkative_database)
    assert (found.leaks, wrong) == ({}, [{}, {}])
    assert found.kept_in_rows()
