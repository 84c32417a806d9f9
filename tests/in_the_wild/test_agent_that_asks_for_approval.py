"""`create_agent` with `HumanInTheLoopMiddleware`: calls wait for a person."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.types import Command
from testkit.houses import House

from discreet.errors import TransientStateLostError
from discreet.testing import InMemoryKeys

pytestmark = pytest.mark.slow

DECISIONS: dict[str, Any] = {
    "approve": lambda house: {"type": "approve"},
    "edit": lambda house: {
        "type": "edit",
        "edited_action": {"name": "send", "args": {"text": house.raw("edited")}},
    },
    "reject": lambda house: {"type": "reject", "message": "No."},
}


class Post:
    """An agent that sends something once it is approved."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.sent: list[str] = []

    def agent(self, saver: Any, *responses: Any) -> Any:
        @tool
        def send(text: str) -> str:
            """Send a text."""
            self.sent.append(text)
            return self.house.raw("result")

        waits = HumanInTheLoopMiddleware(interrupt_on={"send": True}, description_prefix=self.house.raw("description"))
        return create_agent(self.house.model(*responses), [send], middleware=[waits], checkpointer=saver)

    def script(self) -> list[Any]:
        call = self.house.call("send", beside=self.house.text("asked"), text=self.house.raw("args"))
        return [call, self.house.answer("done")]


@pytest.fixture
def post(house: House) -> Post:
    return Post(house)


def answer(decision: Any) -> Command[Any]:
    return Command(resume={"decisions": [decision]})


@pytest.mark.parametrize("kind", DECISIONS)
async def test_a_call_that_waits_is_answered_in_its_process(house, run, post, kind):
    decision = DECISIONS[kind](house)
    async with house.saver() as saver:
        graph = post.agent(saver, *post.script())
        out = await run(graph, {"messages": [house.user("ask")]}, house.config)
        assert out["__interrupt__"], "it did not ask"
        paused = await house.after_restart(post.agent)
        assert paused == [("human", "ask"), ("ai", "asked")], "what another process shows at the pause"
        house.check(lost=["done"])
        await run(graph, answer(decision), house.config)
    assert len(post.sent) == (kind != "reject")
    told = await house.after_restart(post.agent)
    assert (told[0], told[-1]) == (("human", "ask"), ("ai", "done"))
    async with house.saver() as saver:
        await run(post.agent(saver, house.answer("fine")), {"messages": [house.user("more")]}, house.config)
    assert await house.after_restart(post.agent) == [*told, ("human", "more"), ("ai", "fine")]
    house.check()


@pytest.mark.parametrize("kind", DECISIONS)
async def test_an_answer_to_a_process_that_is_gone_is_refused_and_no_tool_runs(house, run, post, kind):
    async with house.saver() as saver:
        await run(post.agent(saver, *post.script()[:1]), {"messages": [house.user("ask")]}, house.config)
    async with house.saver() as saver:
        with pytest.raises(TransientStateLostError):
            await run(post.agent(saver), answer(DECISIONS[kind](house)), house.config)
        assert post.sent == [], "a tool ran that nobody could approve"
        await run(post.agent(saver, house.answer("fine")), {"messages": [house.user("more")]}, house.config)
    expected = [("human", "ask"), ("ai", "asked"), ("human", "more"), ("ai", "fine")]
    assert await house.after_restart(post.agent) == expected, "a new message goes on"
    assert post.sent == []
    house.check(lost=["done"])


@pytest.mark.parametrize("kind", DECISIONS)
async def test_with_a_key_another_process_takes_the_answer(house, run, post, kind):
    keys = InMemoryKeys()
    async with house.saver(keys=keys) as saver:
        await saver.setup()
        await run(post.agent(saver, *post.script()), {"messages": [house.user("ask")]}, house.config)
    async with house.saver(keys=keys) as saver:
        graph = post.agent(saver, house.answer("done"))
        assert (await graph.aget_state(house.config)).interrupts, "it does not show the question"
        await run(graph, answer(DECISIONS[kind](house)), house.config)
    assert len(post.sent) == (kind != "reject")
    told = await house.after_restart(post.agent)
    assert (told[0], told[-1]) == (("human", "ask"), ("ai", "done"))
    house.check()
