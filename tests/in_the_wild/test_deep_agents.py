"""`deepagents`: plans, files in the state, sub-agents by the tool `task`, and a summary that takes the place of messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.channels import DeltaChannel
from langgraph.types import Command
from testkit.houses import House

from discreet.checkpoint import REDACT, CheckpointPolicy
from discreet.errors import TransientStateLostError

pytestmark = pytest.mark.slow


def deltas_of(graph: Any) -> dict[str, DeltaChannel[Any]]:
    """Return the channels that a policy has to declare."""
    return {name: channel for name, channel in graph.channels.items() if isinstance(channel, DeltaChannel)}


class Deep:
    """A deep agent with a tool, and a sub-agent with another model."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.sent: list[str] = []
        self.policy = CheckpointPolicy(deltas=deltas_of(self.agent(None)))

    def agent(self, saver: Any, *responses: Any, expert: Any = None, **options: Any) -> Any:
        from deepagents import create_deep_agent

        @tool
        def send(text: str) -> str:
            """Send a text."""
            self.sent.append(text)
            return self.house.raw("result")

        subagent = {
            "name": "expert",
            "description": "Knows it.",
            "system_prompt": self.house.raw("expertsystem"),
            "model": expert or self.house.model(),
        }
        return create_deep_agent(
            self.house.model(*responses),
            [send],
            system_prompt=self.house.raw("system"),
            subagents=[subagent],
            checkpointer=saver,
            **options,
        )


@pytest.fixture
def deep(house: House) -> Deep:
    return Deep(house)


def plan(house: House) -> AIMessage:
    return house.call("write_todos", todos=[{"content": house.raw("todo"), "status": "pending"}])


def file(house: House) -> AIMessage:
    return house.call("write_file", file_path="/notes.txt", content=house.raw("file"))


def task(house: House) -> AIMessage:
    return house.call("task", description=house.raw("task"), subagent_type="expert")


async def test_plans_files_and_sub_agents_end_with_their_turn(house, run, deep):
    async with house.saver(deep.policy) as saver:
        expert = house.model(house.call("send", text=house.raw("innerargs")), AIMessage(house.raw("inneranswer")))
        read = house.call("read_file", file_path="/notes.txt")
        graph = deep.agent(saver, plan(house), file(house), read, task(house), house.answer("done"), expert=expert)
        await run(graph, {"messages": [house.user("ask")]}, house.config)
    assert deep.sent == [house.raw("innerargs")]
    expected = [("human", "ask"), ("ai", "done")]
    assert await house.after_restart(deep.agent, deep.policy) == expected
    async with house.saver(deep.policy) as saver:
        graph = deep.agent(saver, task(house), house.answer("fine"), expert=house.model(AIMessage(house.raw("inner"))))
        await run(graph, {"messages": [house.user("more")]}, house.config)
    assert await house.after_restart(deep.agent, deep.policy) == [*expected, ("human", "more"), ("ai", "fine")]
    house.check()


async def test_files_that_the_policy_names_outlive_a_restart_redacted(house, run, deep):
    policy = replace(deep.policy, channels={"files": REDACT})
    async with house.saver(policy) as saver:
        write = house.call("write_file", file_path="/notes.txt", content=house.text("note"))
        await run(deep.agent(saver, write, house.answer("done")), {"messages": [house.user("ask")]}, house.config)
    async with house.saver(policy) as saver:
        graph = deep.agent(saver, house.call("read_file", file_path="/notes.txt"), house.answer("fine"))
        assert "/notes.txt" in (await graph.aget_state(house.config)).values["files"], "the file is lost"
        out = await run(graph, {"messages": [house.user("more")]}, house.config)
    assert house.keep("note") in out["messages"][-2].text, "what the model read of it"
    house.check()


async def test_a_call_that_waits_is_approved_in_its_process_alone(house, run, deep):
    waits = {"interrupt_on": {"send": True}}
    call = house.call("send", text=house.raw("args"))
    async with house.saver(deep.policy) as saver:
        graph = deep.agent(saver, plan(house), call, house.answer("done"), **waits)
        assert (await run(graph, {"messages": [house.user("ask")]}, house.config))["__interrupt__"]
        approval = Command(resume={"decisions": [{"type": "approve"}]})
        async with house.saver(deep.policy) as other:
            with pytest.raises(TransientStateLostError):
                await run(deep.agent(other, **waits), approval, house.config)
        assert deep.sent == []
        await run(graph, approval, house.config)
    assert deep.sent == [house.raw("args")]
    assert await house.after_restart(deep.agent, deep.policy) == [("human", "ask"), ("ai", "done")]
    house.check()


async def test_the_model_sees_the_whole_conversation_after_restarts(house, run, deep):
    expected: list[tuple[str, str]] = []
    for what in ("one", "two", "three"):
        model = house.model(plan(house), house.answer(f"re{what}"))
        async with house.saver(deep.policy) as saver:
            graph = deep.agent(saver, *model.responses)
            await run(graph, {"messages": [house.user(what)]}, house.config)
        expected += [("human", what), ("ai", f"re{what}")]
        assert await house.after_restart(deep.agent, deep.policy) == expected
    house.check()
