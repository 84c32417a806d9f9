"""Memory and discretion for agents made by `langchain.agents.create_agent`."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, NotRequired

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, SystemMessage, ToolCall, ToolMessage
from langgraph.errors import GraphInterrupt
from langgraph.graph.message import add_messages
from langgraph.types import Command

from discreet.access.epochs import begun
from discreet.background_loop import wait_for
from discreet.errors import MissingDependencyError, UnresolvedPlaceholderError
from discreet.graph.options import MiddlewareOptions, init_spelt_by
from discreet.graph.parts import make_parts
from discreet.nodes.assistant import spoken
from discreet.nodes.masking import OpenTurn
from discreet.nodes.node import Node
from discreet.nodes.prompting import definitions_of
from discreet.nodes.provenance import with_origin
from discreet.nodes.requests import beginning_of
from discreet.nodes.run import Run, describe_run
from discreet.nodes.tools.errors import check_arguments, tool_error
from discreet.nodes.tools.memory_tool import MemoryTool
from discreet.nodes.turn import tool_rounds, turn_text
from discreet.prompts.facts import memory_block
from discreet.providers import chat_model as model_by_name
from discreet.providers.capabilities import name_of
from discreet.providers.tokens import token_counter
from discreet.state.conversation import Gate, Request, RetrievedMemory

try:
    from langchain.agents.middleware import AgentMiddleware
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


class MemoryMiddleware(AgentMiddleware[MemoryState, Any, Any]):
    """Gives an agent long-term memory, and takes nothing from it.

    Before the agent: `save_input`, `memory_gate`, `retrieve_memories`. What is known of the user is added to the system message of each call of
    the model, and the memory tools to its tools; rounds that the user had forgotten are left out. After the agent: `persist_filtered` keeps
    the filtered turn. Its place in the list of middleware doesn't matter.

    Under `RedactingSaver`, or without a checkpointer, everybody sees what was said: the checkpointer redacts what it stores. Under another
    checkpointer, or on a server, the state holds placeholders (`mask`); model and tools get the real values.

    With `conversation="managed"` the prompt is put together as the template does it: within the window of the model, with a rolling summary,
    and after `tool_loop_limit` rounds of tool calls without tools.

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
        """Take an open storage, and the fields of `MiddlewareOptions` as keyword arguments; each is described there, and none has to be given.

        Raises:
            ConfigurationError: The model's name is unknown, or the options contradict each other.
        """
        named = options.model
        self._model = model_by_name(named, settings=options.settings) if isinstance(named, str) else named
        self._is_managed = options.is_managed
        self._parts = make_parts(options, self._summarising_model)
        self.mask = self._parts.mask
        self.tools: Sequence[Any] = self._parts.memory_tools

    def _summarising_model(self) -> BaseChatModel:
        """Return the model that was named, else the one that the agent has asked last."""
        return self._model or model_by_name("offline")

    async def abefore_agent(self, state: MemoryState, runtime: Any) -> dict[str, Any]:
        """Begin a turn with the user's message, and retrieve memories for it."""
        first = [node for node in (self._parts.save_input, self._parts.memory_gate) if node is not None]
        update = await _in_turn(first[:1], state)
        if not update.get("request"):
            return update
        update = await _in_turn(first[1:], state, update)
        gate = update.get("gate")
        if self._parts.retrieve_memories is not None and (gate is None or gate["retrieve"]):
            update = await _in_turn([self._parts.retrieve_memories], state, update)
        return update

    def before_agent(self, state: MemoryState, runtime: Any) -> dict[str, Any]:
        """Do what `abefore_agent` does, blocking."""
        return wait_for(self.abefore_agent(state, runtime))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Tell the model what is known of the user, and give it the real values."""
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
        """Run a tool as part of the turn. In a masked state it gets its real arguments, and what it returns, asks or raises is masked.

        Errors of the memory tools are told to the model: an outage costs memories, not turns. Others pass where nothing is masked.
        """
        turn = await self.mask.turn(request.state["messages"])
        with begun(beginning_of(request.state.get("request"))):
            try:
                real = _real(request, turn)
                check_arguments(real, self.mask.redactor)
                result = await handler(real)
            except Exception as error:  # noqa: BLE001  # LangGraph's own signals pass
                result = await _failed(request, error, turn)
        return await _masked_result(result, turn)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """Do what `awrap_tool_call` does, blocking."""
        turn = wait_for(self.mask.turn(request.state["messages"]))
        with begun(beginning_of(request.state.get("request"))):
            try:
                real = _real(request, turn)
                check_arguments(real, self.mask.redactor)
                result = handler(real)
            except Exception as error:  # noqa: BLE001  # as above
                result = wait_for(_failed(request, error, turn))
        return wait_for(_masked_result(result, turn))

    async def aafter_agent(self, state: MemoryState, runtime: Any) -> dict[str, Any]:
        """Keep the filtered turn. A structured response is an answer. Where no turn began nothing is kept."""
        return await _in_turn([self._parts.persist_filtered], state) if state.get("request") else {}

    def after_agent(self, state: MemoryState, runtime: Any) -> dict[str, Any]:
        """Do what `aafter_agent` does, blocking."""
        return wait_for(self.aafter_agent(state, runtime))

    async def _prepared(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        run = describe_run(default_user=self._parts.settings.default_user)
        with begun(beginning_of(request.state.get("request"))):
            return await (self._managed(request, run) if self._is_managed else self._added(request, run))

    async def _added(self, request: ModelRequest[Any], run: Run) -> ModelRequest[Any]:
        """Return the request with what is known of the user behind the agent's own instructions."""
        messages: Any = request.messages
        if (forgotten := self._parts.prompting.forgotten) is not None:
            messages = await forgotten.left_out(run, messages)
        messages = (await self.mask.turn(messages)).real(messages)
        known: Any = request.state.get("memories") or ()
        block = memory_block(known, count=token_counter(name_of(request.model) or ""))
        return request.override(system_message=_with_text(request.system_message, block), messages=messages)

    async def _managed(self, request: ModelRequest[Any], run: Run) -> ModelRequest[Any]:
        """Return the request with the prompt that fits the window of its model."""
        self._model = self._model or request.model
        last_words = self._last_words(request)
        prompt, _ = await self._parts.prompting.prompt(
            request.messages,
            request.state.get("memories") or (),  # type: ignore[arg-type]  # the state is a MemoryState
            run=run,
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
        """Return what the model said as the state takes it."""
        said = self._with_origin(request, response) if self._is_managed else response.result
        turn = await self.mask.turn(request.messages)
        if not turn.is_masked:
            return response if said is response.result else dataclasses.replace(response, result=said)
        structured = response.structured_response
        if structured is not None:
            structured = await turn.masked_value(structured, trusted=True)
        return dataclasses.replace(response, result=await turn.masked(said), structured_response=structured)

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


def _with_text(message: SystemMessage | None, text: str) -> SystemMessage | None:
    """Return a system message with `text` behind what it says; blocks stay as they are, so that what a provider caches of them stays."""
    if not text:
        return message
    if message is None:
        return SystemMessage(text)
    if isinstance(message.content, str):
        return message.model_copy(update={"content": f"{message.content}\n\n{text}"})
    return message.model_copy(update={"content": [*message.content, {"type": "text", "text": text}]})


def _real(request: ToolCallRequest, turn: OpenTurn) -> ToolCallRequest:
    """Return a call with the real values in its arguments and in the state that the tool sees."""
    if not turn.is_masked:
        return request
    messages = request.state["messages"]
    real = turn.real(messages)
    call = request.tool_call
    same = any(_is_same(call, each) for each in _calls(messages))  # else somebody has edited it on its way here
    found = next((each for each in _calls(real) if same and each["id"] == call["id"]), turn.resolved(call))
    state = {**{key: turn.resolved(item) for key, item in request.state.items()}, "messages": real}
    return dataclasses.replace(
        request, tool_call=found, state=state, runtime=dataclasses.replace(request.runtime, state=state)
    )


async def _failed(request: ToolCallRequest, error: Exception, turn: OpenTurn) -> ToolMessage:
    """Return what the model is told of an error, which a stock checkpointer would store as it is; a pause goes on with placeholders.

    Where nothing is masked, errors of the agent's own tools are raised again.
    """
    if (
        not turn.is_masked
        and not isinstance(error, UnresolvedPlaceholderError)
        and not isinstance(request.tool, MemoryTool)
    ):
        raise error
    if isinstance(error, GraphInterrupt):
        raise await turn.masked_pause(error) from None
    told, call = tool_error(error, turn_text(request.state["messages"])), request.tool_call
    return ToolMessage(told, name=call["name"], tool_call_id=call["id"], status="error")


async def _masked_result(result: ToolResult, turn: OpenTurn) -> ToolResult:
    if not turn.is_masked:
        return result
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


async def _in_turn(nodes: Sequence[Node], state: Any, before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Run `nodes` one after the other and return their updates, and those `before` them, as one."""
    update = dict(before or {})
    for node in nodes:
        step: Any = await node({**state, **_merged(state, update)})
        messages = [*update.get("messages", ()), *step.get("messages", ())]
        update |= step
        update.pop("messages", None)
        if messages:
            update["messages"] = messages
    return update


def _merged(state: Any, update: dict[str, Any]) -> dict[str, Any]:
    """Return `update` as it changes `state`: messages by their ids."""
    if "messages" not in update:
        return update
    changes: list[BaseMessage | RemoveMessage] = update["messages"]
    return {**update, "messages": add_messages(state["messages"], changes)}  # type: ignore[arg-type]  # as above
