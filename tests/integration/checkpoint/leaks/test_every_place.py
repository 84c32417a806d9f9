"""The first guarantee: whatever is planted wherever, and whatever becomes of the turn, nothing of it is on disk."""

import logging

import pytest
from kit.places import rows
from leak_battery.drive import make_scenes, play_all
from leak_battery.remembering import remembering
from leak_battery.savers import POLICY, make_saver, open_pool
from leak_battery.stories import DURABILITIES, FACES
from prometheus_client import generate_latest

from discreet.checkpoint import RedactingSaver
from discreet.graph import drain
from discreet.settings import Settings
from discreet.storage import open_storage
from discreet.testing import InMemoryKeys, StubEmbeddings


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


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("mask", ["auto", True, False])
@pytest.mark.parametrize("durability", DURABILITIES)
async def test_nor_where_graphs_have_memory_and_the_vault_is_shared(
    talkative_database, plants, left_by, durability, mask, every, caplog
):
    """Whether the state is masked or holds what was said: log, sessions and vault are in the same database."""
    caplog.set_level(logging.DEBUG, "discreet")
    shared = {
        "settings": Settings(turn_vault="postgres"),
        "keys": InMemoryKeys(),
        "embeddings": StubEmbeddings(dims=16),
    }
    async with open_storage(talkative_database, **shared) as storage:
        scenes = make_scenes(plants, "async", [durability], table=remembering(mask, storage=storage), every=every)
        saver = RedactingSaver.from_storage(storage, POLICY)
        await saver.setup()
        wrong = await play_all(scenes, saver)
        await drain()
        found = left_by(talkative_database)
    lost = {scene.name: missing for scene, _ in scenes if (missing := scene.kept - found.kept_in_rows())}
    assert (found.leaks, wrong, lost) == ({}, {}, {})
    assert {place for place, _ in rows(talkative_database, only=["vault_value", "conversation_log"])}
    assert [record.name for record in caplog.records if plants.within(f"{record.getMessage()} {vars(record)}")] == []
