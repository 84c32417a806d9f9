"""A run ends with a call of a tool that the client has, in a browser say, and the next run brings its result and nothing else."""

from contextlib import suppress

import pytest
from kit import places
from kit.search import search
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from discreet.checkpoint import RedactingSaver, RedactingSyncSaver, ScratchLimits
from discreet.checkpoint.scratch import Scratch
from discreet.errors import PauseExpiredError, TransientStateLostError
from discreet.state.conversation import InputState
from discreet.testing import InMemoryKeys, InMemorySpill, PromptRefusedError, StrictChatModel

CLIENTS = {"look", "scroll"}


class Page:
    """A model that calls tools of the client, and of the server, as the user's text orders: `use:look use:note`."""

    def __init__(self, shop):
        self.shop = shop
        self.model = StrictChatModel(answer=self._answer)

    def _answer(self, messages):
        asked = max(at for at, message in enumerate(messages) if isinstance(message, HumanMessage))
        orders = [word.removeprefix("use:") for word in messages[asked].text.split() if word.startswith("use:")]
        given = [message for message in messages[asked:] if isinstance(message, ToolMessage)]
        if orders and not given:
            calls = [{"name": name, "args": {"query": self.shop.raw("query")}, "id": f"call-{name}"} for name in orders]
            return AIMessage(f"looking {self.shop.plan}", tool_calls=calls)
        return AIMessage(f"answer to {messages[asked].text.split()[0]} after {len(given)} results")

    def graph(self, saver):
        def route(state):
            last = next(message for message in reversed(state["messages"]) if isinstance(message, AIMessage))
            done = {message.tool_call_id for message in state["messages"] if isinstance(message, ToolMessage)}
            names = {call["name"] for call in last.tool_calls if call["id"] not in done}
            return "tools" if names - CLIENTS else END

        def start(state):
            last = next((m for m in reversed(state["messages"]) if isinstance(m, AIMessage)), None)
            done = {message.tool_call_id for message in state["messages"] if isinstance(message, ToolMessage)}
            waits = isinstance(state["messages"][-1], ToolMessage) and {call["id"] for call in last.tool_calls} - done
            return END if waits else "model"

        def tools(state):
            called = state["messages"][-1]
            mine = [call for call in called.tool_calls if call["name"] not in CLIENTS]
            return ToolNode(self.shop.tools).invoke({"messages": [called.model_copy(update={"tool_calls": mine})]})

        builder = StateGraph(InputState)
        builder.add_node("model", lambda state: {"messages": [self.model.invoke(state["messages"])]})
        builder.add_node("tools", tools)
        builder.add_conditional_edges(START, start, ["model", END])
        builder.add_conditional_edges("model", route, ["tools", END])
        builder.add_conditional_edges("tools", start, ["model", END])
        return builder.compile(checkpointer=saver)

    def result(self, name="look", **fields):
        return {"messages": [ToolMessage(self.shop.raw("result"), tool_call_id=f"call-{name}", **fields)]}


@pytest.fixture
def page(shop):
    return Page(shop)


def shown(values):
    """Return type, first word and number of calls of each message."""
    return [
        (m.type, m.text.split()[0] if m.type != "tool" else "", len(getattr(m, "tool_calls", ())))
        for m in values["messages"]
    ]


ASKED = [("human", "use:look", 0), ("ai", "looking", 1)]
ANSWERED = [*ASKED, ("tool", "", 0), ("ai", "answer", 0)]
STORED = [("human", "use:look", 0), ("ai", "answer", 0)]


async def test_a_result_that_comes_alone_reaches_its_call_as_with_the_stock_saver(rows, stock, shop, page, durability):
    for talk in (stock.talk(page.graph), rows.talk(page.graph)):
        assert shown(await talk.invoke(shop.say("use:look"), **durability)) == ASKED
        assert shown((await talk.state()).values) == ASKED
        assert shown(await talk.invoke(page.result(), **durability)) == ANSWERED
        assert shown(await talk.invoke(shop.say("thanks"), **durability))[-2:] == [
            ("human", "thanks", 0),
            ("ai", "answer", 0),
        ]
    assert page.model.refused == 0


FORMS = {
    "dict": lambda result: {"role": "tool", "content": result.text, "tool_call_id": result.tool_call_id},
    "object": lambda result: result,
    "with an id": lambda result: result.model_copy(update={"id": "result-1"}),
}


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("by", ["input", "command", "update"])
async def test_a_result_in_any_form(rows, shop, page, durability, form, by):
    talk = rows.talk(page.graph)
    await talk.invoke(shop.say("use:look"), **durability)
    given = {"messages": [FORMS[form](page.result()["messages"][0])]}
    if by == "update":
        await talk.update(given, as_node="__start__")
        out = await talk.invoke(None, **durability)
    else:
        out = await talk.invoke(Command(update=given, goto="model") if by == "command" else given, **durability)
    assert shown(out) == ANSWERED
    assert page.model.refused == 0
    assert shown((await rows.talk(page.graph).state()).values) == STORED


@pytest.mark.fast_cases(3)
async def test_several_calls_of_which_the_server_answers_some(rows, stock, shop, page, durability):
    for talk in (stock.talk(page.graph), rows.talk(page.graph)):
        out = await talk.invoke(shop.say("use:look use:note use:scroll"), **durability)
        assert shown(out) == [("human", "use:look", 0), ("ai", "looking", 3), ("tool", "", 0)]
        assert shown(await talk.invoke(page.result("look"), **durability))[2:] == [("tool", "", 0)] * 2
        assert shown(await talk.invoke(page.result("scroll"), **durability))[-1] == ("ai", "answer", 0)
    assert page.model.refused == 0
    assert shop.runs == ["note"] * 2


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("answered", [[], ["look"]])
async def test_a_new_message_instead_of_the_result_drops_the_call(rows, shop, page, durability, answered):
    talk = rows.talk(page.graph)
    await talk.invoke(shop.say("use:look use:scroll"), **durability)
    for name in answered:
        await talk.invoke(page.result(name), **durability)
    expected = [("human", "use:look", 0), ("ai", "looking", 0), ("human", "new", 0), ("ai", "answer", 0)]
    assert shown(await talk.invoke(shop.say("new"), **durability)) == expected
    assert page.model.refused == 0
    assert shown((await rows.talk(page.graph).state()).values) == expected
    with pytest.raises(TransientStateLostError):
        await talk.invoke(page.result("scroll"), **durability)
    assert shown(await talk.invoke(shop.say("more"), **durability))[:4] == expected
    assert page.model.refused == 0


@pytest.mark.fast_cases(3)
async def test_another_process_refuses_the_result_and_takes_a_new_message(rows, shop, page, durability):
    await rows.talk(page.graph).invoke(shop.say("use:look"), **durability)
    there = rows.talk(page.graph)
    stored = [("human", "use:look", 0), ("ai", "looking", 0)]
    for _ in range(2):
        with pytest.raises(TransientStateLostError):
            await there.invoke(page.result(), **durability)
        assert shown((await there.state()).values) == stored
    with pytest.raises(TransientStateLostError):
        await there.update(page.result(), as_node="__start__")
    with pytest.raises(TransientStateLostError):
        await there.invoke(Command(update=page.result(), goto="model"), **durability)
    with suppress(TransientStateLostError):
        await there.invoke(Command(resume="yes"), **durability)
    out = await there.invoke(shop.say("new"), **durability)
    assert shown(out) == [*stored, ("human", "new", 0), ("ai", "answer", 0)]
    assert page.model.refused == 0


async def test_a_client_that_sends_the_call_again_needs_no_process(rows, shop, page, durability):
    out = await rows.talk(page.graph).invoke(shop.say("use:look"), **durability)
    again = {"messages": [*(message.model_copy() for message in out["messages"]), *page.result()["messages"]]}
    assert shown(await rows.talk(page.graph).invoke(again, **durability)) == ANSWERED
    assert page.model.refused == 0


class Speaker:
    """A model that says what it is told, and a graph with a node behind it that speaks after a call, or asks about it."""

    def __init__(self, *said, behind, asked_again=False):
        script = iter(said)
        self.model = StrictChatModel(answer=lambda _: next(script))
        self.behind = behind
        self.asked_again = asked_again

    def graph(self, saver):
        builder = StateGraph(InputState)
        for name in ("model", "boss"):
            builder.add_node(name, lambda state: {"messages": [self.model.invoke(state["messages"])]})
        builder.add_node("behind", self.behind)
        if self.asked_again:
            builder.add_edge("behind", "boss")
        builder.add_edge(START, "model")
        builder.add_conditional_edges(
            "model", lambda state: "behind" if state["messages"][-1].tool_calls else END, ["behind", END]
        )
        return builder.compile(checkpointer=saver)


def looking(text="", call_id="call-look"):
    return AIMessage(text, tool_calls=[{"name": "look", "args": {}, "id": call_id}])


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("fails", [False, True])
async def test_a_call_behind_which_another_message_stands_reaches_no_model(rows, shop, durability, fails):
    """As where a supervisor takes over from an agent that has called a tool of the client."""

    back = {"messages": [AIMessage("back", id="b1")]}
    said = (looking("looking"), AIMessage("one"), AIMessage("two"))
    speaker = Speaker(*said, behind=lambda _: back, asked_again=fails)
    talk = rows.talk(speaker.graph)
    if fails:
        with pytest.raises(PromptRefusedError):
            await talk.invoke(shop.say("first"), **durability)
    else:
        await talk.invoke(shop.say("first"), **durability)
    refused = speaker.model.refused
    for text in ("second", "third"):
        out = await talk.invoke(shop.say(text), **durability)
        assert not any(getattr(message, "tool_calls", ()) for message in out["messages"])
    assert speaker.model.refused == refused == int(fails)
    stored = [("human", "first", 0), ("human", "second", 0), ("ai", "one", 0), ("human", "third", 0), ("ai", "two", 0)]
    there = shown((await rows.talk(speaker.graph).state()).values)
    assert [each for each in there if each[1] not in {"back", "looking"}] == stored


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("given", ["nothing", "the same"])
async def test_an_input_that_is_no_result_goes_on_without_the_call(rows, shop, durability, asks, given):
    def behind(_):
        return Command(goto=END) if not asks else {"messages": [AIMessage(interrupt("Shall I look?"))]}

    speaker = Speaker(looking("looking"), *map(AIMessage, ("one", "two", "three")), behind=behind)
    talk = rows.talk(speaker.graph)
    first = shop.say("first")
    first["messages"][0].id = "m1"
    await talk.invoke(first, **durability)
    again = {"messages": [] if given == "nothing" else [first["messages"][0].model_copy()]}
    for _ in range(2):
        await talk.invoke(again, **durability)
    out = await talk.invoke(shop.say("more"), **durability)
    assert not any(getattr(message, "tool_calls", ()) for message in out["messages"])
    assert shown(out)[-1] == ("ai", "three", 0)
    assert speaker.model.refused == 0
    assert shown((await rows.talk(speaker.graph).state()).values) == shown(out)


async def test_an_answer_that_comes_with_an_update_finds_its_call(rows, stock, shop, durability):
    def behind(state):
        answer = interrupt("Shall I look?")
        (call,) = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage(answer, tool_call_id=call["id"])]}

    for each in (stock, rows):
        speaker = Speaker(looking("looking"), AIMessage("one"), behind=behind)
        talk = each.talk(speaker.graph)
        await talk.invoke(shop.say("first"), **durability)
        out = await talk.invoke(Command(resume="yes", update={"messages": []}), **durability)
        assert shown(out) == [("human", "first", 0), ("ai", "looking", 1), ("tool", "", 0)]


async def test_a_result_comes_too_late_after_the_time_for_answers(rows, shop, page, durability):
    saver, now = rows.open(), [0.0]
    scratch = Scratch(ScratchLimits(ttl_seconds=0.001), clock=lambda: now[0])
    talk = rows.talk(page.graph, type(saver)(saver.inner, scratch=scratch))
    await talk.invoke(shop.say("use:look"), **durability)
    now[0] += 1
    with pytest.raises(PauseExpiredError):
        await talk.invoke(page.result(), **durability)


def spilling(rows):
    """Return what opens savers that share a spill."""
    probe, keys, memory = rows.open(), InMemoryKeys(), InMemorySpill()
    kind = RedactingSyncSaver if rows.sync else RedactingSaver
    if isinstance(probe.inner, InMemorySaver):
        return lambda: kind(probe.inner, spill=memory.sync if rows.sync else memory)
    return lambda: kind.from_pool(probe.inner.conn, keys=keys)


@pytest.mark.fast_cases(3)
async def test_with_a_spill_any_process_takes_the_result_once(rows, shop, page, durability):
    open_saver = spilling(rows)
    here, there = (rows.talk(page.graph, open_saver()) for _ in range(2))
    await here.invoke(shop.say("use:look"), **durability)
    assert shown((await there.state()).values) == ASKED
    assert shown(await there.invoke(page.result(), **durability)) == ANSWERED
    assert shown((await here.state()).values) == STORED
    with pytest.raises(TransientStateLostError):
        await here.invoke(page.result(), **durability)
    await here.invoke(shop.say("use:look again"), **durability)
    out = await there.invoke(shop.say("new"), **durability)
    assert shown(out)[-3:] == [("ai", "looking", 0), ("human", "new", 0), ("ai", "answer", 0)]
    assert page.model.refused == 0


async def test_a_model_that_fails_on_the_result_is_asked_again(rows, shop, page, durability):
    """By `None`, or by the client that sends the result again."""
    for again in (None, page.result(id="result-1")):
        talk = rows.talk(page.graph)
        talk.config = {"configurable": {"thread_id": f"thread {again is None}"}}
        await talk.invoke(shop.say("use:look"), **durability)
        answer, page.model.answer = page.model.answer, lambda _: (_ for _ in ()).throw(LookupError("raw error"))
        with pytest.raises(LookupError):
            await talk.invoke(page.result(id="result-1"), **durability)
        page.model.answer = answer
        out = await talk.invoke(again, **durability)
        assert shown(out)[-1] == ("ai", "answer", 0)
        assert page.model.refused == 0


@pytest.mark.slow
async def test_nothing_of_call_and_result_is_stored(rows, shop, page, durability, request):
    if "database" not in request.fixturenames:
        pytest.skip("rows in memory")
    talk = rows.talk(page.graph)
    await talk.invoke(shop.say("use:look"), **durability)
    await talk.invoke(page.result(), **durability)
    assert search(places.rows(request.getfixturevalue("database")), shop.planted).leaks == {}
