"""Pauses in the process that holds them: every answer reaches its question, and a new message may come instead."""

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

from discreet.graph import build_graph
from discreet.state.conversation import InputState
from discreet.testing import PromptRefusedError


def by_id(state, *answers):
    return Command(resume={item.id: answer for item, answer in zip(state.interrupts, answers, strict=True)})


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("shape", ["loop", "guarded"])
@pytest.mark.parametrize("as_map", [False, True], ids=["value", "map"])
async def test_an_answer_resumes_the_paused_call_alone(rows, shop, durability, shape, as_map):
    talk = rows.talk(getattr(shop, shape))
    order = "use:ask one" if shape == "loop" else "gate:ask one"
    paused = await talk.invoke(shop.say(order), **durability)
    assert shop.raw("question") in str(paused["__interrupt__"][0].value)
    state = await talk.state()
    assert shop.runs == []
    prompts = len(shop.model.prompts)
    answer = "a long free answer"
    await talk.invoke(by_id(state, answer) if as_map else Command(resume=answer), **durability)
    assert shop.runs == [f"{'ask' if shape == 'loop' else 'gate'} {answer}"]
    assert len(shop.model.prompts) == prompts + 1
    assert await talk.texts() == [f"h:{order}", "a:answer to"]


@pytest.mark.fast_cases(2)
async def test_two_questions_of_one_call_are_asked_one_after_the_other(rows, shop, durability):
    talk = rows.talk(shop.loop)
    await talk.invoke(shop.say("use:ask_twice one"), **durability)
    second = await talk.invoke(Command(resume="first answer"), **durability)
    assert second["__interrupt__"][0].value == "raw second"
    assert shop.runs == []
    await talk.invoke(Command(resume="second answer"), **durability)
    assert shop.runs == ["ask_twice ['first answer', 'second answer']"]
    assert await talk.texts() == ["h:use:ask_twice one", "a:answer to"]


def parallel(shop):
    """Two calls that ask at once, and one that doesn't."""

    def work(packet):
        answer = interrupt(f"raw {packet['name']}") if packet["asks"] else "unasked"
        shop.runs.append(f"{packet['name']} {answer}")
        return {}

    packets = [{"name": "left", "asks": True}, {"name": "right", "asks": True}, {"name": "free", "asks": False}]
    builder = StateGraph(InputState)
    builder.add_node("work", work)
    builder.add_node("model", shop._call_model)
    builder.add_conditional_edges(START, lambda _: [Send("work", packet) for packet in packets], ["work"])
    builder.add_edge("work", "model")
    builder.add_edge("model", END)
    return lambda saver: builder.compile(checkpointer=saver)


async def test_parallel_questions_are_answered_together(rows, shop, durability):
    talk = rows.talk(parallel(shop))
    await talk.invoke(shop.say("hello there"), **durability)
    state = await talk.state()
    assert sorted(item.value for item in state.interrupts) == ["raw left", "raw right"]
    answers = {item.id: item.value.upper() for item in state.interrupts}
    await talk.invoke(Command(resume=answers), **durability)
    assert sorted(shop.runs) == ["free unasked", "left RAW LEFT", "right RAW RIGHT"]
    assert await talk.texts() == ["h:hello there", "a:answer to"]


@pytest.mark.fast_cases(3)
async def test_parallel_questions_are_answered_one_by_one(rows, shop, durability):
    talk = rows.talk(parallel(shop))
    await talk.invoke(shop.say("hello there"), **durability)
    first, second = (await talk.state()).interrupts
    left = await talk.invoke(Command(resume={first.id: "1"}), **durability)
    assert [item.id for item in left["__interrupt__"]] == [second.id]
    await talk.invoke(Command(resume={second.id: "2"}), **durability)
    assert sorted(shop.runs) == ["free unasked", "left 1", "right 2"]
    assert await talk.texts() == ["h:hello there", "a:answer to"]


async def test_pauses_in_turn_after_turn(rows, shop, durability):
    talk = rows.talk(shop.loop)
    for number in range(3):
        await talk.invoke(shop.say(f"use:ask {number}"), **durability)
        await talk.invoke(Command(resume=f"answer {number}"), **durability)
    assert shop.runs == [f"ask answer {number}" for number in range(3)]
    assert len(await talk.texts()) == 6
    assert shop.model.refused == 0


async def test_a_question_is_asked_again_by_a_run_without_an_answer(rows, shop):
    talk = rows.talk(shop.loop)
    await talk.invoke(shop.say("use:ask one"))
    again = await talk.invoke(None)
    assert shop.raw("question") in str(again["__interrupt__"])
    await talk.invoke(Command(resume="yes"))
    assert shop.runs == ["ask yes"]


async def test_a_static_breakpoint_stops_and_goes_on(rows, shop, durability):
    talk = rows.talk(shop.loop, interrupt_before=["tools"], interrupt_after=["tools"])
    await talk.invoke(shop.say("use:note one"), **durability)
    assert ((await talk.state()).next, shop.runs) == (("tools",), [])
    await talk.invoke(None, **durability)
    assert ((await talk.state()).next, shop.runs) == (("model",), ["note"])
    await talk.invoke(None, **durability)
    assert shop.runs == ["note"]
    assert await talk.texts() == ["h:use:note one", "a:answer to"]


@pytest.mark.fast_cases(2)
async def test_a_new_message_on_another_replica_is_answered(rows, shop, durability):
    await rows.talk(shop.loop).invoke(shop.say("use:ask one"), **durability)
    talk = rows.talk(shop.loop)
    await talk.invoke(shop.say("something else"), **durability)
    assert (shop.model.refused, shop.runs) == (0, [])
    assert await talk.texts() == ["h:use:ask one", "a:let me", "h:something else", "a:answer to"]
    assert (await talk.state()).interrupts == ()


async def new_messages(talk, shop, **options):
    """Send two messages into a pause; return how many were answered."""
    answered = 0
    await talk.invoke(shop.say("use:ask one"), **options)
    for text in ("something else", "still there?"):
        try:
            await talk.invoke(shop.say(text), **options)
        except PromptRefusedError:
            continue
        answered += 1
    return answered


async def test_new_messages_in_a_pause_here_are_answered(rows, stock, shop, durability):
    """Over the stock saver the model refuses each of them."""
    talk = rows.talk(shop.loop)
    assert await new_messages(stock.talk(shop.loop), shop, **durability) == 0
    assert await new_messages(talk, shop, **durability) == 2
    assert shop.runs == []
    said = ["h:use:ask one", "a:let me", "h:something else", "a:answer to", "h:still there?", "a:answer to"]
    assert await talk.texts() == said
    assert await rows.talk(shop.loop).texts() == said


async def test_the_template_answers_a_new_message_instead_of_an_answer(asynchronous, shop, durability):
    talk = asynchronous.talk(
        lambda saver: build_graph(chat_model=shop.model, tools=shop.tools).compile(checkpointer=saver)
    )
    await talk.invoke(shop.say("use:ask one"), **durability)
    await talk.invoke(shop.say("something else"), **durability)
    assert (shop.model.refused, shop.runs) == (0, [])
    assert (await talk.texts())[-2:] == ["h:something else", "a:answer to"]
    await talk.invoke(shop.say("use:ask again"), **durability)
    await talk.invoke(Command(resume="yes"), **durability)
    assert (shop.model.refused, shop.runs) == (0, ["ask yes"])


async def test_an_update_comes_along_with_the_answer(rows, shop):
    builder = StateGraph(InputState)
    builder.add_node("gate", lambda _: shop.runs.append(interrupt("raw question")))
    builder.add_node("model", shop._call_model)
    builder.add_edge(START, "gate")
    builder.add_edge("gate", "model")
    talk = rows.talk(lambda saver: builder.compile(checkpointer=saver))
    await talk.invoke(shop.say("hello there"))
    await talk.invoke(Command(resume="yes", update={"messages": [("user", "by the way")]}))
    assert shop.runs == ["yes"]
    assert await talk.texts() == ["h:hello there", "h:by the", "a:answer to"]


async def test_a_question_after_an_answer_to_the_user(rows, shop, durability):
    """The node after the model asks: what the model has said is part of the paused turn."""
    builder = StateGraph(InputState)
    builder.add_node("model", shop._call_model)
    builder.add_node("rate", lambda _: shop.runs.append(interrupt("raw rating?")))
    builder.add_node("close", lambda _: {"messages": [AIMessage("closing words")]})
    builder.add_edge(START, "model")
    builder.add_edge("model", "rate")
    builder.add_edge("rate", "close")
    builder.add_edge("close", END)
    talk = rows.talk(lambda saver: builder.compile(checkpointer=saver))
    await talk.invoke(shop.say("hello there"), **durability)
    await talk.invoke(Command(resume="five stars"), **durability)
    assert shop.runs == ["five stars"]
    assert (await talk.texts())[-1] == "a:closing words"
    assert (await rows.talk(lambda saver: builder.compile(checkpointer=saver)).texts())[-1] == "a:closing words"
