"""A process is killed while its tools run: what it leaves holds nothing planted, and another process goes on with it."""

from pathlib import Path

import pytest
from leak_battery import worker
from leak_battery.drive import play_all
from leak_battery.killed import go_on, killed_scenes, remember
from leak_battery.savers import make_saver, open_pool
from leak_battery.stories import FACES
from testkit.scripts import ScriptProcess


def play_and_kill(dsn, plants, face, every):
    with ScriptProcess(Path(worker.__file__), dsn, plants.seed, face, every) as process:
        return process.stdout.readline().strip()


@pytest.mark.slow
@pytest.mark.parametrize("face", FACES)
async def test_a_killed_process_leaves_nothing_planted_and_another_goes_on(
    talkative_database, plants, left_by, face, every
):
    assert play_and_kill(talkative_database, plants, face, every) == "held"
    scenes = killed_scenes(plants, face, every)
    for scene, _ in scenes:
        remember(scene)
    found = left_by(talkative_database)
    lost = {scene.name: missing for scene, _ in scenes if (missing := scene.kept - found.kept_in_rows())}
    assert (found.leaks, lost) == ({}, {})
    async with open_pool(talkative_database, face) as pool:
        wrong = await play_all(scenes, await make_saver(pool), go_on)
        found = left_by(talkative_database)
    lost = {scene.name: missing for scene, _ in scenes if (missing := scene.kept - found.kept_in_rows())}
    assert (found.leaks, wrong, lost) == ({}, {}, {})
