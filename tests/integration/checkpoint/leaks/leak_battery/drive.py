"""Play scenes over one saver, many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

from kit.planter import Planter

from leak_battery.play import Scenario, at_once, play
from leak_battery.scenarios import SCENARIOS
from leak_battery.scenes import Scene
from leak_battery.stories import DURABILITIES, FACES, HELD, STORIES, Face, Story

Scenes = Sequence[tuple[Scene, Scenario]]
Failures = dict[str, str]

AT_ONCE = 8
WAIT_SECONDS = 60.0
"""For scenes to reach the heart of their graphs."""


def make_scenes(
    plants: Planter,
    face: Face,
    durabilities: Iterable[str],
    *,
    scenarios: Iterable[str] | None = None,
    stories: Mapping[str, Story] = STORIES,
    every: int = 1,
    table: Mapping[str, Scenario] = SCENARIOS,
) -> Scenes:
    """Return a scene for the stories that each scenario of `table` can play: `every` third, say, others with each durability.

    Only an async call can be cancelled.
    """
    played = [
        (name, story, durability)
        for durability, name, story in product(durabilities, table if scenarios is None else scenarios, stories)
        if (story in table[name].stories or story not in STORIES)
        and (face == "async" or all(step.ending != "cancelled" for step in stories[story]))
    ]
    return [
        (
            Scene(plants, name, story, number, stories[story], face, durability, table[name].conversation),
            table[name],
        )
        for number, (name, story, durability) in enumerate(played)
        if (number + DURABILITIES.index(durability) + FACES.index(face)) % every == 0
    ]


async def play_all(
    scenes: Scenes, saver: Any, playing: Callable[[Scene, Scenario, Any], Any] = play, *, at_once: int = AT_ONCE
) -> Failures:
    """Play all scenes; return what went wrong, by scene."""
    if scenes[0][0].face == "sync":
        results = await asyncio.to_thread(_play_in_threads, scenes, saver, playing, at_once)
    else:
        entrance = asyncio.Semaphore(at_once)
        # Nodes run in the loop's executor, and those that are held stay there.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2 * at_once + 8))

        async def enter(scene: Scene, scenario: Scenario) -> None:
            async with entrance:
                await playing(scene, scenario, saver)

        results = await asyncio.gather(*(enter(*scene) for scene in scenes), return_exceptions=True)
    return {scene.name: repr(error) for (scene, _), error in zip(scenes, results, strict=True) if error is not None}


def _play_in_threads(
    scenes: Scenes, saver: Any, playing: Callable[[Scene, Scenario, Any], Any], count: int
) -> list[BaseException | None]:
    with ThreadPoolExecutor(count) as threads:
        played = [threads.submit(at_once, playing(scene, scenario, saver)) for scene, scenario in scenes]
    return [future.exception() for future in played]


def all_held(scenes: Scenes) -> bool:
    """Wait until every scene that is to be held is; return whether they all came so far."""
    held = [scene for scene, _ in scenes if any(step.ending in HELD for step in scene.story)]
    return all(scene.reached.wait(WAIT_SECONDS) for scene in held)


def release(scenes: Scenes) -> None:
    """Let scenes that are held go on."""
    for scene, _ in scenes:
        scene.released.set()
