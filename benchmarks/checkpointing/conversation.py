"""A graph of the template's shape with a scripted assistant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NotRequired

from comparing.texts import Texts
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict


class State(TypedDict):
    """The conversation, and what belongs to the running turn only."""

    messages: Annotated[list[AnyMessage], add_messages]
    request: NotRequired[dict[str, Any] | None]


class Conversation:
    """What is said in one thread: each turn a question, an answer and, if `tool_chars`, one tool call between them."""

    def __init__(self, *, seed: int, chars: int, tool_chars: int = 0) -> None:
        self._texts = Texts(seed)
        self._chars = chars
        self._tool_chars = tool_chars

    def say(self) -> dict[str, list[BaseMessage]]:
        """Return the next input."""
        return {"messages": [HumanMessage(self._texts.prose(self._chars))]}

    def compile(self, checkpointer: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
        """Return save_input -> assistant <-> tools -> close."""
        builder = StateGraph(State)
        for node in (self._save_input, self._assistant, self._tools, self._close):
            builder.add_node(node.__name__.removeprefix("_"), _both(node))
        builder.add_edge(START, "save_input")
        builder.add_edge("save_input", "assistant")
        builder.add_conditional_edges("assistant", _both(_route), ["tools", "close"])
        builder.add_edge("tools", "assistant")
        builder.add_edge("close", END)
        return builder.compile(checkpointer=checkpointer)

    def _save_input(self, state: State) -> dict[str, Any]:
        return {"request": {"request_id": self._texts.noise(32), "message_id": state["messages"][-1].id}}

    def _assistant(self, state: State) -> dict[str, Any]:
        if self._tool_chars and not isinstance(state["messages"][-1], ToolMessage):
            call = {"name": "look_up", "args": {"query": self._texts.prose(40)}, "id": self._texts.noise(24)}
            return {"messages": [AIMessage("", tool_calls=[call])]}
        return {"messages": [AIMessage(self._texts.prose(self._chars))]}

    def _tools(self, state: State) -> dict[str, Any]:
        call = state["messages"][-1].tool_calls[0]
        return {"messages": [ToolMessage(self._texts.noise(self._tool_chars), tool_call_id=call["id"])]}

    def _close(self, _state: State) -> dict[str, Any]:
        return {"request": None}


def _route(state: State) -> str:
    return "tools" if state["messages"][-1].tool_calls else "close"


def _both(call: Callable[[State], Any]) -> RunnableLambda[State, Any]:
    """Return `call` for graphs of both kinds; left to LangChain, an async graph would run it in a thread."""

    async def acall(state: State) -> Any:
        return call(state)

    return RunnableLambda(call, acall)
