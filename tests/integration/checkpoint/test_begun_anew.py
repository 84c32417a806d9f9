"""A run that is begun anew under its id, in the same process: with its input if no node was done, else where it was."""

import asyncio
from contextlib import suppress

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph
from discreet.nodes import save_input

SAID = "I am ann@example.com"


class Killed:
    """A graph of two nodes, the first of which says what it heard; runs of it may be ended as a kill does."""

    def __init__(self):
        self.heard, self.hangs_in = [], None
        builder = StateGraph(MessagesState)
        builder.add_node("answer", self.answer)
        builder.add_node("after", self.after)
        builder.add_edge(START, "answer")
        builder.add_edge("answer", "after")
        builder.add_edge("after", END)
        self.graph = builder.compile(checkpointer=RedactingSaver(InMemorySaver()))

    async def answer(self, state):
        self.heard.append(state["messages"][-1].text)
        await self.hang("answer")
        return {"messages": [AIMessage(f"answer {len(state['messages'])}")]}

    async def after(self, _):
        await self.hang("after")
        return {}

    async def hang(self, node):
        if self.hangs_in == node:
            await asyncio.sleep(60)

    async def run(self, run, text=SAID):
        config = {"configurable": {"thread_id": "1", "run_id": run}, "run_id": run}
        said = {"messages": [HumanMessage(text, id=f"said in {run}")]}
        return [str(each.text) for each in (await self.graph.ainvoke(said, config))["messages"]]

    async def begin(self, run, *, hangs_in):
        self.hangs_in = hangs_in
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self.run(run)
        self.hangs_in = None


class KilledTemplate(Killed):
    """The template, whose first node may be ended so."""

    def __init__(self, monkeypatch):
        self.heard, self.hangs_in, begin = [], None, save_input._begin

        async def hanging(*given):
            await self.hang("save_input")
            return await begin(*given)

        monkeypatch.setattr(save_input, "_begin", hanging)
        self.graph = build_graph(chat_model="offline").compile(checkpointer=RedactingSaver(InMemorySaver()))


@pytest.fixture
def killed():
    return Killed()


@pytest.mark.slow
async def test_before_a_node_is_done_it_begins_anew_with_its_real_words(killed):
    await killed.begin("1", hangs_in="answer")
    assert await killed.run("1") == [SAID, "answer 1"]
    assert killed.heard == [SAID, SAID]


@pytest.mark.slow
async def test_so_it_does_behind_earlier_runs(killed):
    await killed.run("1", "hello")
    await killed.begin("2", hangs_in="answer")
    said = await killed.run("2")
    assert [said[0], *said[2:]] == ["hello", SAID, "answer 3"]


@pytest.mark.slow
async def test_when_a_node_is_done_it_is_not_done_again(killed):
    await killed.begin("1", hangs_in="after")
    assert (await killed.run("1"))[1:] == ["answer 1"]
    assert killed.heard == [SAID]


async def test_another_run_is_a_turn_of_its_own(killed):
    await killed.run("1")
    assert len(await killed.run("2")) == 4


@pytest.mark.slow
async def test_the_template_takes_a_message_that_is_in_its_state_already(monkeypatch):
    killed = KilledTemplate(monkeypatch)
    await killed.run("1", "I keep two parrots.")
    await killed.begin("2", hangs_in="save_input")
    said = await killed.run("2")
    assert len(said) == 4
    assert said[0] == "I keep two parrots."
    assert said[2].startswith("I am <EMAIL")
