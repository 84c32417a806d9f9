"""The functional API: inputs, results of tasks, the previous result, and what is saved in its place."""

from __future__ import annotations

from typing import Any

from langgraph.func import entrypoint, task

from leak_battery.play import Scenario
from leak_battery.scenes import Scene


def request(scene: Scene) -> dict[str, Any]:
    return {"question": f"{scene.raw('functionalinput')} {scene.email('functionalinput')}"}


def plain_request(scene: Scene) -> str:
    return scene.raw("functionaltext")


def returned(scene: Scene, saver: Any) -> Any:
    @task
    def look_up(question: Any) -> dict[str, Any]:
        return {"found": scene.raw("taskresult"), "for": question}

    @entrypoint(checkpointer=saver)
    def flow(given: Any, *, previous: Any = None) -> dict[str, Any]:
        found = look_up(given).result()
        return {"found": found, "heart": scene.heart(), "previous": previous, "own": scene.raw("functionalresult")}

    return flow


def saved(scene: Scene, saver: Any) -> Any:
    @task
    def look_up(question: Any) -> str:
        return f"{question} {scene.heart()}"

    @entrypoint(checkpointer=saver)
    def flow(given: Any, *, previous: Any = None) -> Any:
        value = look_up(given).result()
        return entrypoint.final(value=scene.raw("finalvalue"), save=f"{scene.raw('finalsave')} {value} {previous}")

    return flow


SCENARIOS = {
    "functional": Scenario(build=returned, message=request, conversation=False, restarts=False),
    "functional, saved": Scenario(build=saved, message=plain_request, conversation=False, restarts=False),
}
