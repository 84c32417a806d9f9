"""Ask the chat model, with what is known about the user in the system prompt and the tools bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, trim_messages
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import BaseTool

from discreet.nodes.masking import TurnMask
from discreet.nodes.node import Node, State, Update, read
from discreet.nodes.run import describe_run
from discreet.nodes.turn import recent_rounds, tool_rounds, turn_start, wants_tools
from discreet.prompts.assistant import render_assistant
from discreet.state.conversation import ConversationState

FACTS_TOKENS = 200
"""Of the 2,000 tokens of a prompt: system 300, summary 200, rounds 1,200, input 100, reserve 200, which holds the facts."""
ROUNDS_TOKENS = 1_200
ROUNDS = 6
"""Rounds that stay verbatim; about 200 tokens each."""

UNFINISHED = "I could not finish this within the limit of tool calls. Please ask again, more narrowly."


def make_assistant(
    chat_model: BaseChatModel | Callable[[str | None], BaseChatModel],
    *,
    tools: Sequence[BaseTool] = (),
    system_prompt: str | None = None,
    tool_loop_limit: int = 8,
    mask: TurnMask | None = None,
    messages_key: str = "messages",
    memories_key: str = "memories",
) -> Node:
    """Return the node `assistant`.

    The prompt is the system prompt with the retrieved memories as delimited data, the last six rounds and the running
    turn. What is over budget is cut in this order: memories from the least relevant, then rounds from the oldest. The
    system prompt and the running turn are never cut.

    Args:
        chat_model: The model, or a function from `Context.model` to it.
        tools: Bound to the model.
        system_prompt: Replaces the template's own; `Context.system_prompt` overrides it.
        tool_loop_limit: Rounds of tool calls in a turn; the answer that follows is asked for without tools.
        mask: Gives the model the real values and puts placeholders into its answer; by default the process's.
        messages_key: State key of the messages.
        memories_key: State key of the retrieved memories.
    """
    mask = mask or TurnMask()

    def model_for(name: str | None) -> BaseChatModel:
        return chat_model if isinstance(chat_model, BaseChatModel) else chat_model(name)

    async def assistant(state: State) -> Update:
        messages: list[BaseMessage] = read(state, messages_key, [])
        context = describe_run().context
        last_words = tool_rounds(messages) >= tool_loop_limit
        system = render_assistant(
            read(state, memories_key, ()),
            system_prompt=context.system_prompt or system_prompt,
            fits=lambda block: count_tokens_approximately([SystemMessage(block)]) <= FACTS_TOKENS,
            last_words=last_words,
        )
        model = model_for(context.model)
        runnable = model.bind_tools(tools) if tools else model
        turn = await mask.turn(messages)
        answer = await runnable.ainvoke([SystemMessage(system), *turn.real(within_budget(messages))])
        if last_words and wants_tools([answer]):
            answer = AIMessage(answer.text or UNFINISHED, id=answer.id)
        return {messages_key: await turn.masked([answer])}

    return Node("assistant", assistant)


def within_budget(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the last rounds that fit their budget, and the running turn whole."""
    window = recent_rounds(messages, ROUNDS)
    start = turn_start(window) or 0
    rounds = trim_messages(
        window[:start],
        max_tokens=ROUNDS_TOKENS,
        token_counter=count_tokens_approximately,
        strategy="last",
        start_on=HumanMessage,
    )
    return [*rounds, *window[start:]]


def route_after_assistant(state: ConversationState) -> Literal["tools", "persist_filtered"]:
    """Return the next node: the tools if the model asks for them."""
    return "tools" if wants_tools(state["messages"]) else "persist_filtered"
