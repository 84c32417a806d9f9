"""The database goes away in the middle of turns: nothing is spilled anywhere, and what was said is stored later."""

import asyncio
import traceback
from urllib.parse import urlsplit

import psycopg
import pytest
from leak_battery.drive import all_held, make_scenes, play_all, release
from leak_battery.play import take
from leak_battery.savers import make_saver, open_pool
from leak_battery.scenarios import TALKS
from leak_battery.stories import DURABILITIES, FACES, Step

CUT_OFF = {"cut off": (Step("message", "over"), Step("message", "unavailable"))}
WAIT_SECONDS = 0.5
"""For a connection while there is none."""


def connections(server_dsn, database, *, allowed):
    name = urlsplit(database).path.removeprefix("/")
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {allowed}")
        if not allowed:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])


async def say_more(scene, scenario, saver):
    await take(scene, scenario, scenario.build(scene, saver), Step("message", "over"))


@pytest.mark.slow
@pytest.mark.parametrize("face", FACES)
async def test_an_outage_in_the_middle_of_turns_leaks_nothing_and_loses_nothing(
    server_dsn, new_talkative_database, plants, left_by, face, every, caplog
):
    scenes = make_scenes(plants, face, DURABILITIES, scenarios=TALKS, stories=CUT_OFF, every=every)
    async with open_pool(new_talkative_database, face) as pool:
        saver = await make_saver(pool)
        playing = asyncio.create_task(play_all(scenes, saver, at_once=len(scenes)))
        assert await asyncio.to_thread(all_held, scenes)
        connections(server_dsn, new_talkative_database, allowed=False)
        patience, pool.timeout = pool.timeout, WAIT_SECONDS
        release(scenes)
        wrong = [await playing]
        connections(server_dsn, new_talkative_database, allowed=True)
        pool.timeout = patience
        wrong.append(await play_all(scenes, saver, say_more))
        found = left_by(new_talkative_database)
    lost = {scene.name: missing for scene, _ in scenes if (missing := scene.kept - found.kept_in_rows())}
    assert (found.leaks, wrong, lost) == ({}, [{}, {}], {})
    said = "".join("".join(traceback.format_exception(error)) for scene, _ in scenes for error in scene.errors)
    assert not plants.within(said + caplog.text)
