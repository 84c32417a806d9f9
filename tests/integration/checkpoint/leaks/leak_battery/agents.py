"""An agent's loop: prepare, think, run a tool, think again. Most scenarios are this with another kind of tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from discreet.testing import ScriptedChatModel
from leak_battery.play import Scenario
from leak_battery.scenes import Scene, final_answer


class AgentState(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    topic: str
    """Allow-listed, redacted."""
    locale: dict[str, Any]
    """Allow-listed, kept as it is."""
    scratch: str


def agent_graph(
    scene: Scene, tools: Any, *, state: Any = AgentState, second: str = "assistant", **nodes: Any
) -> StateGraph[Any]:
    """Return the loop with `tools` as the node that runs tools, and further `nodes`, of which one may come second."""

    def prepare(_: Any) -> dict[str, Any]:
        scene.kept_if_over |= {scene.keep("topic"), scene.keep("locale")}
        return {
            "messages": [SystemMessage(f"{scene.raw('systemprompt')} {scene.email('systemprompt')}")],
            "topic": f"{scene.keep('topic')} {scene.email('topic')}",
            "locale": {"name": scene.keep("locale")},
            "scratch": scene.raw("scratch"),
        }

    def assistant(state: Mapping[str, Any]) -> dict[str, Any]:
        last = state["messages"][-1]
        return {"messages": [final_answer(scene) if isinstance(last, ToolMessage) else tool_request(scene)]}

    builder = StateGraph(state)
    for name, node in {"prepare": prepare, "assistant": assistant, "tools": tools, **nodes}.items():
        builder.add_node(name, node)
    builder.add_edge(START, "prepare")
    builder.add_edge("prepare", second)
    builder.add_conditional_edges(
        "assistant", lambda state: "tools" if state["messages"][-1].tool_calls else END, ["tools", END]
    )
    builder.add_edge("tools", "assistant")
    return builder


def tool_request(scene: Scene) -> AIMessage:
    """Return a plan of the model's: a tool call, with something in each of its fields."""
    arguments = {"query": scene.raw("toolargs"), "mail": scene.email("toolargs"), scene.raw("toolargskey"): [1]}
    calls = [{"name": "look_up", "args": arguments, "id": scene.raw("callid")}]
    broken = [{"name": "look_up", "args": scene.raw("invalidargs"), "id": scene.raw("invalidid"), "error": ""}]
    return AIMessage(
        scene.aside("plan"),
        tool_calls=calls,
        invalid_tool_calls=broken,
        additional_kwargs={"reasoning_content": scene.raw("planreasoning")},
    )


def tool_message(scene: Scene, result: str) -> ToolMessage:
    """Return a tool's result, with something in each of its fields."""
    return ToolMessage(
        result,
        tool_call_id=scene.raw("callid"),
        name=scene.raw("toolname"),
        artifact={"rows": [scene.raw("artifact")]},
        additional_kwargs={"trace": scene.raw("toolkwargs")},
    )


def run_tool(scene: Scene) -> Any:
    """Return a node that does what the story says."""

    def tools(_: Any) -> dict[str, Any]:
        return {"messages": [tool_message(scene, scene.heart())]}

    return tools


def plain_agent(scene: Scene, saver: Any) -> Any:
    return agent_graph(scene, run_tool(scene)).compile(checkpointer=saver)


def prebuilt_agent(scene: Scene, saver: Any) -> Any:
    """LangChain's own agent and tool node."""

    @tool(response_format="content_and_artifact")
    def look_up(query: str) -> tuple[str, dict[str, str]]:
        """Look up."""
        return f"{scene.heart()} {query}", {"rows": scene.raw("artifact")}

    def think(messages: list[Any]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            return final_answer(scene)
        call = {"name": "look_up", "args": {"query": scene.raw("toolargs")}, "id": scene.raw("callid")}
        return AIMessage(scene.aside("plan"), tool_calls=[call])

    model = ScriptedChatModel(responses=[think] * 10, strict=False)
    return create_agent(model, [look_up], system_prompt=scene.raw("systemprompt"), checkpointer=saver)


def agent_with_kept_tool(scene: Scene, saver: Any) -> Any:
    """Call a tool that the policy names beside one that it doesn't: of the first call and result are to be kept, redacted."""

    @tool(response_format="content_and_artifact")
    def search_orders(query: str) -> tuple[str, dict[str, str]]:
        """Search orders."""
        scene.kept_if_over |= {scene.keep("order"), scene.keep("orderargs")}
        return f"{scene.keep('order')} for {scene.email('order')}", {"rows": scene.raw("orderartifact")}

    @tool
    def look_up(query: str) -> str:
        """Look up."""
        return f"{scene.heart()} {query}"

    def think(messages: list[Any]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            return final_answer(scene)
        kept = {"query": f"{scene.keep('orderargs')} of {scene.email('orderargs')}"}
        calls = [
            {"name": "look_up", "args": {"query": scene.raw("toolargs")}, "id": scene.raw("callid")},
            {"name": "search_orders", "args": kept, "id": scene.message_id("ordercallid")},
        ]
        return AIMessage(scene.aside("plan"), tool_calls=calls)

    model = ScriptedChatModel(responses=[think] * 10, strict=False)
    return create_agent(model, [look_up, search_orders], system_prompt=scene.raw("systemprompt"), checkpointer=saver)


def planning_agent(scene: Scene, saver: Any) -> Any:
    """Say what will be done in a message that asks for nothing, then do it."""

    def plan(_: Any) -> dict[str, Any]:
        return {"messages": [AIMessage(scene.aside("planner", answer=True))]}

    def act(_: Any) -> dict[str, Any]:
        return {"scratch": scene.heart()}

    def tools(_: Any) -> dict[str, Any]:
        return {"messages": [tool_message(scene, scene.raw("toolresult"))]}

    builder = agent_graph(scene, tools, second="plan", plan=plan, act=act)
    builder.add_edge("plan", "act")
    builder.add_edge("act", "assistant")
    return builder.compile(checkpointer=saver)


def meddling_agent(scene: Scene, saver: Any) -> Any:
    """Change messages of earlier turns in place, where a saver may take them for what it has stored."""

    def meddle(state: AgentState) -> dict[str, Any]:
        first, *others = state["messages"]
        if scene.turn > 1:
            first.content = f"{first.content} {scene.email('meddledtext')}"
            first.name = scene.raw("meddledname")
            for message in others:
                message.additional_kwargs["note"] = scene.raw("meddledkwargs")
                message.response_metadata["note"] = scene.raw("meddledmetadata")
            others[0].id = scene.message_id("meddledid")
        return {"scratch": scene.raw("scratch")}

    builder = agent_graph(scene, run_tool(scene), second="meddle", meddle=meddle)
    builder.add_edge("meddle", "assistant")
    return builder.compile(checkpointer=saver)


SCENARIOS = {
    "agent": Scenario(build=plain_agent),
    "prebuilt": Scenario(build=prebuilt_agent),
    "kept tool": Scenario(build=agent_with_kept_tool),
    "planner": Scenario(build=planning_agent),
    "meddler": Scenario(build=meddling_agent),
}
