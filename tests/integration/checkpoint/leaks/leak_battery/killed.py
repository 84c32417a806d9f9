"""Turns that end with their process, and how another one goes on with them."""

from __future__ import annotations

from typing import Any

from kit.planter import Planter

from leak_battery.drive import Scenes, make_scenes
from leak_battery.play import Scenario, take
from leak_battery.scenarios import SCENARIOS
from leak_battery.scenes import Scene
from leak_battery.stories import DURABILITIES, Face, Step, Story

RETRIED = "killed, retried"
NEW_MESSAGE = "killed, new message"
STORIES: dict[str, Story] = {
    RETRIED: (Step("message", "held"),),
    NEW_MESSAGE: (Step("message", "over"), Step("message", "held")),
}
CONTINUED = {RETRIED: Step("nothing", "over"), NEW_MESSAGE: Step("message", "over")}


def killed_scenes(plants: Planter, face: Face, every: int) -> Scenes:
    """Return the scenes that are killed, the same in every process that is given the same words."""
    names = [name for name, scenario in SCENARIOS.items() if scenario.has_heart]
    return make_scenes(plants, face, DURABILITIES, scenarios=names, stories=STORIES, every=every)


def remember(scene: Scene) -> None:
    """Take note of what the killed process has said, and of what it must have stored."""
    for step in scene.story:
        scene.turn += 1
        if step.ending == "over" or scene.durability != "exit":  # which stores nothing before a turn's end
            scene.expect("usertext")
        if step.ending == "over":
            scene.expect("answer")


async def go_on(scene: Scene, scenario: Scenario, saver: Any) -> None:
    """Retry the killed turn, or say something new."""
    if scene.story_name == RETRIED and (scene.durability == "exit" or not scenario.restarts):
        return
    await take(scene, scenario, scenario.build(scene, saver), CONTINUED[scene.story_name])
