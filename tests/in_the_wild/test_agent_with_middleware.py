"""`create_agent` of LangChain with each of its middleware that works without a provider, one at a time.

`ProviderToolSearchMiddleware` needs a provider's own tools and is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    FilesystemFileSearchMiddleware,
    HostExecutionPolicy,
    LLMToolEmulator,
    LLMToolSelectorMiddleware,
    ModelCallLimitMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    ShellToolMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool, tool
from testkit.houses import House

from discreet.checkpoint import KEEP, CheckpointPolicy
from discreet.testing.chat_models import Response


class Case(NamedTuple):
    responses: list[Response]
    middleware: Sequence[AgentMiddleware[Any, Any]]
    answer: str = "done"
    """The words to keep of what the user sees at the end."""
    fails: bool = False
    """Whether the tool fails at its first call."""


def one_call(house: House, name: str = "look_up", **args: Any) -> list[Response]:
    return [house.call(name, beside=house.raw("plan"), **args), house.answer("done")]


def two_calls(house: House) -> list[Response]:
    return [house.call("look_up"), *one_call(house)]


def files_with(house: House, folder: Path) -> list[Response]:
    (folder / "notes.txt").write_text(f"apples {house.raw('file')}")
    return one_call(house, "grep_search", pattern="apples", output_mode="content")


def chosen(house: House) -> AIMessage:
    return house.call("ToolSelectionResponse", tools=["look_up"])


CASES: dict[str, Callable[[House, Path], Case]] = {
    "none": lambda house, folder: Case(one_call(house), []),
    "todo list": lambda house, folder: Case(
        one_call(house, "write_todos", todos=[{"content": house.raw("todo"), "status": "in_progress"}]),
        [TodoListMiddleware()],
    ),
    "PII": lambda house, folder: Case(
        one_call(house), [PIIMiddleware("email", apply_to_output=True, apply_to_tool_results=True)]
    ),
    "tool retry": lambda house, folder: Case(
        one_call(house), [ToolRetryMiddleware(initial_delay=0, jitter=False)], fails=True
    ),
    "tool error": lambda house, folder: Case(
        one_call(house), [ToolErrorMiddleware(lambda error, request: f"{error} {house.raw('toolerror')}")], fails=True
    ),
    "model fallback": lambda house, folder: Case(
        [LookupError(house.raw("modelerror"))], [ModelFallbackMiddleware(house.model(*one_call(house)[1:]))]
    ),
    "model retry": lambda house, folder: Case(
        [LookupError(house.raw("modelerror")), *one_call(house)], [ModelRetryMiddleware(initial_delay=0, jitter=False)]
    ),
    "model call limit": lambda house, folder: Case(one_call(house)[:1], [ModelCallLimitMiddleware(run_limit=1)], ""),
    "tool call limit": lambda house, folder: Case(two_calls(house), [ToolCallLimitMiddleware(run_limit=1)]),
    "context editing": lambda house, folder: Case(
        two_calls(house), [ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=0)])]
    ),
    "tool selector": lambda house, folder: Case(
        one_call(house), [LLMToolSelectorMiddleware(model=house.model(chosen(house), chosen(house)))]
    ),
    "tool emulator": lambda house, folder: Case(
        one_call(house), [LLMToolEmulator(model=house.model(AIMessage(house.raw("emulated"))))]
    ),
    "file search": lambda house, folder: Case(
        files_with(house, folder), [FilesystemFileSearchMiddleware(root_path=str(folder), use_ripgrep=False)]
    ),
    "shell": lambda house, folder: Case(
        one_call(house, "shell", command=f"echo {house.raw('shell')}"),
        [ShellToolMiddleware(folder, execution_policy=HostExecutionPolicy())],
    ),
}


def look_up(house: House, runs: list[str], *, fails: bool = False, **options: Any) -> BaseTool:
    @tool(response_format="content_and_artifact", **options)
    def look_up(query: str) -> tuple[str, dict[str, str]]:
        """Look something up."""
        runs.append(query)
        if fails and len(runs) == 1:
            raise LookupError(house.raw("exception"))
        return house.raw("result"), {"rows": house.raw("artifact")}

    return look_up


def agent(house: House, saver: Any, *responses: Response, tools: Sequence[BaseTool] = (), **options: Any) -> Any:
    tools = tools or [look_up(house, [])]
    return create_agent(
        house.model(*responses), tools, system_prompt=house.raw("system"), checkpointer=saver, **options
    )


async def next_turn(house: House, run: Callable[..., Any], saver: Any, **options: Any) -> list[tuple[str, str]]:
    """Say something more and return what the model saw of the conversation."""
    model = house.model(house.answer("fine"))
    graph = create_agent(model, [look_up(house, [])], checkpointer=saver, **options)
    await run(graph, {"messages": [house.user("more")]}, house.config)
    return house.told(message for message in model.prompts[0] if not isinstance(message, SystemMessage))


# The shell's middleware leaves the pipes of the shell that it ended to the garbage collector.
@pytest.mark.fast_cases(1)
@pytest.mark.filterwarnings("ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", CASES)
async def test_a_turn_with_each_middleware_leaves_the_question_and_the_answer(house, run, tmp_path, name):
    case = CASES[name](house, tmp_path)
    tools = [look_up(house, [], fails=case.fails)]
    async with house.saver() as saver:
        graph = agent(house, saver, *case.responses, tools=tools, middleware=case.middleware)
        await run(graph, {"messages": [house.user("ask")]}, house.config)
    expected = [("human", "ask"), ("ai", case.answer)]
    assert await house.after_restart(lambda saver: agent(house, saver)) == expected
    async with house.saver() as saver:
        assert await next_turn(house, run, saver) == [*expected, ("human", "more")], (
            "what the model saw in the next turn"
        )
    expected += [("human", "more"), ("ai", "fine")]
    assert await house.after_restart(lambda saver: agent(house, saver)) == expected
    house.check(lost=[] if case.answer else ["done"])


@pytest.mark.slow
async def test_what_a_summary_that_is_not_stored_replaced_is_still_in_the_conversation(house, run, durability):
    policy = CheckpointPolicy(summaries=False)
    turns = ["one", "two", "three", "four"]
    # With "exit" LangGraph shows a saver the end of a run alone: a question that was replaced within its run was never seen.
    kept = 4 if durability == "exit" else 2
    summaries = SummarizationMiddleware(
        house.model(*[AIMessage(f"{house.raw('summary')} {number}") for number in range(9)]),
        trigger=("messages", kept + 2),
        keep=("messages", kept),
    )
    async with house.saver(policy) as saver:
        for what in turns:
            graph = agent(house, saver, house.call("look_up"), house.answer(f"re{what}"), middleware=[summaries])
            await run(graph, {"messages": [house.user(what)]}, house.config)
    expected = [pair for what in turns for pair in (("human", what), ("ai", f"re{what}"))]
    assert await house.after_restart(lambda saver: agent(house, saver)) == expected
    async with house.saver(policy) as saver:
        seen = await next_turn(house, run, saver)
    assert seen == [*expected, ("human", "more")], "what the model saw in another process"
    house.check()


@pytest.mark.slow
async def test_a_human_message_that_a_middleware_writes_is_not_the_users(house, run):
    class Reminder(AgentMiddleware[Any, Any]):
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
            return {"messages": [HumanMessage(house.raw("reminder"))]}

    async with house.saver() as saver:
        graph = agent(house, saver, *one_call(house), middleware=[Reminder()])
        await run(graph, {"messages": [house.user("ask")]}, house.config)
    assert await house.after_restart(lambda saver: agent(house, saver)) == [("human", "ask"), ("ai", "done")]
    house.check()


@pytest.mark.slow
async def test_a_limit_of_a_thread_that_the_policy_names_outlives_a_restart(house, run):
    policy = CheckpointPolicy(channels={"thread_model_call_count": KEEP})
    for what in ("one", "two", "three"):
        async with house.saver(policy) as saver:
            limit = ModelCallLimitMiddleware(thread_limit=2)
            graph = agent(house, saver, house.answer(f"re{what}"), middleware=[limit])
            await run(graph, {"messages": [house.user(what)]}, house.config)
    told = await house.after_restart(lambda saver: agent(house, saver))
    assert told[:4] == [("human", "one"), ("ai", "reone"), ("human", "two"), ("ai", "retwo")]
    assert told[4:] == [("human", "three"), ("ai", "")], "the third call was over the limit"
    house.check(lost=["rethree"])
