"""Ask the chat model, with what is known about the user in the system prompt and the tools bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from discreet.nodes.masking import OpenTurn
from discreet.nodes.node import Node, State, Update, messages_in, read
from discreet.nodes.prompting import Prompting, definitions_of
from discreet.nodes.provenance import with_origin
from discreet.nodes.run import describe_run
from discreet.nodes.turn import tool_rounds, wants_tools
from discreet.providers.per_model import PerModel
from discreet.providers.retry import ModelRetry
from discreet.state.conversation import ConversationState
from discreet.state.message_text import as_content, spoken_blocks

STEPS = 4
"""What a run must have left for a round of tool calls: this step, the tools, the answer, and `persist_filtered`. With
fewer, LangGraph's own limit would end the turn in an error."""

UNFINISHED = "I could not finish this within the limit of tool calls. Please ask again, more narrowly."
SILENT = "I have no answer to that. Please put it another way."
"""Instead of an empty answer, which providers refuse to see again in the next turn."""


def make_assistant(
    chat_model: BaseChatModel | Callable[[str | None], BaseChatModel],
    *,
    tools: Sequence[BaseTool] = (),
    system_prompt: str | None = None,
    tool_loop_limit: int = 8,
    prompting: Prompting | None = None,
    fallback_model: BaseChatModel | None = None,
    retry: ModelRetry | None = None,
    default_user: str | None = None,
    messages_key: str = "messages",
    memories_key: str = "memories",
) -> Node:
    """Return the node `assistant`.

    The prompt is the system prompt with the retrieved memories and the thread's rolling summary as delimited data, the
    earlier rounds that the summary doesn't cover and the running turn, within the window of the model: see
    `discreet.prompts.assembly`. The model gets the real values of the running turn; its answer goes into the state with a note of
    which model gave it to which instructions, and with placeholders where somebody else stores the state.

    Args:
        chat_model: The model, or a function from `Context.model` to it.
        tools: Bound to the model.
        system_prompt: Replaces the template's own; `Context.system_prompt` overrides it.
        tool_loop_limit: Rounds of tool calls in a turn; the answer that follows is asked for without tools.
        prompting: Context window, rolling summary and vault; by default those of the process, without a summary.
        fallback_model: Answers while the model is overloaded or can't be reached.
        retry: How long the model is waited for before that. Default: three attempts within 20 s.
        default_user: user_id for runs that name none.
        messages_key: State key of the messages.
        memories_key: State key of the retrieved memories.
    """
    prompting = prompting or Prompting()
    definitions = definitions_of(tools)
    retry = retry or ModelRetry()
    with_tools = PerModel(lambda model: model.bind_tools(tools) if tools else model)

    def model_for(name: str | None) -> BaseChatModel:
        return chat_model if isinstance(chat_model, BaseChatModel) else chat_model(name)

    async def assistant(state: State) -> Update:
        messages = messages_in(state, messages_key)
        run = describe_run(default_user=default_user)
        instructions = run.context.system_prompt or system_prompt
        last_words = tool_rounds(messages) >= tool_loop_limit or (
            bool(tools) and read(state, "remaining_steps", STEPS) < STEPS
        )

        async def once(model: BaseChatModel, config: RunnableConfig) -> tuple[AIMessage, OpenTurn]:
            prompt, turn = await prompting.prompt(
                messages,
                read(state, memories_key, ()),
                run=run,
                model=model,
                tools=definitions,
                instructions=instructions,
                last_words=last_words,
            )
            answer = spoken(await with_tools(model).ainvoke(prompt.messages, config), last_words=last_words)
            return with_origin(answer, model, instructions=instructions, last_words=last_words), turn

        models = [model_for(run.context.model), *([fallback_model] if fallback_model is not None else [])]
        answer, turn = await retry.ask(models, once)
        return {messages_key: await turn.masked([answer])}

    return Node("assistant", assistant)


def spoken(answer: AIMessage, *, last_words: bool) -> AIMessage:
    """Return an answer that says something or asks for tools that may still be called."""
    said = spoken_blocks(answer)
    if last_words and wants_tools([answer]):
        return AIMessage(as_content(said) or UNFINISHED, id=answer.id, response_metadata=answer.response_metadata)
    if not wants_tools([answer]) and not said:
        return AIMessage(SILENT, id=answer.id, response_metadata=answer.response_metadata)
    return answer


def route_after_assistant(state: ConversationState) -> Literal["tools", "persist_filtered"]:
    """Return the next node: the tools if the model asks for them."""
    return "tools" if wants_tools(state["messages"]) else "persist_filtered"
