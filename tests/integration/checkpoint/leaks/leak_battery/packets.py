"""What nodes hand to each other beside the state: `Send` packets and commands."""

from __future__ import annotations

import operator
from typing import Annotated, Any

from langgraph.errors import GraphInterrupt
from langgraph.types import Command, Interrupt, Send

from leak_battery.agents import AgentState, agent_graph, run_tool, tool_message
from leak_battery.play import Scenario
from leak_battery.scenes import Scene, user_message


class LoggedState(AgentState, total=False):
    notes: Annotated[list[str], operator.add]


def parallel_sends(scene: Scene, saver: Any) -> Any:
    """Fan out to three tasks, of which one does what the story says."""

    def fan_out(_: Any) -> list[Send]:
        return [
            Send("work", {"number": number, "query": scene.raw("sendargument"), "mail": scene.email("sendargument")})
            for number in range(3)
        ]

    def work(packet: dict[str, Any]) -> dict[str, Any]:
        return {"notes": [scene.heart() if packet["number"] == 1 else scene.raw("parallelresult")]}

    def gather(_: Any) -> dict[str, Any]:
        return {"messages": [tool_message(scene, scene.raw("gathered"))]}

    def ask(_: Any) -> dict[str, Any]:
        return {"scratch": scene.raw("asked")}

    builder = agent_graph(scene, gather, state=LoggedState, second="ask", ask=ask, work=work)
    builder.add_conditional_edges("ask", fan_out, ["work"])
    builder.add_edge("work", "assistant")
    return builder.compile(checkpointer=saver)


def commands(scene: Scene, saver: Any) -> Any:
    """A node that says where to go on, by name and by packet."""

    def jump(_: Any) -> Command[str]:
        return Command(
            update={"scratch": scene.raw("commandupdate")},
            goto=Send("land", {"note": scene.raw("goto"), "then": ["assistant"]}),
        )

    def land(packet: dict[str, Any]) -> Command[str]:
        return Command(update={"notes": [packet["note"], scene.raw("landed")]}, goto=packet["then"])

    builder = agent_graph(scene, run_tool(scene), state=LoggedState, second="jump", land=land)
    builder.add_node("jump", jump, destinations=("land",))
    return builder.compile(checkpointer=saver)


def command_as_input(scene: Scene) -> Any:
    """Return a user's message as a command that also changes the state and starts a node."""
    goto = [Send("land", {"note": scene.raw("inputgoto"), "then": [] if scene.turn == 1 else ["prepare"]})]
    return Command(update={**user_message(scene), "scratch": scene.raw("inputupdate")}, goto=goto)


def answer_with_update(scene: Scene) -> Any:
    """Return an answer that also changes the state."""
    update = {"scratch": scene.raw("resumeupdate"), "topic": scene.email("resumetopic")}
    return Command(resume={"text": scene.raw("resumeanswer"), scene.raw("resumekey"): [1]}, update=update)


def own_interrupt(scene: Scene, saver: Any) -> Any:
    """A node that raises an interrupt of its own making."""

    def tools(_: Any) -> dict[str, Any]:
        if scene.step == ("message", "paused"):
            question = Interrupt(
                scene.raw("interruptpayload"),
                scene.message_id("interruptid"),
                response_schema={"title": scene.raw("schema")},
            )
            raise GraphInterrupt((question,))
        return {"messages": [tool_message(scene, scene.raw("toolresult"))]}

    return agent_graph(scene, tools).compile(checkpointer=saver)


SCENARIOS = {
    "sends": Scenario(build=parallel_sends),
    "commands": Scenario(build=commands, answer=answer_with_update),
    # On a thread that has a state already, a command starts no other node than it says.
    "command as input": Scenario(
        build=commands,
        message=command_as_input,
        stories=("over", "raised", "raised, retried", "paused", "paused, answered", "answered, raised", "cancelled"),
        restarts=False,
    ),
    "own interrupt": Scenario(build=own_interrupt, stories=("over", "paused", "paused, new message"), has_heart=False),
}
