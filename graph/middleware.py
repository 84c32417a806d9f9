"""Memory and discretion for agents made by `langchain.agents.create_agent`."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, NotRequired

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, SystemMessage, ToolCall, ToolMessage
from langgraph.errors import GraphInterrupt
from langgraph.graph.message import add_messages
from langgraph.types import Command

from discreet.access.epochs import begun
from discreet.background_loop import wait_for
from discreet.errors import MessageIdReusedError, MissingDependencyError
from discreet.graph.agent_again import abefore_run, before_run, came_again, may_be_again
from discreet.graph.options import MiddlewareOptions, init_spelt_by
from discreet.graph.parts import make_parts
from discreet.nodes.assistant import spoken
from discreet.nodes.node import Node
from discreet.nodes.prompting import definitions_of
from discreet.nodes.provenance import with_origin
from discreet.nodes.requests import beginning_of
from discreet.nodes.run import describe_run, thread_of_run
from discreet.nodes.tools.errors import tool_error
from discreet.nodes.tools.unresolved import check_arguments
from discreet.nodes.turn import tool_rounds, turn_text
from discreet.ports import of_thread
from discreet.providers import chat_model as model_by_name
from discreet.state.conversation import Gate, Request, RetrievedMemory

try:
    from langchain.agents.middleware import AgentMiddleware, hook_config
    from langchain.agents.middleware.types import (
        AgentState,
        ModelRequest,
        ModelResponse,
        PrivateStateAttr,
        ToolCallRequest,
    )
except ImportError as error:
    raise MissingDependencyError(
        "The middleware is for agents of the package langchain: pip install langchain"
    ) from error

ToolResult = ToolMessage | Command[Any]


class MemoryState(AgentState[Any]):
    """The agent's state and the running turn, which callers don't see."""

    request: NotRequired[Annotated[Request | None, PrivateStateAttr]]
    gate: NotRequired[Annotated[Gate | None, PrivateStateAttr]]
    memories: NotRequired[Annotated[list[RetrievedMemory], PrivateStateAttr]]
    id_reused: NotRequired[Annotated[bool, PrivateStateAttr]]


class MemoryMiddleware(AgentMiddleware[MemoryState, Any, Any]):
    """Does for an agent what the template's nodes do around theirs.

    Before the agent: `save_input`, `memory_gate`, `retrieve_memories`. Around each call of the model: the prompt within its
    budget, real values in, placeholders out, and after `tool_loop_limit` rounds of tool calls no more tools. Around each tool: real arguments in, a redacted result in the state. After the
    agent: `persist_filtered`. The agent's own system prompt stays the instructions. Put it first in the list, so that other
    middleware sees placeholders only; but `HumanInTheLoopMiddleware` in front of it, so that what people edit is given
    its values and looked at like any other call. `TurnRunner` shows them, and the caller of the agent, the real values.

    Example:
        >>> from langchain.agents import create_agent
        >>> from discreet.providers import chat_model
        >>> from discreet.testing import InMemoryMemories
        >>> middleware = MemoryMiddleware(memories=InMemoryMemories())
        >>> agent = create_agent(chat_model("offline"), middleware=[middleware])
    """

    state_schema = MemoryState

    @init_spelt_by(MiddlewareOptions)
    def __init__(self, options: MiddlewareOptions) -> None:
        """Take the fields of `MiddlewareOptions` as keyword arguments; each is described there, and none has to be given.

        Raises:
            ConfigurationError: The model's name is unknown, or the options contradict each other.
        """
        named = options.model
        chosen = named if isinstance(named, BaseChatModel) else model_by_name(named, settings=options.settings)
        self._parts = make_parts(options, chosen)
        self.mask = self._parts.mask
        self.tools: Sequence[Any] = self._parts.memory_tools

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: MemoryState, runtime: Any) -> dict[str, Any]:
        """Check and mask the message, and retrieve memories for it. One that was answered before ends the run with that answer."""
        return await self._begun(state, await abefore_run() if may_be_again(state) else None)

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: MemoryState, runtime: Any) -> dict[str, Any]:
        """Do what `abefore_agent` does, blocking."""
        return wait_for(self._begun(state, before_run() if may_be_again(state) else None))

    async def _begun(self, state: MemoryState, before: Sequence[BaseMessage] | None) -> dict[str, Any]:
        redactor = of_thread(self.mask.redactor, thread_of_run())
        if (again := came_again(state["messages"], before, redactor)) is not None:
            is_noted = state.get("id_reused") or not again.is_same
            reused = {"id_reused": not again.is_same} if is_noted else {}
            return {"messages": list(again.put_back), "jump_to": "end", **reused}
        first = [node for node in (self._parts.save_input, self._parts.memory_gate) if node is not None]
        update = await _in_turn(first, state)
        gate = update.get("gate")
        if self._parts.retrieve_memories is not None and (gate is None or gate["retrieve"]):
            update |= await _in_turn([self._parts.retrieve_memories], {**state, **_merged(state, update)})
        return {**update, "id_reused": False} if state.get("id_reused") else update

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Give the model the prompt with the real values, and mask what it says."""
        return await self._masked(request, await handler(await self._prepared(request)))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Do what `awrap_model_call` does, blocking."""
        response = handler(wait_for(self._prepared(request)))
        return wait_for(self._masked(request, response))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Give the tool its real arguments, and mask what it returns or asks. A failure becomes a typed error for the model."""
        real = await self._real(request)
        try:
            check_arguments(real, self._parts.mask.redactor)
            with begun(beginning_of(request.state.get("request"))):
                result = await handler(real)
        except Exception as error:  # noqa: BLE001  # LangGraph's own signals pass
            result = await self._failed(request, error)
        return await self._masked_result(request, result)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """Do what `awrap_tool_call` does, blocking."""
        real = wait_for(self._real(request))
        try:
            check_arguments(real, self._parts.mask.redactor)
            with begun(beginning_of(request.state.get("request"))):
                result = handler(real)
        except Exception as error:  # noqa: BLE001  # as above
            result = wait_for(self._failed(request, error))
        return wait_for(self._masked_result(request, result))

    async def aafter_agent(self, state: MemoryState, runtime: Any) -> dict[str, Any]:
        """Keep the filtered turn, and drop the rest. A structured response is an answer. Where no turn began nothing is kept.

        Raises:
            MessageIdReusedError: A message came in under the id of one that was answered, with another text.
        """
        if state.get("id_reused"):
            raise MessageIdReusedError
        if not state.get("request"):
            return {}
        return await _in_turn([self._parts.persist_filtered], state)

    def after_agent(self, state: MemoryState, runtime: Any) -> dict[str, Any]:
        """Do what `aafter_agent` does, blocking."""
        return wait_for(self.aafter_agent(state, runtime))

    async def _prepared(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        last_words = self._last_words(request)
        with begun(beginning_of(request.state.get("request"))):
            prompt, _ = await self._parts.prompting.prompt(
                request.messages,
                request.state.get("memories") or (),  # type: ignore[arg-type]  # the state is a MemoryState
                run=describe_run(default_user=self._parts.settings.default_user),
                model=request.model,
                tools="" if last_words else definitions_of(request.tools),
                instructions=request.system_prompt,
                last_words=last_words,
            )
        if last_words:
            request = request.override(tools=[], tool_choice=None)
        return request.override(
            system_message=SystemMessage(prompt.system),
            messages=[*prompt.rounds, *prompt.running],  # type: ignore[list-item]  # AnyMessage is a union of the same
        )

    async def _masked(self, request: ModelRequest[Any], response: ModelResponse[Any]) -> ModelResponse[Any]:
        turn = await self._parts.mask.turn(request.messages)
        structured = response.structured_response
        if structured is not None:
            structured = await turn.masked_value(structured, trusted=True)
        said = await turn.masked(self._with_origin(request, response))
        return dataclasses.replace(response, result=said, structured_response=structured)

    def _with_origin(self, request: ModelRequest[Any], response: ModelResponse[Any]) -> list[BaseMessage]:
        """Return what the model said with a note of what made it, and no call of a tool beyond the limit."""
        last_words = self._last_words(request)
        ends = last_words and response.structured_response is None
        return [
            with_origin(
                spoken(message, last_words=True) if ends else message,
                request.model,
                instructions=request.system_prompt,
                last_words=last_words,
            )
            if isinstance(message, AIMessage)
            else message
            for message in response.result
        ]

    def _last_words(self, request: ModelRequest[Any]) -> bool:
        return tool_rounds(request.messages) >= self._parts.settings.tool_loop_limit

    async def _real(self, request: ToolCallRequest) -> ToolCallRequest:
        messages = request.state["messages"]
        turn = await self._parts.mask.turn(messages)
        real = turn.real(messages)
        call = request.tool_call
        same = any(_is_same(call, each) for each in _calls(messages))  # else somebody has edited it on its way here
        found = next((each for each in _calls(real) if same and each["id"] == call["id"]), turn.resolved(call))
        state = {**{key: turn.resolved(item) for key, item in request.state.items()}, "messages": real}
        return dataclasses.replace(
            request,
            tool_call=found,
            state=state,
            runtime=dataclasses.replace(request.runtime, state=state),
        )

    async def _failed(self, request: ToolCallRequest, error: Exception) -> ToolMessage:
        """Return what the model is told of an error; a pause goes on with placeholders."""
        call = request.tool_call
        if isinstance(error, GraphInterrupt):
            turn = await self._parts.mask.turn(request.state["messages"])
            raise await turn.masked_pause(error) from None
        told = tool_error(error, turn_text(request.state["messages"]))
        return ToolMessage(told, name=call["name"], tool_call_id=call["id"], status="error")

    async def _masked_result(self, request: ToolCallRequest, result: ToolResult) -> ToolResult:
        turn = await self._parts.mask.turn(request.state["messages"])
        if isinstance(result, ToolMessage):
            (masked,) = await turn.masked([result])
            return masked  # type: ignore[return-value]  # of the kind that it was
        if isinstance(result.update, dict) and "messages" in result.update:
            update = {**result.update, "messages": await turn.masked(result.update["messages"])}
            return dataclasses.replace(result, update=update)
        return result


def _calls(messages: Sequence[Any]) -> list[ToolCall]:
    return [call for message in messages for call in getattr(message, "tool_calls", ())]


def _is_same(call: ToolCall, other: ToolCall) -> bool:
    return (call["id"], call["name"], call["args"]) == (other["id"], other["name"], other["args"])


async def _in_turn(nodes: Sequence[Node], state: Any) -> dict[str, Any]:
    """Run `nodes` one after the other and return their updates as one."""
    update: dict[str, Any] = {}
    for node in nodes:
        step: Any = await node({**state, **_merged(state, update)})
        messages = [*update.get("messages", ()), *step.get("messages", ())]
        update |= step
        if messages:
            update["messages"] = messages
    return update


def _merged(state: Any, update: dict[str, Any]) -> dict[str, Any]:
    """Return `update` as it changes `state`: messages by their ids."""
    if "messages" not in update:
        return update
    changes: list[BaseMessage | RemoveMessage] = update["messages"]
    return {**update, "messages": add_messages(state["messages"], changes)}  # type: ignore[arg-type]  # as above
