"""A client as `useStream` of LangGraph's SDK: it branches from older checkpoints, edits, regenerates and resumes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, StateSnapshot, interrupt
from testkit.houses import House

pytestmark = pytest.mark.slow

Opened = Callable[..., AbstractAsyncContextManager[Any]]


def chat(saver: Any, *responses: Any, house: House) -> Any:
    model = house.model(*responses)
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "model")
    graph = builder.compile(checkpointer=saver)
    graph.model = model
    return graph


@pytest.fixture(params=["in one process", "in a process each"])
async def opened(request: pytest.FixtureRequest, house: House) -> AsyncIterator[Opened]:
    """Return what opens the graph with a script: over the same saver each time, or over a fresh one."""
    async with house.saver() as shared:

        @asynccontextmanager
        async def opened(*responses: Any) -> AsyncIterator[Any]:
            if request.param == "in one process":
                yield chat(shared, *responses, house=house)
            else:
                async with house.saver() as saver:
                    yield chat(saver, *responses, house=house)

        yield opened


async def before(graph: Any, config: dict[str, Any], message_id: str) -> StateSnapshot:
    """Return the state from which the message came about, as the SDK looks it up: the parent of the first that has it."""
    history = [state async for state in graph.aget_state_history(config)]
    first_seen = next(s for s in reversed(history) if message_id in {m.id for m in s.values.get("messages", [])})
    assert first_seen.parent_config is not None, "the first state with the message has no parent to branch from"
    return await graph.aget_state(first_seen.parent_config)


async def two_turns(house: House, run: Callable[..., Any], opened: Opened) -> list[str]:
    """Say two things and return the ids of the four messages."""
    for what in ("one", "two"):
        async with opened(house.answer(f"re{what}")) as graph:
            out = await run(graph, {"messages": [house.user(what)]}, house.config)
    return [message.id for message in out["messages"]]


async def test_a_user_message_is_edited_on_a_branch(house, run, opened):
    ids = await two_turns(house, run, opened)
    async with opened(house.answer("rechanged")) as graph:
        branch = await before(graph, house.config, ids[2])
        await run(graph, {"messages": [house.user("changed")]}, branch.config)
        seen = graph.model.prompts[0]
    expected = [("human", "one"), ("ai", "reone"), ("human", "changed")]
    assert house.told(seen) == expected, "what the model saw on the branch"
    async with opened(house.answer("fine")) as graph:
        await run(graph, {"messages": [house.user("more")]}, house.config)
    expected += [("ai", "rechanged"), ("human", "more"), ("ai", "fine")]
    assert await house.after_restart(lambda saver: chat(saver, house=house)) == expected, (
        "the thread goes on from its newest branch"
    )
    house.check()


async def test_an_answer_is_regenerated_and_the_old_branch_is_still_there(house, run, opened):
    ids = await two_turns(house, run, opened)
    async with opened(house.answer("again")) as graph:
        old = await graph.aget_state(house.config)
        branch = await before(graph, house.config, ids[3])
        # With "exit" any saver has the end of the turn before, so that the client says again what it asked.
        given = None if branch.next else {"messages": [house.user("two", id=ids[2])]}
        await run(graph, given, branch.config)
        assert len(graph.model.prompts) == 1, "the model was not asked again"
        seen = house.told(graph.model.prompts[0])
        kept = await graph.aget_state(old.config)
    expected = [("human", "one"), ("ai", "reone"), ("human", "two")]
    assert seen == expected, "what the model saw"
    assert house.told(kept.values["messages"]) == [*expected, ("ai", "retwo")], "the old branch"
    assert await house.after_restart(lambda saver: chat(saver, house=house)) == [*expected, ("ai", "again")]
    house.check()


# With "exit" no saver has a state before the first answer.
@pytest.mark.parametrize("durability", ["sync", "async"], indirect=True)
async def test_the_first_answer_is_regenerated(house, run, opened):
    ids = await two_turns(house, run, opened)
    async with opened(house.answer("again")) as graph:
        branch = await before(graph, house.config, ids[1])
        await run(graph, None, branch.config)
        assert len(graph.model.prompts) == 1, "the model was not asked again"
    assert await house.after_restart(lambda saver: chat(saver, house=house)) == [("human", "one"), ("ai", "again")]
    house.check()


async def test_a_message_is_edited_in_place_by_update_state(house, run, opened):
    ids = await two_turns(house, run, opened)
    async with opened() as graph:
        update = {"messages": [HumanMessage(house.text("changed"), id=ids[0])]}
        await graph.aupdate_state(house.config, update, as_node="model")
    async with opened(house.answer("fine")) as graph:
        await run(graph, {"messages": [house.user("more")]}, house.config)
        seen = graph.model.prompts[0]
    expected = [("human", "changed"), ("ai", "reone"), ("human", "two"), ("ai", "retwo"), ("human", "more")]
    assert house.told(seen) == expected, "what the model saw"
    assert await house.after_restart(lambda saver: chat(saver, house=house)) == [*expected, ("ai", "fine")]
    house.check()


async def test_a_client_resumes_what_asked(house, run):
    def builds(saver: Any, *responses: Any) -> Any:
        model = house.model(*responses)

        def ask(state: MessagesState) -> dict[str, Any]:
            return {"messages": [HumanMessage(interrupt({"question": house.raw("question")}))]}

        builder = StateGraph(MessagesState)
        builder.add_node("ask", ask)
        builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
        builder.add_edge(START, "ask")
        builder.add_edge("ask", "model")
        return builder.compile(checkpointer=saver)

    async with house.saver() as saver:
        graph = builds(saver, house.answer("done"))
        assert (await run(graph, {"messages": [house.user("ask")]}, house.config))["__interrupt__"]
        assert await house.after_restart(builds) == [("human", "ask")], "what another process shows at the pause"
        await run(graph, Command(resume=house.text("reply")), house.config)
    expected = [("human", "ask"), ("human", "reply"), ("ai", "done")]
    assert await house.after_restart(builds) == expected, "what the user answered is a message of the user's"
    house.check()
