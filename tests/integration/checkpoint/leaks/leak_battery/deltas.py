"""Delta channels: what they hold is rebuilt from the writes to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer
from typing_extensions import TypedDict

from leak_battery.agents import tool_message, tool_request
from leak_battery.play import Scenario
from leak_battery.scenes import Scene, final_answer, user_message


def extend(log: list[str], added: Sequence[list[str]]) -> list[str]:
    return [*log, *(line for lines in added for line in lines)]


CHANNELS = {
    "dialogue": DeltaChannel(_messages_delta_reducer, snapshot_frequency=3),
    "log": DeltaChannel(extend, snapshot_frequency=2),
}
"""As the policy declares them."""


class DeltaState(TypedDict, total=False):
    dialogue: Annotated[list[AnyMessage], CHANNELS["dialogue"]]
    log: Annotated[list[str], CHANNELS["log"]]
    scratch: str


def delta_agent(scene: Scene, saver: Any) -> Any:
    """The agent's loop, with the conversation and a log in delta channels."""

    def assistant(state: Mapping[str, Any]) -> dict[str, Any]:
        scene.kept_if_over.add(scene.keep("log"))
        said = final_answer(scene) if isinstance(state["dialogue"][-1], ToolMessage) else tool_request(scene)
        return {"dialogue": [said], "log": [f"{scene.keep('log')} {scene.email('log')}"]}

    def tools(_: Any) -> dict[str, Any]:
        return {"dialogue": [tool_message(scene, scene.heart())], "scratch": scene.raw("scratch")}

    builder = StateGraph(DeltaState)
    builder.add_node("assistant", assistant)
    builder.add_node("tools", tools)
    builder.add_edge(START, "assistant")
    builder.add_conditional_edges(
        "assistant", lambda state: "tools" if state["dialogue"][-1].tool_calls else END, ["tools", END]
    )
    builder.add_edge("tools", "assistant")
    return builder.compile(checkpointer=saver)


def delta_message(scene: Scene) -> dict[str, Any]:
    return {"dialogue": user_message(scene)["messages"], "log": [scene.email("loginput")]}


SCENARIOS = {"delta": Scenario(build=delta_agent, message=delta_message)}
