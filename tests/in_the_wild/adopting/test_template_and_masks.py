"""The template over a storage, and `mask` of the middleware: what the caller, the model and what stands between see."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from testkit.adopters import agent_of, introduction, plain_turns
from testkit.adopting import Adopter, Agent, Said, Turn, adopted, has_sent, play, sends

from discreet.graph import build_graph


class Reads(AgentMiddleware[Any, Any]):
    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def after_model(self, state: Any, runtime: Any) -> None:
        self._agent.got.append([each.text for each in state["messages"] if each.text])


def reading(agent: Agent) -> Any:
    return agent_of(agent, middleware=[*agent.memory, Reads(agent)])


def turns(said: Said) -> list[Turn]:
    return [Turn(introduction(said), [sends(1), has_sent])]


async def test_the_template_shows_its_caller_and_its_model_the_values_in_each_turn(database):
    said = Said(database)
    async with adopted(database) as (saver, _, storage):

        def build(agent: Agent) -> Any:
            builder = build_graph(storage=storage, chat_model=agent.llm, tools=agent.tools())
            return builder.compile(checkpointer=agent.checkpointer)

        shown = await play(Adopter(build, plain_turns), said, saver)
    mail = "«pii mail»@example.com"
    assert shown.tools == [{"find_customer": "Ann"}, {"send": mail}, {"send": mail}]
    answers = [result["messages"]["turn"][-1]["content"] for result in shown.caller]
    assert answers[0] == answers[2] == f"I have written to {mail} for you."
    assert [state["messages"][0][1] for state in shown.state] == [
        f"Hi, I'm Ann. My e-mail is {mail} and my card is «card» , call «phone of call» if need be."
    ] * 3
    assert all(mail in str(call) for call in shown.model)
    assert said.on_disk() == {}


@pytest.mark.parametrize(
    ("mask", "stock", "is_masked"),
    [("auto", False, False), (False, False, False), (True, False, True), ("auto", True, True), (True, True, True)],
)
async def test_the_state_is_masked_where_somebody_else_stores_it(database, mask, stock, is_masked):
    said = Said(database)
    async with adopted(database, mask=mask) as (ours, memory, _):
        saver = InMemorySaver() if stock else ours
        shown = await play(Adopter(reading, turns), said, saver, memory)
    sent, *read = (
        [each for each in shown.tools if "send" in each],
        *[each for each in shown.tools if "send" not in each],
    )
    assert sent == [{"send": "«pii mail»@example.com"}], "the tool gets the value"
    assert all("«pii mail»@example.com" in str(call) for call in shown.model), "and so does the model"
    assert ("«" in str(read)) != is_masked
    assert said.on_disk() == {}
