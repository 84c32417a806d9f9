"""Graphs within graphs: of one call, with a state of their own, twice nested, called by hand."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from leak_battery.agents import AgentState, agent_graph, run_tool, tool_message
from leak_battery.play import Scenario
from leak_battery.scenes import Scene


class OwnState(AgentState, total=False):
    private: str
    count: int


def worker(scene: Scene, tools: Any, checkpointer: Any = None) -> Any:
    """Return a graph that takes a note and then runs `tools`."""

    def note(_: Any) -> dict[str, Any]:
        return {"private": scene.raw("subgraphchannel"), "count": scene.whole_number()}

    builder = StateGraph(OwnState)
    builder.add_node("note", note)
    builder.add_node("work", tools)
    builder.add_edge(START, "note")
    builder.add_edge("note", "work")
    return builder.compile(checkpointer=checkpointer)


def of_one_call(scene: Scene, saver: Any) -> Any:
    return agent_graph(scene, worker(scene, run_tool(scene))).compile(checkpointer=saver)


def stateful(scene: Scene, saver: Any) -> Any:
    return agent_graph(scene, worker(scene, run_tool(scene), checkpointer=True)).compile(checkpointer=saver)


def nested(scene: Scene, saver: Any) -> Any:
    return agent_graph(scene, worker(scene, worker(scene, run_tool(scene)))).compile(checkpointer=saver)


def nested_stateful(scene: Scene, saver: Any) -> Any:
    inner = worker(scene, run_tool(scene), checkpointer=True)
    return agent_graph(scene, worker(scene, inner, checkpointer=True)).compile(checkpointer=saver)


def expert(scene: Scene, saver: Any) -> Any:
    """The whole agent as one with a thread of its own, which the policy names."""
    builder = StateGraph(AgentState)
    builder.add_node("expert", agent_graph(scene, run_tool(scene)).compile(checkpointer=True))
    builder.add_edge(START, "expert")
    return builder.compile(checkpointer=saver)


def called_by_hand(scene: Scene, saver: Any) -> Any:
    """A node that calls a graph and passes on what it makes of the result."""
    graph = worker(scene, run_tool(scene))

    def given(state: AgentState) -> dict[str, Any]:
        return {"messages": state["messages"][-1:], "private": scene.raw("subgraphinput")}

    def call(state: AgentState, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": graph.invoke(given(state), config)["messages"]}

    async def acall(state: AgentState, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": (await graph.ainvoke(given(state), config))["messages"]}

    return agent_graph(scene, RunnableLambda(call, acall)).compile(checkpointer=saver)


def to_parent(scene: Scene, saver: Any) -> Any:
    """A graph whose node hands its result to the parent's state and says where the parent goes on."""

    def tools(_: Any) -> Command[str]:
        update = {"messages": [tool_message(scene, scene.heart())], "scratch": scene.raw("parentupdate")}
        return Command(graph=Command.PARENT, update=update, goto="assistant")

    builder = agent_graph(scene, worker(scene, tools))
    return builder.compile(checkpointer=saver)


async def update_inside(scene: Scene, graph: Any) -> None:
    """Change the state of a graph that is paused within another."""
    if scene.story[-1].ending != "paused":
        return
    messages = [("user", scene.email("subgraphmessage")), tool_message(scene, scene.raw("subgraphresult"))]
    values = {"private": scene.raw("subgraphupdate"), "messages": messages}
    if scene.face == "sync":
        inside = graph.get_state(scene.config, subgraphs=True).tasks[0].state.config
        graph.update_state(inside, values, as_node="note")
    else:
        inside = (await graph.aget_state(scene.config, subgraphs=True)).tasks[0].state.config
        await graph.aupdate_state(inside, values, as_node="note")


SCENARIOS = {
    "subgraph": Scenario(build=of_one_call, afterwards=update_inside),
    "stateful subgraph": Scenario(build=stateful, afterwards=update_inside),
    "named subgraph": Scenario(build=expert),
    "nested": Scenario(build=nested),
    "nested stateful": Scenario(build=nested_stateful),
    "called by hand": Scenario(build=called_by_hand),
    "to parent": Scenario(build=to_parent),
}
