"""`langgraph-supervisor` and `langgraph-swarm`: agents that hand a conversation to each other."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool, tool
from testkit.houses import House

# Both packages were made for LangGraph 0.x, and the supervisor is still built of what 1.0 deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning", "ignore:.*:UserWarning")


def look_up(house: House) -> BaseTool:
    @tool
    def look_up(query: str) -> str:
        """Look something up."""
        return house.raw("result")

    return look_up


def supervisor(house: House, saver: Any, boss: Any, expert: Any, **options: Any) -> Any:
    from langgraph_supervisor import create_supervisor

    expert = create_agent(expert, [look_up(house)], system_prompt=house.raw("expertsystem"), name="expert")
    team = create_supervisor([expert], model=boss, prompt=house.raw("system"), **options)
    return team.compile(checkpointer=saver)


OUTPUTS = {
    "the expert's last message": {"output_mode": "last_message"},
    "the expert's whole history": {"output_mode": "full_history"},
    "no hand-off messages": {"add_handoff_messages": False},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OUTPUTS)
async def test_a_supervisor_asks_an_expert_and_answers(house, run, name):
    options = OUTPUTS[name]

    def builds(saver: Any, boss: Any = None, expert: Any = None) -> Any:
        return supervisor(house, saver, boss or house.model(), expert or house.model(), **options)

    async with house.saver() as saver:
        boss = house.model(house.call("transfer_to_expert"), house.answer("done"))
        # Whether what an expert said to its supervisor is an answer to the user is left open here.
        expert = house.model(house.call("look_up", beside=house.raw("plan")), house.answer("expertsaid"))
        out = await run(builds(saver, boss, expert), {"messages": [house.user("ask")]}, house.config)
    assert house.told(out["messages"])[-1] == ("ai", "done")
    told = await house.after_restart(builds)
    assert (told[0], told[-1]) == (("human", "ask"), ("ai", "done"))
    assert set(told[1:-1]) <= {("ai", "expertsaid")}, "hand-offs are not what the user saw"
    async with house.saver() as saver:
        boss = house.model(house.answer("fine"))
        await run(builds(saver, boss), {"messages": [house.user("more")]}, house.config)
    seen = house.told(message for message in boss.prompts[0] if not isinstance(message, SystemMessage))
    assert seen == [*told, ("human", "more")], "what the supervisor saw in the next turn"
    assert await house.after_restart(builds) == [*told, ("human", "more"), ("ai", "fine")]
    house.check(lost=["expertsaid"])


def swarm(house: House, saver: Any, anna: Any, bert: Any) -> Any:
    from langgraph_swarm import create_handoff_tool, create_swarm

    agents = [
        create_agent(
            model,
            [look_up(house), create_handoff_tool(agent_name=other)],
            system_prompt=house.raw("system"),
            name=name,
        )
        for name, other, model in (("anna", "bert", anna), ("bert", "anna", bert))
    ]
    return create_swarm(agents, default_active_agent="anna").compile(checkpointer=saver)


@pytest.mark.slow
async def test_a_swarm_hands_the_user_over(house, run):
    def builds(saver: Any, anna: Any = None, bert: Any = None) -> Any:
        return swarm(house, saver, anna or house.model(), bert or house.model())

    async with house.saver() as saver:
        anna = house.model(house.call("transfer_to_bert", beside=house.raw("plan")))
        bert = house.model(house.call("look_up"), house.answer("done"))
        await run(builds(saver, anna, bert), {"messages": [house.user("ask")]}, house.config)
    assert await house.after_restart(builds) == [("human", "ask"), ("ai", "done")]
    async with house.saver() as saver:
        one, other = house.model(house.answer("fine")), house.model(house.answer("fine"))
        await run(builds(saver, one, other), {"messages": [house.user("more")]}, house.config)
    seen = [house.told(each for each in prompt if each.type != "system") for prompt in one.prompts + other.prompts]
    assert seen == [[("human", "ask"), ("ai", "done"), ("human", "more")]], "one agent answers and sees all"
    expected = [("human", "ask"), ("ai", "done"), ("human", "more"), ("ai", "fine")]
    assert await house.after_restart(builds) == expected
    house.check()


@pytest.mark.slow
async def test_a_swarm_of_one_process_stays_with_the_agent_that_took_over(house, run):
    from discreet.checkpoint import KEEP, CheckpointPolicy

    policy = CheckpointPolicy(channels={"active_agent": KEEP})
    async with house.saver(policy) as saver:
        anna = house.model(house.call("transfer_to_bert"))
        await run(
            swarm(house, saver, anna, house.model(house.answer("done"))),
            {"messages": [house.user("ask")]},
            house.config,
        )
    async with house.saver(policy) as saver:
        bert = house.model(house.answer("fine"))
        await run(swarm(house, saver, house.model(), bert), {"messages": [house.user("more")]}, house.config)
    assert len(bert.prompts) == 1, "the policy keeps active_agent, and the other agent was asked"
    house.check()
