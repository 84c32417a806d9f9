"""The template, and an agent with the middleware, whose state is masked or holds what was said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool

from discreet.graph import build_graph
from discreet.graph.middleware import MemoryMiddleware
from discreet.state.context import Context
from discreet.testing import ScriptedChatModel
from leak_battery.play import Scenario
from leak_battery.scenes import Scene, final_answer

ENDED_BY_NO_ERROR = ("over", "paused", "paused, answered", "paused, new message", "cancelled", "cancelled, new message")
"""Stories for graphs whose model is told of a tool's error."""


class OfAnn:
    """A graph whose runs are all of one user, whatever context they come with."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def invoke(self, given: Any, config: Any, *, context: Any, **options: Any) -> Any:
        return self._graph.invoke(given, config, context=Context(user_id="ann"), **options)

    async def ainvoke(self, given: Any, config: Any, *, context: Any, **options: Any) -> Any:
        return await self._graph.ainvoke(given, config, context=Context(user_id="ann"), **options)


def remembering(mask: Any = "auto", **parts: Any) -> Mapping[str, Scenario]:
    """Return the scenarios of graphs with memory, made of `parts` such as an open storage."""

    def template(scene: Scene, saver: Any) -> Any:
        model, tools = _model(scene), [_tool(scene)]
        return OfAnn(build_graph(chat_model=model, tools=tools, mask=mask, **parts).compile(checkpointer=saver))

    def agent(conversation: Any) -> Callable[[Scene, Any], Any]:
        def build(scene: Scene, saver: Any) -> Any:
            memory = MemoryMiddleware(mask=mask, conversation=conversation, model="offline", **parts)
            prompt = scene.raw("systemprompt")
            made = create_agent(
                _model(scene), [_tool(scene)], system_prompt=prompt, middleware=[memory], checkpointer=saver
            )
            return OfAnn(made)

        return build

    return {
        "template": Scenario(build=template, stories=ENDED_BY_NO_ERROR),
        "middleware": Scenario(build=agent("kept"), stories=ENDED_BY_NO_ERROR),
        "managed middleware": Scenario(build=agent("managed"), stories=ENDED_BY_NO_ERROR),
    }


def _tool(scene: Scene) -> Any:
    @tool(response_format="content_and_artifact")
    def look_up(query: str) -> tuple[str, dict[str, str]]:
        """Look up."""
        return f"{scene.heart()} {query}", {"rows": scene.raw("artifact")}

    return look_up


def _model(scene: Scene) -> ScriptedChatModel:
    def think(messages: list[Any]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            return final_answer(scene)
        arguments = {"query": f"{scene.raw('toolargs')} {scene.email('toolargs')}"}
        calls = [{"name": "look_up", "args": arguments, "id": scene.raw("callid")}]
        reasoning = {"reasoning_content": scene.raw("planreasoning")}
        return AIMessage(scene.aside("plan"), tool_calls=calls, additional_kwargs=reasoning)

    return ScriptedChatModel(responses=[think] * 10, strict=False)
