"""Changes of the state from outside: on a thread that is closed, open or paused."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage
from langgraph.types import StateUpdate

from leak_battery.agents import plain_agent, tool_message, tool_request
from leak_battery.play import Scenario
from leak_battery.scenes import Scene


def _changes(scene: Scene) -> list[list[StateUpdate]]:
    return [
        [
            StateUpdate({"messages": [tool_request(scene)], "scratch": scene.raw("bulkscratch")}, "assistant"),
        ],
        [
            StateUpdate({"messages": [tool_message(scene, scene.raw("bulkresult"))]}, "tools", str(uuid4())),
            StateUpdate({"topic": scene.email("bulktopic")}, "prepare", scene.raw("taskid")),
        ],
    ]


async def update(scene: Scene, graph: Any) -> None:
    """Change the state as a node, as the user, and in bulk."""
    as_node = {"messages": [AIMessage(scene.email("updateplan"))], "scratch": scene.raw("updatescratch")}
    as_input = {"messages": [("user", scene.email("updateinput"))], "scratch": scene.raw("updateinput")}
    if scene.face == "sync":
        graph.update_state(scene.config, as_node, as_node="prepare")
        graph.update_state(scene.config, as_input, as_node="__input__")
        graph.bulk_update_state(scene.config, _changes(scene))
        graph.update_state(scene.config, None, as_node="__copy__")
    else:
        await graph.aupdate_state(scene.config, as_node, as_node="prepare")
        await graph.aupdate_state(scene.config, as_input, as_node="__input__")
        await graph.abulk_update_state(scene.config, _changes(scene))
        await graph.aupdate_state(scene.config, None, as_node="__copy__")


def finished_agent(scene: Scene, saver: Any) -> Any:
    scene.closed_by_hand = True
    return plain_agent(scene, saver)


async def finish(scene: Scene, graph: Any) -> None:
    """Clear what is about to run, which closes the turn from outside. The tool that has answered is named, with no secret."""
    message = tool_message(scene, scene.raw("updateresult"))
    message.name = "look_up"
    # Of a turn that is over the call is not there any more, and a result without one is refused.
    values = {"scratch": scene.raw("updatescratch")} if scene.step.ending == "over" else {"messages": [message]}
    if scene.face == "sync":
        graph.update_state(scene.config, values, as_node="tools")
        graph.update_state(scene.config, None, as_node="__end__")
    else:
        await graph.aupdate_state(scene.config, values, as_node="tools")
        await graph.aupdate_state(scene.config, None, as_node="__end__")


SCENARIOS = {
    "updated": Scenario(build=plain_agent, afterwards=update),
    "finished from outside": Scenario(build=finished_agent, afterwards=finish),
}
