"""The functional API: `@entrypoint`, `@task`, `previous`, `interrupt`; the conversation is what `previous` holds."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AnyMessage, SystemMessage
from langgraph.func import entrypoint, task
from langgraph.graph import add_messages
from langgraph.types import Command, interrupt
from testkit.houses import House

from discreet.errors import TransientStateLostError

pytestmark = pytest.mark.slow


class Workflow:
    """The chatbot of LangGraph's documentation, with a tool."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.seen: list[tuple[str, str]] = []
        self.tool_runs = 0

    def chat(self, saver: Any, *responses: Any, asks: bool = False) -> Any:
        model = self.house.model(*responses)

        @task
        def look_up(query: str) -> str:
            self.tool_runs += 1
            return self.house.raw("taskresult")

        @task
        def call_model(messages: list[AnyMessage], found: str) -> Any:
            return model.invoke([SystemMessage(found), *messages])

        @entrypoint(checkpointer=saver)
        def chat(given: list[AnyMessage], *, previous: list[AnyMessage] | None = None) -> Any:
            messages = add_messages(previous or [], given)  # type: ignore[arg-type]  # narrower than what it takes
            self.seen = self.house.told(messages)  # type: ignore[arg-type]  # as above
            if asks:
                interrupt({"args": self.house.raw("question")})
            answer = call_model(messages, look_up(self.house.raw("args")).result()).result()  # type: ignore[arg-type]  # as above
            return entrypoint.final(value=answer, save=add_messages(messages, [answer]))

        return chat


@pytest.fixture
def workflow(house: House) -> Workflow:
    return Workflow(house)


@pytest.mark.parametrize("where", ["in one process", "in a process each"])
async def test_each_turn_sees_all_turns_before_it(house, run, workflow, where):
    expected: list[tuple[str, str]] = []
    async with house.saver() as shared:
        for what in ("one", "two", "three"):
            async with house.saver() as fresh:
                graph = workflow.chat(shared if where == "in one process" else fresh, house.answer(f"re{what}"))
                out = await run(graph, [house.user(what)], house.config)
            assert house.told([out]) == [("ai", f"re{what}")]
            assert workflow.seen == [*expected, ("human", what)], f"what the workflow saw with {what!r}"
            expected += [("human", what), ("ai", f"re{what}")]
    house.check()


async def test_a_workflow_that_asks_goes_on_in_its_process(house, run, workflow):
    async with house.saver() as saver:
        graph = workflow.chat(saver, house.answer("done"), asks=True)
        await run(graph, [house.user("ask")], house.config)
        await run(graph, Command(resume="yes"), house.config)
        assert workflow.tool_runs == 1
    async with house.saver() as saver:
        await run(workflow.chat(saver, house.answer("fine")), [house.user("more")], house.config)
    assert workflow.seen == [("human", "ask"), ("ai", "done"), ("human", "more")]
    house.check()


async def test_a_workflow_that_asked_in_a_process_that_is_gone_refuses_the_answer(house, run, workflow):
    async with house.saver() as saver:
        await run(workflow.chat(saver, house.answer("done"), asks=True), [house.user("ask")], house.config)
    async with house.saver() as saver:
        graph = workflow.chat(saver, house.answer("fine"), asks=True)
        with pytest.raises(TransientStateLostError):
            await run(graph, Command(resume="yes"), house.config)
        assert workflow.tool_runs == 0
        await run(workflow.chat(saver, house.answer("fine")), [house.user("more")], house.config)
    assert workflow.seen[-1] == ("human", "more"), "a new message goes on"
    house.check(lost=["done", "ask"])
